import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 5
afterword = "The sigmoid saved its output, and your sum has its own storage. `tanh`, `exp`, `softmax` and `relu` save their output, too. `x @ w` saves `x` if `w` requires grad, and `w` if `x` does."


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
    def checked(residual_block):
        if residual_block is None:
            raise AssertionError("residual_block is not defined: run the cell of q4 first.")
        returned = []

        @wraps(residual_block)
        def watched(*arguments, **options):
            returned.clear()
            result = residual_block(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(residual_block if isinstance(residual_block, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"residual_block returned None{why_none(residual_block)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"residual_block returned None{why_none(residual_block)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("residual_block()"):
                raise AssertionError(f"Keep the parameters of residual_block: {error}") from None
            if returned:
                why = f"{why} (residual_block returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="With `w = 0` the result is `relu(x)`.<br>The sigmoid saved its output, and your sum has its own storage. <code>tanh</code>, <code>exp</code>, <code>softmax</code> and <code>relu</code> save their output, too. <code>x @ w</code> saves <code>x</code> if <code>w</code> requires grad, and <code>w</code> if <code>x</code> does.",
    failure_message="Not yet: With `w = 0` the result is `relu(x)`.",
)
@guarded
def test_the_values_are_right(residual_block):
    """With `w = 0` the result is `relu(x)`."""
    import torch

    result = residual_block(torch.tensor([[1.0, -2.0]]), torch.zeros(2, 2, requires_grad=True))
    assert result.tolist() == [[1.0, 0.0]], f"The result is {result.tolist()} instead of [[1.0, 0.0]]."
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    w = torch.zeros(2, 2, requires_grad=True)
    try:
        residual_block(x, w).sum().backward()
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        message = f"backward() raised an error: {reason}"
        raise AssertionError(message) from None
    assert x.grad is not None, "x.grad is None: the result is not connected to x."
    assert w.grad is not None, "w.grad is None: the result is not connected to w."
