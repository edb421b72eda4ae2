import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 5
afterword = "A hook changes a gradient by the tensor that it returns. Other code may hold the tensor that it receives. Next trap: unless you remove it, a hook exists as long as its tensor, or a graph that contains the tensor. On a parameter it would still be there in the next epoch."


DEFINITIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef


def why_none(function):
    """Say which `return` of a function gave None, as far as its source shows it."""
    try:
        nodes = [*ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function))))]
        definition = next(node for node in nodes if isinstance(node, DEFINITIONS[:3]))
    except (OSError, TypeError, SyntaxError, StopIteration):
        return " instead of a value."
    if isinstance(definition, ast.Lambda):
        returned, is_certain, word = [definition.body], True, ""
    else:
        returns, waiting, word = [], [*definition.body], "return "
        while waiting:
            node = waiting.pop(0)
            returns += [node] if isinstance(node, ast.Return) else []
            waiting += [] if isinstance(node, DEFINITIONS) else ast.iter_child_nodes(node)
        returns.sort(key=lambda node: node.lineno)
        returned, is_certain = [node.value for node in returns if node.value], returns == definition.body[-1:]
    if not returned:
        return ": is a return missing?"
    texts = [ast.unparse(value) for value in returned]
    ways = " or ".join(f"`{word}{text}`" if len(text) < 80 else f"a long `{word}`" for text in texts[:4])
    otherwise = "" if is_certain else ", or because no `return` with a value was reached"
    about_grad = (
        " `backward()` fills the `.grad` of a tensor that the loss was computed from if it is a leaf that"
        " requires grad, or if `retain_grad()` was called on it before."
    )
    return f" at {ways}{otherwise}.{about_grad if any(text.endswith('.grad') for text in texts) else ''}"


def guarded(test):
    """Describe the returned value if the test cannot continue with it."""

    @wraps(test)
    def checked(clip_grad_hook):
        if clip_grad_hook is None:
            raise AssertionError("clip_grad_hook is not defined: run the cell of q4 first.")
        returned = []

        @wraps(clip_grad_hook)
        def watched(*arguments, **options):
            returned.clear()
            result = clip_grad_hook(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(clip_grad_hook if isinstance(clip_grad_hook, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"clip_grad_hook returned None{why_none(clip_grad_hook)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"clip_grad_hook returned None{why_none(clip_grad_hook)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("clip_grad_hook()"):
                raise AssertionError(f"Keep the parameters of clip_grad_hook: {error}") from None
            if returned:
                why = f"{why} (clip_grad_hook returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The gradient is clipped, and not overwritten.<br>A hook changes a gradient by the tensor that it returns. Other code may hold the tensor that it receives. Next trap: unless you remove it, a hook exists as long as its tensor, or a graph that contains the tensor. On a parameter it would still be there in the next epoch.",
    failure_message="Not yet: The gradient is clipped, and not overwritten.",
)
@guarded
def test_clipped(clip_grad_hook):
    """The gradient is clipped, and not overwritten."""
    import torch

    x, other = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    t = x * 1
    handle = clip_grad_hook(t, 2.0)
    assert t.tolist() == [1.0, 1.0, 1.0], f"The values of t were 1 before the call and are now {t.tolist()}."
    incoming = torch.tensor([5.0, -7.0, 0.5])
    (t + other).backward(incoming)
    assert x.grad.tolist() == [2.0, -2.0, 0.5], (
        f"The gradient of t is [5, -7, 0.5], but x gets {x.grad.tolist()} instead of [2, -2, 0.5]."
    )
    assert hasattr(handle, "remove"), "The result is not a handle: it has no method remove()."
    seen = incoming.tolist()
    assert seen == [5.0, -7.0, 0.5], (
        f"The hook overwrote the gradient that it received, which now holds {seen}:\nother code may use the "
        "same tensor."
    )
