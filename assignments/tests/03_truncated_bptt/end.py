import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "end"
points = 0
afterword = "The three bugs: a cut before the first minibatch, a cut in every time step, and an average that kept the graph of every loss. None of them raised an error, and the first two even look like the fix of one."


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
    def checked(train_tracked):
        if train_tracked is None:
            raise AssertionError("train_tracked is not defined: run the cell of end first.")
        returned = []

        @wraps(train_tracked)
        def watched(*arguments, **options):
            returned.clear()
            result = train_tracked(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(train_tracked if isinstance(train_tracked, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"train_tracked returned None{why_none(train_tracked)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"train_tracked returned None{why_none(train_tracked)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("train_tracked()"):
                raise AssertionError(f"Keep the parameters of train_tracked: {error}") from None
            if returned:
                why = f"{why} (train_tracked returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="h0 and the cell learn, and old graphs are freed.<br>The three bugs: a cut before the first minibatch, a cut in every time step, and an average that kept the graph of every loss. None of them raised an error, and the first two even look like the fix of one.",
    failure_message="Not yet: h0 and the cell learn, and old graphs are freed.",
)
@guarded
def test_three_symptoms(train_tracked):
    """h0 and the cell learn, and old graphs are freed."""
    import gc
    import weakref

    import torch

    torch.manual_seed(0)
    cell, readout = torch.nn.RNNCell(2, 3), torch.nn.Linear(3, 1)
    h0 = torch.nn.Parameter(torch.randn(1, 3))
    before, forward, reached, hooks, alive = h0.tolist(), cell.forward, [], [], []
    opt = torch.optim.SGD([h0, *cell.parameters(), *readout.parameters()], lr=0.5)
    batches = [(torch.randn(3, 4, 2), torch.randn(4, 1)) for _ in range(4)]

    def watched(input, hx=None):
        output, number = forward(input, hx), len(reached)
        if output.requires_grad:

            def hook(grad):  # the graph holds it for as long as it lives itself
                reached[number] = True

            reached.append(False)
            output.register_hook(hook)
            hooks.append(weakref.ref(hook))
        return output

    def count(optimizer, args, kwargs):
        gc.collect()
        alive.append(sum(hook() is not None for hook in hooks))

    cell.forward = watched
    opt.register_step_pre_hook(count)
    try:
        train_tracked(cell, readout, h0, opt, batches)
    except RuntimeError as error:
        stopped = str(error).split(" (")[0].split(": [")[0]
        raise AssertionError(f"Training raised an error: {stopped}") from None
    assert h0.tolist() != before, "h0 is unchanged: the first minibatch must train it."
    assert len(reached) >= 3 and reached[0] and reached[1], (
        "The loss of the first minibatch does not backpropagate to its first two time steps."
    )
    assert alive and max(alive) <= 6, (
        f"At a step of opt, the graphs of {max(alive, default=0)} calls of the cell are in memory, and a minibatch\n"
        "has 3 calls: something that you store refers to the graphs of earlier minibatches."
    )
