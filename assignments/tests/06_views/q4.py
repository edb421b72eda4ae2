import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 4
afterword = "Read from expanded rows, but copy them before you write. Next trap: `clone()` in the wrong place. `b.clone().expand(n, -1)` protects `b`, but all rows are still the same memory."


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
    def checked(row_bias):
        if row_bias is None:
            raise AssertionError("row_bias is not defined: run the cell of q4 first.")
        returned = []

        @wraps(row_bias)
        def watched(*arguments, **options):
            returned.clear()
            result = row_bias(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(row_bias if isinstance(row_bias, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"row_bias returned None{why_none(row_bias)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"row_bias returned None{why_none(row_bias)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("row_bias()"):
                raise AssertionError(f"Keep the parameters of row_bias: {error}") from None
            if returned:
                why = f"{why} (row_bias returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Only the first row is bumped; `b` is unchanged.<br>Read from expanded rows, but copy them before you write. Next trap: <code>clone()</code> in the wrong place. <code>b.clone().expand(n, -1)</code> protects <code>b</code>, but all rows are still the same memory.",
    failure_message="Not yet: Only the first row is bumped; `b` is unchanged.",
)
@guarded
def test_three_rows(row_bias):
    """Only the first row is bumped; `b` is unchanged."""
    import torch

    b = torch.tensor([1.0, 2.0])
    rows = row_bias(b, 3, 10.0).tolist()
    assert rows == [[11.0, 12.0], [1.0, 2.0], [1.0, 2.0]], (
        f"The rows are {rows} instead of [[11, 12], [1, 2], [1, 2]]."
    )
    assert b.tolist() == [1.0, 2.0], (
        f"The caller's b was [1, 2] before the call and is now {b.tolist()}:\na write to an expanded row is "
        "a write to b."
    )
    b = torch.tensor([1.0, 2.0], requires_grad=True)
    try:
        rows = row_bias(b, 3, 10.0)
    except RuntimeError as error:
        raise AssertionError(f"row_bias raised an error: {error}") from None
    assert rows.requires_grad, "The rows do not require grad: they are not connected to b."
    rows.sum().backward()
    assert b.grad is not None, "b.grad is None: the rows are not connected to b."
    assert b.grad.tolist() == [3.0, 3.0], (
        f"For three rows, b.grad is {b.grad.tolist()} instead of [3.0, 3.0]."
    )
