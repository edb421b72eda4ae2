import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q6"
points = 5
afterword = "The step is now part of the computation, so its gradient includes how `g` depends on `w`. The price: with several inner steps, autograd keeps the graphs of all of them until you backpropagate."


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
    def checked(maml_grad):
        if maml_grad is None:
            raise AssertionError("maml_grad is not defined: run the cell of q6 first.")
        returned = []

        @wraps(maml_grad)
        def watched(*arguments, **options):
            returned.clear()
            result = maml_grad(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(maml_grad if isinstance(maml_grad, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"maml_grad returned None{why_none(maml_grad)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"maml_grad returned None{why_none(maml_grad)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("maml_grad()"):
                raise AssertionError(f"Keep the parameters of maml_grad: {error}") from None
            if returned:
                why = f"{why} (maml_grad returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The gradient is of second order.<br>The step is now part of the computation, so its gradient includes how <code>g</code> depends on <code>w</code>. The price: with several inner steps, autograd keeps the graphs of all of them until you backpropagate.",
    failure_message="Not yet: The gradient is of second order.",
)
@guarded
def test_maml(maml_grad):
    """The gradient is of second order."""
    import torch

    w = torch.tensor([2.0], requires_grad=True)
    gradient = maml_grad(w, lambda v: (v**3).sum(), lambda v: (v**2).sum() / 2, 0.1)
    seen = round(gradient.item(), 4)
    assert seen != 0.8, "The gradient is 0.8, the first-order gradient, as if g did not depend on w."
    assert seen == -0.16, f"The gradient is {seen} instead of (2 - 1.2) * (1 - 1.2) = -0.16."
    assert w.tolist() == [2.0], f"w was [2] before the call and is now {w.tolist()}."
    assert w._version == 0, f"Your function wrote to w: w._version was 0 and is now {w._version}."
    assert w.grad is None, f"w.grad was None before the call and is now {w.grad.tolist()}."
