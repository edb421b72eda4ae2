import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 6
afterword = "Each loss backpropagates to the last cut, so the cell learns to remember up to `k` steps, and the graph is never longer. Next trap: a first state that is a parameter must not be cut at all."


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
    def checked(tbptt):
        if tbptt is None:
            raise AssertionError("tbptt is not defined: run the cell of q3 first.")
        returned = []

        @wraps(tbptt)
        def watched(*arguments, **options):
            returned.clear()
            result = tbptt(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(tbptt if isinstance(tbptt, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"tbptt returned None{why_none(tbptt)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"tbptt returned None{why_none(tbptt)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("tbptt()"):
                raise AssertionError(f"Keep the parameters of tbptt: {error}") from None
            if returned:
                why = f"{why} (tbptt returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Each loss backpropagates to the last cut, no further.<br>Each loss backpropagates to the last cut, so the cell learns to remember up to <code>k</code> steps, and the graph is never longer. Next trap: a first state that is a parameter must not be cut at all.",
    failure_message="Not yet: Each loss backpropagates to the last cut, no further.",
)
@guarded
def test_the_cuts_are_k_steps_apart(tbptt):
    """Each loss backpropagates to the last cut, no further."""
    import torch

    torch.manual_seed(0)
    cell, readout, xs = torch.nn.GRUCell(2, 3), torch.nn.Linear(3, 1), torch.randn(7, 4, 2)
    h, ys = torch.zeros(4, 3), []
    with torch.no_grad():
        for x in xs:
            h = cell(x, h)
            ys.append(readout(h))
    forward, steps, reached = cell.forward, [x.tolist() for x in xs], set()

    def watched(input, hx=None):
        output, step = forward(input, hx), steps.index(input.tolist())
        if output.requires_grad:
            output.register_hook(lambda grad: reached.add(step) if grad.abs().max() > 1e-6 else None)
        return output

    cell.forward = watched
    for last, expected in ((1, [0, 1]), (2, [0, 1, 2]), (5, [3, 4, 5]), (6, [6])):
        targets = torch.stack(ys)
        targets[last] += 1  # with these targets all other losses are 0
        reached.clear()
        try:
            tbptt(cell, readout, xs, targets, 3)
        except RuntimeError as error:
            stopped = str(error).split(" (")[0].split(": [")[0]
            raise AssertionError(f"tbptt raised an error: {stopped}") from None
        assert sorted(reached) == expected, (
            f"With 7 steps and k = 3, the loss of step {last} (counted from 0) must backpropagate to the "
            f"states\nafter the steps {expected}, but it reaches the states after the steps "
            f"{sorted(reached)}."
        )
    torch.manual_seed(1)
    cell, readout = torch.nn.GRUCell(2, 3), torch.nn.Linear(3, 1)
    xs, ys = torch.randn(5, 4, 2), torch.randn(5, 4, 1)
    h, losses = torch.zeros(4, 3), []
    for x, y in zip(xs, ys):
        h = cell(x, h)
        losses.append(torch.nn.functional.mse_loss(readout(h), y))
    whole = sum(losses)
    expected = torch.autograd.grad(whole, cell.weight_hh)[0]
    total = tbptt(cell, readout, xs, ys, 5)
    assert type(total) is float, f"The total loss is a {type(total).__name__} instead of a Python float."
    assert abs(total - whole.item()) < 1e-4, (
        f"The total loss is {total}, but the losses add up to {whole.item()}."
    )
    assert cell.weight_hh.grad is not None, "cell.weight_hh.grad is None: no backward pass reached the cell."
    assert torch.allclose(cell.weight_hh.grad, expected, rtol=1e-4, atol=1e-6), (
        "With k = 5 and 5 steps, the gradient of cell.weight_hh is not that of full backpropagation "
        "through time.\nCheck that no state is cut within the chunk, and that no loss is missing."
    )
