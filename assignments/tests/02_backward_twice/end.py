import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "end"
points = 0
afterword = "The three bugs: the answers had a history, so the second backward reached the teacher's graph, which the first had freed. Each piece was divided by its own number of samples. And the running sum kept the graph of every loss in memory. Only the first bug raised an error, and `retain_graph=True` would have silenced that as well."


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
    def checked(distil):
        if distil is None:
            raise AssertionError("distil is not defined: run the cell of end first.")
        returned = []

        @wraps(distil)
        def watched(*arguments, **options):
            returned.clear()
            result = distil(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(distil if isinstance(distil, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"distil returned None{why_none(distil)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"distil returned None{why_none(distil)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("distil()"):
                raise AssertionError(f"Keep the parameters of distil: {error}") from None
            if returned:
                why = f"{why} (distil returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Two epochs give the right losses and weight.<br>The three bugs: the answers had a history, so the second backward reached the teacher's graph, which the first had freed. Each piece was divided by its own number of samples. And the running sum kept the graph of every loss in memory. Only the first bug raised an error, and <code>retain_graph=True</code> would have silenced that as well.",
    failure_message="Not yet: Two epochs give the right losses and weight.",
)
@guarded
def test_two_epochs(distil):
    """Two epochs give the right losses and weight."""
    import torch

    model, teacher = (torch.nn.Linear(1, 1, bias=False) for _ in range(2))
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.ones_(teacher.weight)
    opt = torch.optim.SGD(model.parameters(), lr=0.125)
    try:
        history = distil(model, teacher, opt, [torch.tensor([[1.0], [2.0], [1.0]])], 2, 2)
    except RuntimeError as error:
        reason = str(error).partition(" (")[0]
        raise AssertionError(f"Training raised an error: {reason}") from None
    assert teacher.weight.grad is None, "A gradient reached the teacher, but its answers must be constants."
    assert abs(model.weight.item() - 0.75) < 1e-5, (
        f"After two epochs the weight is {model.weight.item()} instead of 0.75:\neach step needs the "
        "gradient of the mean over the whole batch."
    )
    kinds = [type(loss).__name__ for loss in history]
    assert kinds == ["float", "float"], (
        f"For two epochs you returned values of the types {kinds}.\nReturn one Python float for each epoch: "
        "a number keeps no graph in memory."
    )
    assert all(abs(seen - right) < 1e-5 for seen, right in zip(history, (2.0, 0.5))), (
        f"The mean losses are {[round(loss, 4) for loss in history]} instead of [2.0, 0.5]."
    )
