import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 5
afterword = "Softmax needs its output until backward has run. So do sigmoid, tanh, exp and relu. Next trap: a chain such as `scores.softmax(-1).masked_fill_(drop, 0.0)`. It only looks as if it made a new tensor."


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
    def checked(drop_attention):
        if drop_attention is None:
            raise AssertionError("drop_attention is not defined: run the cell of q5 first.")
        returned = []

        @wraps(drop_attention)
        def watched(*arguments, **options):
            returned.clear()
            result = drop_attention(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(drop_attention if isinstance(drop_attention, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"drop_attention returned None{why_none(drop_attention)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"drop_attention returned None{why_none(drop_attention)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("drop_attention()"):
                raise AssertionError(f"Keep the parameters of drop_attention: {error}") from None
            if returned:
                why = f"{why} (drop_attention returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="One weight is dropped; all scores get gradients.<br>Softmax needs its output until backward has run. So do sigmoid, tanh, exp and relu. Next trap: a chain such as <code>scores.softmax(-1).masked_fill_(drop, 0.0)</code>. It only looks as if it made a new tensor.",
    failure_message="Not yet: One weight is dropped; all scores get gradients.",
)
@guarded
def test_one_of_three_weights_is_dropped(drop_attention):
    """One weight is dropped; all scores get gradients."""
    import torch

    weights = drop_attention(torch.zeros(1, 3), torch.tensor([[True, False, False]]))[0].tolist()
    assert weights[0] == 0, f"The dropped weight is {weights[0]} instead of 0."
    assert abs(weights[1] - 1 / 3) < 1e-5, f"A weight that was not dropped is {weights[1]} instead of 1 / 3."
    scores = torch.zeros(1, 3, requires_grad=True)
    try:
        drop_attention(scores, torch.tensor([[True, False, False]])).sum().backward()
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        raise AssertionError(f"drop_attention or its backward raised an error: {reason}") from None
    assert scores.grad is not None, "scores.grad is None: the result is not connected to the scores."
    seen = scores.grad[0, 0].item()
    assert abs(seen + 2 / 9) < 1e-5, (
        f"The dropped score gets the gradient {seen} instead of -0.2222:\nits score is part of the sum by "
        "which softmax divides."
    )
