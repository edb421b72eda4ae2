import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 5
afterword = "A recorded write before the value is used is an operation like any other: the masked columns get the gradient 0. Next trap: a write that autograd does not record raises no error, and the gradient is wrong."


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
    def checked(masked_forward):
        if masked_forward is None:
            raise AssertionError("masked_forward is not defined: run the cell of q3 first.")
        returned = []

        @wraps(masked_forward)
        def watched(*arguments, **options):
            returned.clear()
            result = masked_forward(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(masked_forward if isinstance(masked_forward, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"masked_forward returned None{why_none(masked_forward)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"masked_forward returned None{why_none(masked_forward)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("masked_forward()"):
                raise AssertionError(f"Keep the parameters of masked_forward: {error}") from None
            if returned:
                why = f"{why} (masked_forward returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="`f` is computed from the masked `d`.<br>A recorded write before the value is used is an operation like any other: the masked columns get the gradient 0. Next trap: a write that autograd does not record raises no error, and the gradient is wrong.",
    failure_message="Not yet: `f` is computed from the masked `d`.",
)
@guarded
def test_the_masked_values_enter_the_product(masked_forward):
    """`f` is computed from the masked `d`."""
    import torch

    w1 = torch.tensor([[2.0, 1.0], [1.0, -1.0]], requires_grad=True)
    w2 = torch.tensor([[3.0], [2.0]], requires_grad=True)
    d, f = masked_forward(torch.tensor([[1.0, 2.0]]), w1, w2, torch.tensor([False, True]))
    assert d.tolist() == [[4.0, 1.0]], f"d is {d.tolist()} instead of [[4.0, 1.0]]."
    assert f.tolist() == [[14.0]], f"f is {f.tolist()} instead of [[14.0]]: compute it from the masked d."
    try:
        f.sum().backward()
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        message = f"backward() raised an error: {reason}"
        raise AssertionError(message) from None
    assert w1.grad is not None, "w1.grad is None: f is not connected to w1."
    assert w2.grad is not None, "w2.grad is None: f is not connected to w2."
