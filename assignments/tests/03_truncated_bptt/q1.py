import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 8
afterword = "`detach()` between two minibatches passes the value on and drops the history. Next trap: an LSTM has two states, and both of them have a history."


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
    def checked(train_stateful):
        if train_stateful is None:
            raise AssertionError("train_stateful is not defined: run the cell of q1 first.")
        returned = []

        @wraps(train_stateful)
        def watched(*arguments, **options):
            returned.clear()
            result = train_stateful(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(train_stateful if isinstance(train_stateful, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"train_stateful returned None{why_none(train_stateful)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"train_stateful returned None{why_none(train_stateful)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("train_stateful()"):
                raise AssertionError(f"Keep the parameters of train_stateful: {error}") from None
            if returned:
                why = f"{why} (train_stateful returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The state's value crosses minibatches; its history does not.<br><code>detach()</code> between two minibatches passes the value on and drops the history. Next trap: an LSTM has two states, and both of them have a history.",
    failure_message="Not yet: The state's value crosses minibatches; its history does not.",
)
@guarded
def test_every_minibatch_starts_without_a_history(train_stateful):
    """The state's value crosses minibatches; its history does not."""
    import torch

    torch.manual_seed(0)
    cell, readout = torch.nn.RNNCell(2, 3), torch.nn.Linear(3, 1)
    opt = torch.optim.SGD([*cell.parameters(), *readout.parameters()], lr=0.3)
    batches = [(torch.randn(4, 5, 2), torch.randn(5, 1)) for _ in range(4)]
    forward, steps, trained = cell.forward, {}, set()

    def watched(input, hx=None):
        output = forward(input, hx)
        step = str(input.tolist())  # to look at a step again, under no_grad say, makes no new step
        if step not in trained:
            history = None if hx is None or hx.grad_fn is None else type(hx.grad_fn).__name__
            steps[step] = history, None if hx is None else hx.tolist(), output.tolist()
        if output.requires_grad:
            trained.add(step)
        return output

    cell.forward = watched
    stopped = result = None
    try:
        result = train_stateful(cell, readout, opt, batches, torch.zeros(5, 3))
    except RuntimeError as error:
        stopped = str(error).split(" (")[0].split(": [")[0]
    for number, (history, _, _) in enumerate(list(steps.values())[::4], start=1):
        assert history is None, (
            f"The state that enters minibatch {number} has the grad_fn {history}:\n"
            f"it is still connected to the graph of minibatch {number - 1}."
            + (f"\nTraining raised an error: {stopped}" if stopped else "")
        )
    assert stopped is None, f"Training raised an error: {stopped}"
    assert len(steps) == 16, (
        f"Your function called cell for {len(steps)} of the 16 time steps of 4 minibatches."
    )
    _, entering, leaving = zip(*steps.values())
    for number in (2, 3, 4):
        assert entering[4 * number - 4] == leaving[4 * number - 5], (
            f"Minibatch {number} does not start from the values that minibatch {number - 1} ended with,\nso "
            "the state is lost between them."
        )
    assert type(result) is tuple and len(result) == 2, (
        "train_stateful must return a tuple of two, (losses, h)."
    )
    assert [type(loss) for loss in result[0]] == [float] * 4, (
        "The losses must be four Python floats, one for each minibatch."
    )
