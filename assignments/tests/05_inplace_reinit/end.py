import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "end"
points = 0
afterword = "The three bugs: a new `Parameter` that the optimizer does not hold, a write through `.data` that autograd does not record, and an update of the average that autograd does record. None of them raises an error, and the first two look as if they fixed one."


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
    def checked(train_and_restart):
        if train_and_restart is None:
            raise AssertionError("train_and_restart is not defined: run the cell of end first.")
        returned = []

        @wraps(train_and_restart)
        def watched(*arguments, **options):
            returned.clear()
            result = train_and_restart(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(train_and_restart if isinstance(train_and_restart, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"train_and_restart returned None{why_none(train_and_restart)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"train_and_restart returned None{why_none(train_and_restart)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("train_and_restart()"):
                raise AssertionError(f"Keep the parameters of train_and_restart: {error}") from None
            if returned:
                why = f"{why} (train_and_restart returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The mask, the restart and the average work.<br>The three bugs: a new <code>Parameter</code> that the optimizer does not hold, a write through <code>.data</code> that autograd does not record, and an update of the average that autograd does record. None of them raises an error, and the first two look as if they fixed one.",
    failure_message="Not yet: The mask, the restart and the average work.",
)
@guarded
def test_the_three_symptoms(train_and_restart):
    """The mask, the restart and the average work."""
    import torch

    torch.manual_seed(0)
    first, last = torch.nn.Linear(3, 2), torch.nn.Linear(2, 1)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    average, off = torch.zeros(1, 2), first.weight[1].tolist()
    batches = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(3)]
    try:
        train_and_restart(first, last, opt, average, batches, torch.tensor([2.0, 0.0]), 0.1, 1)
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        raise AssertionError(f"Training raised an error: {reason}") from None
    assert last.bias.item() != 0, (
        "After training, the bias of last is still 0: a step after the restart must change it."
    )
    assert first.weight[1].tolist() == off, (
        "The mask switches a unit off, but the weights of this unit have changed."
    )
    assert not average.requires_grad, "The average requires grad, but it must not be connected to a graph."
