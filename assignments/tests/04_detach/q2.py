import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 4
afterword = "The derivative determines what backward needs; `requires_grad` does not. Next trap: a list of operations is out of date sooner or later. The next release of torch may save the result of an operation where this one saves its input."


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
    def checked(may_overwrite):
        if may_overwrite is None:
            raise AssertionError("may_overwrite is not defined: run the cell of q2 first.")
        returned = []

        @wraps(may_overwrite)
        def watched(*arguments, **options):
            returned.clear()
            result = may_overwrite(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(may_overwrite if isinstance(may_overwrite, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"may_overwrite returned None{why_none(may_overwrite)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"may_overwrite returned None{why_none(may_overwrite)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("may_overwrite()"):
                raise AssertionError(f"Keep the parameters of may_overwrite: {error}") from None
            if returned:
                why = f"{why} (may_overwrite returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="A square needs y, 4 * y doesn't; mask * x needs mask.<br>The derivative determines what backward needs; <code>requires_grad</code> does not. Next trap: a list of operations is out of date sooner or later. The next release of torch may save the result of an operation where this one saves its input.",
    failure_message="Not yet: A square needs y, 4 * y doesn't; mask * x needs mask.",
)
@guarded
def test_a_square_a_multiple_and_a_mask(may_overwrite):
    """A square needs y, 4 * y doesn't; mask * x needs mask."""
    import torch

    def answer(f):
        return may_overwrite(f, torch.tensor([1.0, 2.0], requires_grad=True))

    def square(x):
        y = x + 1
        return y**2, y

    def multiple(x):
        y = x + 1
        return 4 * y, y

    def masked(x):
        mask = torch.tensor([0.0, 1.0])
        return mask * x, mask

    seen = answer(square)
    assert not seen, f"For y**2 your answer is {seen}, but the derivative 2 * y needs y."
    seen = answer(multiple)
    assert seen, f"For 4 * y your answer is {seen}, but the derivative is 4, whatever y is."
    seen = answer(masked)
    assert not seen, f"For mask * x your answer is {seen}, but the mask is the derivative."
