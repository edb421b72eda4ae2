import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 5
afterword = "The reversal is a node between `x` and your result, and the gradients of other uses do not pass through it. In practice `lam` often grows from 0 to 1 during training, so that the features first learn something at all."


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
    def checked(grad_reverse):
        if grad_reverse is None:
            raise AssertionError("grad_reverse is not defined: run the cell of q5 first.")
        returned = []

        @wraps(grad_reverse)
        def watched(*arguments, **options):
            returned.clear()
            result = grad_reverse(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(grad_reverse if isinstance(grad_reverse, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"grad_reverse returned None{why_none(grad_reverse)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"grad_reverse returned None{why_none(grad_reverse)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("grad_reverse()"):
                raise AssertionError(f"Keep the parameters of grad_reverse: {error}") from None
            if returned:
                why = f"{why} (grad_reverse returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Only gradients through the result are reversed.<br>The reversal is a node between <code>x</code> and your result, and the gradients of other uses do not pass through it. In practice <code>lam</code> often grows from 0 to 1 during training, so that the features first learn something at all.",
    failure_message="Not yet: Only gradients through the result are reversed.",
)
@guarded
def test_reversed(grad_reverse):
    """Only gradients through the result are reversed."""
    import torch

    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = grad_reverse(x, 0.5)
    seen = [round(value, 5) for value in y.tolist()]
    assert seen == [1.0, -2.0], f"x holds [1, -2], but the result holds {seen}."
    assert y.requires_grad, "The result does not require grad: it is not connected to x."
    (y * torch.tensor([3.0, 4.0])).sum().backward()
    seen = [round(value, 5) for value in x.grad.tolist()]
    assert seen == [-1.5, -2.0], (
        f"The gradient of the result is [3, 4] and lam is 0.5, but x.grad is {seen} instead of [-1.5, -2]."
    )

    x = torch.tensor([1.0, -2.0], requires_grad=True)
    h = x * 1
    y = grad_reverse(h, 0.5)
    (h * 10 + y).sum().backward()
    seen = [round(value, 5) for value in x.grad.tolist()]
    assert seen == [9.5, 9.5], (
        f"The gradient is 10 through h and -0.5 through the result, but x.grad is {seen} instead of [9.5, "
        "9.5]."
    )
