import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 5
afterword = "The target is a value without a history: gradients have only one path, through the prediction. Next trap: `q_target.eval()` looks like a cut, but cuts nothing. And frozen parameters are frozen in every loss that uses them."


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
    def checked(td_loss):
        if td_loss is None:
            raise AssertionError("td_loss is not defined: run the cell of q5 first.")
        returned = []

        @wraps(td_loss)
        def watched(*arguments, **options):
            returned.clear()
            result = td_loss(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(td_loss if isinstance(td_loss, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"td_loss returned None{why_none(td_loss)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"td_loss returned None{why_none(td_loss)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("td_loss()"):
                raise AssertionError(f"Keep the parameters of td_loss: {error}") from None
            if returned:
                why = f"{why} (td_loss returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The loss is right and trains q only.<br>The target is a value without a history: gradients have only one path, through the prediction. Next trap: <code>q_target.eval()</code> looks like a cut, but cuts nothing. And frozen parameters are frozen in every loss that uses them.",
    failure_message="Not yet: The loss is right and trains q only.",
)
@guarded
def test_only_the_prediction_is_taught(td_loss):
    """The loss is right and trains q only."""
    import torch

    torch.manual_seed(0)
    q, q_target = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)
    s, s2, r, a = torch.randn(5, 3), torch.randn(5, 3), torch.randn(5), torch.tensor([0, 1, 2, 3, 0])
    loss = td_loss(q, q_target, s, a, r, s2, 0.9)
    assert loss.requires_grad, "The loss does not require grad, so no network can learn from it."
    loss.backward()
    assert q.weight.grad is not None, "q got no gradient: the prediction is not connected to it."
    assert q_target.weight.grad is None, "q_target got a gradient: the target is still connected to it."

    # predictions 1 and 4, targets 3.5 and 1
    q, q_target = torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        q.weight.copy_(torch.eye(2))  # q(s) is s
        q_target.weight.copy_(2 * torch.eye(2))  # q_target(s2) is 2 * s2
    s, a = torch.tensor([[1.0, 2.0], [4.0, 0.0]]), torch.tensor([0, 0])
    s2, r = torch.tensor([[3.0, 1.0], [0.0, 1.0]]), torch.tensor([0.5, 0.0])
    loss = td_loss(q, q_target, s, a, r, s2, 0.5)
    assert loss.shape == (), f"The loss has shape {tuple(loss.shape)} instead of ()."
    assert abs(loss.item() - 7.625) < 1e-5, f"The loss is {loss.item()} instead of (6.25 + 9) / 2 = 7.625."
