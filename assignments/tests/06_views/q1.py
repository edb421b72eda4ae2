import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 4
afterword = "A buffer for results needs no `requires_grad`: recorded writes connect it to the graph. Next trap: a write through `.data` or `.detach()` fills the buffer, too, but does not connect it."


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
    def checked(collect):
        if collect is None:
            raise AssertionError("collect is not defined: run the cell of q1 first.")
        returned = []

        @wraps(collect)
        def watched(*arguments, **options):
            returned.clear()
            result = collect(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(collect if isinstance(collect, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"collect returned None{why_none(collect)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"collect returned None{why_none(collect)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("collect()"):
                raise AssertionError(f"Keep the parameters of collect: {error}") from None
            if returned:
                why = f"{why} (collect returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The results are right, and `w` gets its gradient.<br>A buffer for results needs no <code>requires_grad</code>: recorded writes connect it to the graph. Next trap: a write through <code>.data</code> or <code>.detach()</code> fills the buffer, too, but does not connect it.",
    failure_message="Not yet: The results are right, and `w` gets its gradient.",
)
@guarded
def test_a_loss_of_the_results_reaches_w(collect):
    """The results are right, and `w` gets its gradient."""
    import torch

    w = torch.tensor([1.0, 2.0], requires_grad=True)
    xs = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    try:
        result = collect(lambda x: (w * x).sum() ** 2, xs)
    except RuntimeError as error:
        raise AssertionError(f"collect raised an error: {error}") from None
    assert isinstance(result, torch.Tensor), f"The result is a {type(result).__name__} instead of a tensor."
    assert result.tolist() == [1.0, 4.0, 9.0], (
        f"The results are {result.tolist()} instead of [1.0, 4.0, 9.0]."
    )
    assert result.grad_fn is not None, "The result has no grad_fn: it is not connected to w."
    result.sum().backward()
    assert w.grad is not None, "w.grad is None: the result is not connected to w."
    assert w.grad.tolist() == [8.0, 10.0], f"w.grad is {w.grad.tolist()} instead of [8.0, 10.0]."
