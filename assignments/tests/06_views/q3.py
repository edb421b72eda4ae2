import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 4
afterword = "The measured number is a constant, and the divided columns are not: only the first belongs under `no_grad()`. Next trap: a write to a clone under `no_grad()`. It raises no error, and the gradient lacks the factor."


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
    def checked(scale_tail):
        if scale_tail is None:
            raise AssertionError("scale_tail is not defined: run the cell of q3 first.")
        returned = []

        @wraps(scale_tail)
        def watched(*arguments, **options):
            returned.clear()
            result = scale_tail(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(scale_tail if isinstance(scale_tail, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"scale_tail returned None{why_none(scale_tail)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"scale_tail returned None{why_none(scale_tail)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("scale_tail()"):
                raise AssertionError(f"Keep the parameters of scale_tail: {error}") from None
            if returned:
                why = f"{why} (scale_tail returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The tail and its gradient are divided by `s`.<br>The measured number is a constant, and the divided columns are not: only the first belongs under <code>no_grad()</code>. Next trap: a write to a clone under <code>no_grad()</code>. It raises no error, and the gradient lacks the factor.",
    failure_message="Not yet: The tail and its gradient are divided by `s`.",
)
@guarded
def test_the_division_is_recorded(scale_tail):
    """The tail and its gradient are divided by `s`."""
    import torch

    x = torch.tensor([[7.0, 1.0, 3.0], [9.0, 5.0, 3.0]], requires_grad=True)
    s = x[:, 1:].detach().std().item()
    try:
        result = scale_tail(x * 1, 1)
    except RuntimeError as error:
        raise AssertionError(f"scale_tail raised an error: {error}") from None
    assert abs(result[1, 1].item() - 5 / s) < 1e-5, (
        f"An entry of the tail is {result[1, 1].item()} instead of 5 / {s} = {5 / s}."
    )
    assert result[1, 0].item() == 9, (
        f"An entry before the tail was 9, but is {result[1, 0].item()} in the result."
    )
    result.sum().backward()
    assert x.grad is not None, "h gets no gradient: the result is not connected to it."
    seen = x.grad[0].tolist()
    assert abs(seen[0] - 1) < 1e-5, f"An entry before the tail gets the gradient {seen[0]} instead of 1."
    assert abs(seen[1] - 1 / s) < 1e-5, (
        f"The first entry of the tail gets the gradient {seen[1]} instead of 1 / {s}:\nautograd must record "
        "the division by a constant."
    )
