import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 4
afterword = "`a * gate` makes a new tensor, and `a *= gate` writes to the storage of `h`. Next trap: slices instead of chunks. Autograd allows a write to a slice, so `h` changes without an error."


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
    def checked(glu):
        if glu is None:
            raise AssertionError("glu is not defined: run the cell of q2 first.")
        returned = []

        @wraps(glu)
        def watched(*arguments, **options):
            returned.clear()
            result = glu(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(glu if isinstance(glu, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"glu returned None{why_none(glu)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"glu returned None{why_none(glu)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("glu()"):
                raise AssertionError(f"Keep the parameters of glu: {error}") from None
            if returned:
                why = f"{why} (glu returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Values and gradients are right; `h` is unchanged.<br><code>a * gate</code> makes a new tensor, and <code>a *= gate</code> writes to the storage of <code>h</code>. Next trap: slices instead of chunks. Autograd allows a write to a slice, so <code>h</code> changes without an error.",
    failure_message="Not yet: Values and gradients are right; `h` is unchanged.",
)
@guarded
def test_both_halves_are_reached_and_h_stays(glu):
    """Values and gradients are right; `h` is unchanged."""
    import torch

    h = torch.tensor([2.0, 4.0, 0.0, 0.0])
    glu(h)
    assert h.tolist() == [2.0, 4.0, 0.0, 0.0], (
        f"h was [2, 4, 0, 0] before the call and is now {h.tolist()}:\na write to a view of h is a write to "
        "h."
    )
    x = torch.tensor([[2.0, 4.0, 0.0, 0.0]], requires_grad=True)
    try:
        result = glu(x * 1)
    except RuntimeError as error:
        raise AssertionError(f"glu raised an error: {error}") from None
    assert result.tolist() == [[1.0, 2.0]], f"The result is {result.tolist()} instead of [[1.0, 2.0]]."
    assert result.requires_grad, "The result does not require grad: it is not connected to h."
    result.sum().backward()
    assert x.grad is not None, "h gets no gradient: the result is not connected to it."
    assert x.grad.tolist() == [[0.5, 0.5, 0.5, 1.0]], (
        f"The gradient of h is {x.grad.tolist()} instead of [[0.5, 0.5, 0.5, 1.0]]."
    )
