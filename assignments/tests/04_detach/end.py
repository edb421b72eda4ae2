import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "end"
points = 0
afterword = "The three bugs: computing the activity wrote to `h` before `head` used it. The target had a history, so every step also changed the target. And `detach()` made no copy, so the best parameters changed with each later step. Next trap: `state_dict()` makes no copy, either."


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
    def checked(train_values):
        if train_values is None:
            raise AssertionError("train_values is not defined: run the cell of end first.")
        returned = []

        @wraps(train_values)
        def watched(*arguments, **options):
            returned.clear()
            result = train_values(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(train_values if isinstance(train_values, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"train_values returned None{why_none(train_values)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"train_values returned None{why_none(train_values)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("train_values()"):
                raise AssertionError(f"Keep the parameters of train_values: {error}") from None
            if returned:
                why = f"{why} (train_values returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Loss, step and final parameters are right.<br>The three bugs: computing the activity wrote to <code>h</code> before <code>head</code> used it. The target had a history, so every step also changed the target. And <code>detach()</code> made no copy, so the best parameters changed with each later step. Next trap: <code>state_dict()</code> makes no copy, either.",
    failure_message="Not yet: Loss, step and final parameters are right.",
)
@guarded
def test_two_steps(train_values):
    """Loss, step and final parameters are right."""
    import torch

    def run(rewards):
        body, head = torch.nn.Linear(1, 1, bias=False), torch.nn.Linear(1, 1, bias=False)
        with torch.no_grad():
            body.weight.fill_(1.0)
            head.weight.fill_(1.0)
        optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
        s, s2 = torch.tensor([[-1.0]]), torch.tensor([[2.0]])
        batches = [(s, torch.tensor([[reward]]), s2) for reward in rewards]
        losses, _ = train_values(body, head, optimizer, batches, batches[0], 0.5)
        return losses, head.weight.item()

    losses, weight = run([1.0])
    assert abs(losses[0] - 9) < 1e-5, (
        f"The first loss is {losses[0]} instead of 9: the value is -1, the target is 1 + 0.5 * 2 = 2."
    )
    assert abs(weight - 0.94) < 1e-5, (
        f"A step with lr=0.01 took the weight of head from 1 to {weight}.\nIf the target is data, the "
        "gradient of this loss is 6, so the weight becomes 0.94."
    )
    losses, weight = run([1.0, -10.0])
    assert abs(weight - 0.94) < 1e-5, (
        f"After two steps the weight of head is {weight} instead of 0.94,\nthe value after the first, "
        "better step."
    )
