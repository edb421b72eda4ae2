import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 5
afterword = "Only the first state stays connected to the tensor it came from, so `h0` learns from the first minibatch. Next trap: an optimizer silently skips a parameter whose `.grad` is `None`."


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
    def checked(train_learned_start):
        if train_learned_start is None:
            raise AssertionError("train_learned_start is not defined: run the cell of q4 first.")
        returned = []

        @wraps(train_learned_start)
        def watched(*arguments, **options):
            returned.clear()
            result = train_learned_start(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(train_learned_start if isinstance(train_learned_start, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"train_learned_start returned None{why_none(train_learned_start)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"train_learned_start returned None{why_none(train_learned_start)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("train_learned_start()"):
                raise AssertionError(f"Keep the parameters of train_learned_start: {error}") from None
            if returned:
                why = f"{why} (train_learned_start returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The first minibatch trains h0; later starts are detached.<br>Only the first state stays connected to the tensor it came from, so <code>h0</code> learns from the first minibatch. Next trap: an optimizer silently skips a parameter whose <code>.grad</code> is <code>None</code>.",
    failure_message="Not yet: The first minibatch trains h0; later starts are detached.",
)
@guarded
def test_the_start_learns(train_learned_start):
    """The first minibatch trains h0; later starts are detached."""
    import torch

    torch.manual_seed(0)
    cell, readout = torch.nn.RNNCell(2, 3), torch.nn.Linear(3, 1)
    h0 = torch.nn.Parameter(torch.randn(1, 3))
    before = h0.tolist()
    opt = torch.optim.SGD([h0, *cell.parameters(), *readout.parameters()], lr=0.5)
    try:
        train_learned_start(cell, readout, h0, opt, [(torch.randn(2, 4, 2), torch.randn(4, 1))])
    except RuntimeError as error:
        stopped = str(error).split(" (")[0].split(": [")[0]
        raise AssertionError(f"Training raised an error: {stopped}") from None
    assert h0.tolist() != before, "h0 is unchanged after a minibatch" + (
        ", and h0.grad is None: check whether the loss is connected to h0." if h0.grad is None else "."
    )
    torch.manual_seed(1)
    cell, readout = torch.nn.RNNCell(2, 3), torch.nn.Linear(3, 1)
    h0 = torch.nn.Parameter(torch.randn(1, 3))
    opt = torch.optim.SGD([h0, *cell.parameters(), *readout.parameters()], lr=0.5)
    batches = [(torch.randn(2, 4, 2), torch.randn(4, 1)) for _ in range(3)]
    forward, steps, trained = cell.forward, {}, set()

    def watched(input, hx=None):
        output = forward(input, hx)
        step = str(input.tolist())  # to look at a step again, under no_grad say, makes no new step
        if step not in trained:
            attached = hx is not None and hx.grad_fn is not None
            steps[step] = None if hx is None else hx.tolist(), attached, output.tolist()
        if output.requires_grad:
            trained.add(step)
        return output

    cell.forward = watched
    stopped = None
    try:
        train_learned_start(cell, readout, h0, opt, batches)
    except RuntimeError as error:
        stopped = str(error).split(" (")[0].split(": [")[0]
    seen = list(steps.values())
    for number in range(2, len(seen) // 2 + 1):
        (_, _, leaving), (entering, attached, _) = seen[2 * number - 3 : 2 * number - 1]
        assert not attached, (
            f"The state that enters minibatch {number} has a history: cut it between two minibatches."
        )
        assert entering == leaving, (
            f"Minibatch {number} does not start from the values that minibatch {number - 1} ended with."
        )
    assert stopped is None, f"Training raised an error: {stopped}"
