import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 4
afterword = "The value comes from one formula and the gradient from another. Next trap: such a gradient is not the slope of the value. `gradcheck` calls it wrong, and here it is wrong on purpose."


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
    def checked(ste_round):
        if ste_round is None:
            raise AssertionError("ste_round is not defined: run the cell of q4 first.")
        returned = []

        @wraps(ste_round)
        def watched(*arguments, **options):
            returned.clear()
            result = ste_round(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(ste_round if isinstance(ste_round, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"ste_round returned None{why_none(ste_round)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"ste_round returned None{why_none(ste_round)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("ste_round()"):
                raise AssertionError(f"Keep the parameters of ste_round: {error}") from None
            if returned:
                why = f"{why} (ste_round returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Values are rounded, and gradients pass unchanged.<br>The value comes from one formula and the gradient from another. Next trap: such a gradient is not the slope of the value. <code>gradcheck</code> calls it wrong, and here it is wrong on purpose.",
    failure_message="Not yet: Values are rounded, and gradients pass unchanged.",
)
@guarded
def test_the_gradient_goes_straight_through(ste_round):
    """Values are rounded, and gradients pass unchanged."""
    import torch

    x = torch.tensor([-1.6, 0.4, 2.5], requires_grad=True)
    y = ste_round(x)
    assert y.tolist() == [-2.0, 0.0, 2.0], (
        f"For [-1.6, 0.4, 2.5] the result is {y.tolist()} instead of [-2, 0, 2]."
    )
    assert y.requires_grad, "The result does not require grad: it is not connected to x."
    y.backward(torch.tensor([1.0, 2.0, 3.0]))
    assert x.grad is not None, "x.grad is None: the result is not connected to x."
    assert x.grad.tolist() == [1.0, 2.0, 3.0], (
        f"The gradient [1, 2, 3] of the result became {x.grad.tolist()} on its way to x:\nit must pass "
        "unchanged."
    )
