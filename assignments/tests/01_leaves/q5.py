import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 5
afterword = "A sum of tensors has the history of all of them; a sum of numbers is not connected to the graph. Next trap: in a log it is the other way round. There you want the number, because a running sum of tensors keeps every graph alive."


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
    def checked(total_loss):
        if total_loss is None:
            raise AssertionError("total_loss is not defined: run the cell of q5 first.")
        returned = []

        @wraps(total_loss)
        def watched(*arguments, **options):
            returned.clear()
            result = total_loss(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(total_loss if isinstance(total_loss, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"total_loss returned None{why_none(total_loss)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"total_loss returned None{why_none(total_loss)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("total_loss()"):
                raise AssertionError(f"Keep the parameters of total_loss: {error}") from None
            if returned:
                why = f"{why} (total_loss returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The total is right and connected to the parameters.<br>A sum of tensors has the history of all of them; a sum of numbers is not connected to the graph. Next trap: in a log it is the other way round. There you want the number, because a running sum of tensors keeps every graph alive.",
    failure_message="Not yet: The total is right and connected to the parameters.",
)
@guarded
def test_a_total_that_teaches(total_loss):
    """The total is right and connected to the parameters."""
    import torch

    total = total_loss([torch.tensor(1.0), torch.tensor(2.0), torch.tensor(20.0)], [3.0, 4.0, -0.5])
    value = torch.as_tensor(total).item()
    assert value == 1.0, f"The total of 3 * 1 + 4 * 2 - 0.5 * 20 is {value:g} instead of 1."

    parameter = torch.tensor([1.0, 2.0], requires_grad=True)
    total = total_loss([parameter.sum(), (parameter**2).sum()], [1.0, 0.5])
    assert total.requires_grad, "The total does not require grad, so backward() cannot start there."
    total.backward()
    assert parameter.grad is not None, (
        "backward() ran, but parameter.grad is None: the total is not connected to the parameter,\n"
        "so training with it would raise no error and change nothing."
    )
    assert parameter.grad.tolist() == [2.0, 3.0], (
        f"parameter.grad is {parameter.grad.tolist()} instead of [2.0, 3.0],\n"
        "so it is not the gradient of the weighted sum."
    )
