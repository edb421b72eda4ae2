import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5
afterword = "`detach()` shares storage, so return a copy that no other code holds. Next trap: `y.detach().numpy()` shares storage, too. A plot that scales such an array in place writes to `y`, and no counter records it."


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
    def checked(positive_part):
        if positive_part is None:
            raise AssertionError("positive_part is not defined: run the cell of q1 first.")
        returned = []

        @wraps(positive_part)
        def watched(*arguments, **options):
            returned.clear()
            result = positive_part(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(positive_part if isinstance(positive_part, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"positive_part returned None{why_none(positive_part)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"positive_part returned None{why_none(positive_part)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("positive_part()"):
                raise AssertionError(f"Keep the parameters of positive_part: {error}") from None
            if returned:
                why = f"{why} (positive_part returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Values are right, and an earlier loss still backpropagates.<br><code>detach()</code> shares storage, so return a copy that no other code holds. Next trap: <code>y.detach().numpy()</code> shares storage, too. A plot that scales such an array in place writes to <code>y</code>, and no counter records it.",
    failure_message="Not yet: Values are right, and an earlier loss still backpropagates.",
)
@guarded
def test_the_positive_part(positive_part):
    """Values are right, and an earlier loss still backpropagates."""
    import torch

    x = torch.tensor([-3.0, 1.0, 2.0], requires_grad=True)
    y = x + 1
    loss = (y**2).sum()
    result = positive_part(y)
    assert result.tolist() == [0.0, 2.0, 3.0], f"The result is {result.tolist()} instead of [0, 2, 3]."
    assert not result.requires_grad, "The result requires grad, but must not."
    assert y.tolist() == [-2.0, 2.0, 3.0], (
        f"y was [-2, 2, 3] before the call and is now {y.tolist()}:\nyour code wrote to the storage of y."
    )
    try:
        loss.backward()
    except RuntimeError as error:
        reason = str(error).partition(":")[0]
        raise AssertionError(f"After your call, loss.backward() raises an error: {reason}") from None
    assert x.grad.tolist() == [-4.0, 4.0, 6.0], (
        f"x.grad is {x.grad.tolist()} instead of 2 * y = [-4, 4, 6]:\nyour call must not affect the "
        "gradients of earlier losses."
    )
