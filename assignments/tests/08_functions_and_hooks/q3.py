import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 5
afterword = "The slope is now the result of a computation that autograd recorded. So the penalty can train `D`. The price: each step also backpropagates through the recorded backward pass, which takes time and memory."


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
    def checked(penalty):
        if penalty is None:
            raise AssertionError("penalty is not defined: run the cell of q3 first.")
        returned = []

        @wraps(penalty)
        def watched(*arguments, **options):
            returned.clear()
            result = penalty(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(penalty if isinstance(penalty, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"penalty returned None{why_none(penalty)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"penalty returned None{why_none(penalty)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("penalty()"):
                raise AssertionError(f"Keep the parameters of penalty: {error}") from None
            if returned:
                why = f"{why} (penalty returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The penalty and its gradient are right.<br>The slope is now the result of a computation that autograd recorded. So the penalty can train <code>D</code>. The price: each step also backpropagates through the recorded backward pass, which takes time and memory.",
    failure_message="Not yet: The penalty and its gradient are right.",
)
@guarded
def test_penalty(penalty):
    """The penalty and its gradient are right."""
    import torch

    D = torch.nn.Linear(2, 1)
    with torch.no_grad():
        D.weight.copy_(torch.tensor([[3.0, 4.0]]))
    value = penalty(D, torch.ones(3, 2))
    seen = value.item()
    assert abs(seen - 16) < 1e-3, f"The slope of D has the norm 5, but the penalty is {seen} instead of 16."
    try:
        value.backward()
    except RuntimeError as error:
        message = f"backward() raised an error: {error}\nCheck whether autograd records the inner gradient."
        raise AssertionError(message) from None
    assert D.weight.grad is not None, "D.weight.grad is None: the penalty is not connected to D."
    seen = D.weight.grad.flatten().tolist()
    right = abs(seen[0] - 4.8) < 1e-3 and abs(seen[1] - 6.4) < 1e-3
    assert right, f"D.weight.grad is {seen}, but the gradient of (norm - 1) ** 2 is [4.8, 6.4]."
