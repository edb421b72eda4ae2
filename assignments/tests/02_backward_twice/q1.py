import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5
afterword = "Gradients add up. So two backwards, one backward of the sum, and `torch.autograd.backward([d, e])` all add the same to `x.grad`. Next trap: you want to look at a gradient without adding it anywhere."


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
    def checked(backward_both):
        if backward_both is None:
            raise AssertionError("backward_both is not defined: run the cell of q1 first.")
        returned = []

        @wraps(backward_both)
        def watched(*arguments, **options):
            returned.clear()
            result = backward_both(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(backward_both if isinstance(backward_both, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"backward_both returned None{why_none(backward_both)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"backward_both returned None{why_none(backward_both)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("backward_both()"):
                raise AssertionError(f"Keep the parameters of backward_both: {error}") from None
            if returned:
                why = f"{why} (backward_both returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="x.grad is the sum of both gradients after one forward.<br>Gradients add up. So two backwards, one backward of the sum, and <code>torch.autograd.backward([d, e])</code> all add the same to <code>x.grad</code>. Next trap: you want to look at a gradient without adding it anywhere.",
    failure_message="Not yet: x.grad is the sum of both gradients after one forward.",
)
@guarded
def test_both_losses_arrive(backward_both):
    """x.grad is the sum of both gradients after one forward."""
    import torch

    x = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)
    calls = []

    def trunk(v):
        calls.append(v)
        return v**2 * 2

    try:
        backward_both(trunk, x)
    except RuntimeError as error:
        reason = str(error).partition(" (")[0]
        raise AssertionError(f"backward_both raised an error: {reason}") from None
    assert x.grad is not None, "x.grad is None: no backward pass reached x."
    seen = x.grad.tolist()
    assert all(abs(value - 0.5 * place) < 1e-5 for place, value in enumerate(seen, start=1)), (
        f"x.grad is {seen} instead of [0.5, 1.0, 1.5, 2.0],\nso it is not the sum of the gradients of "
        "t.mean() and t.sum()."
    )
    assert len(calls) == 1, (
        f"Your function called trunk {len(calls)} times instead of once:\ncompute both scalars from the "
        "same t."
    )
