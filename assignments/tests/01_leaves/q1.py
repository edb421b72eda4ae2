import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5
afterword = "Compute first, and set `requires_grad` last: then no recorded operation produced the weight. Next trap: `w = w - lr * w.grad` gives you a tensor with a history again. Update in place, under `torch.no_grad()`."


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
    def checked(make_weight):
        if make_weight is None:
            raise AssertionError("make_weight is not defined: run the cell of q1 first.")
        returned = []

        @wraps(make_weight)
        def watched(*arguments, **options):
            returned.clear()
            result = make_weight(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(make_weight if isinstance(make_weight, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"make_weight returned None{why_none(make_weight)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"make_weight returned None{why_none(make_weight)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("make_weight()"):
                raise AssertionError(f"Keep the parameters of make_weight: {error}") from None
            if returned:
                why = f"{why} (make_weight returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The weight is a trainable leaf with the right values.<br>Compute first, and set <code>requires_grad</code> last: then no recorded operation produced the weight. Next trap: <code>w = w - lr * w.grad</code> gives you a tensor with a history again. Update in place, under <code>torch.no_grad()</code>.",
    failure_message="Not yet: The weight is a trainable leaf with the right values.",
)
@guarded
def test_a_trainable_weight(make_weight):
    """The weight is a trainable leaf with the right values."""
    import torch

    w = make_weight(2, 3, 0.1)
    assert w.requires_grad, "w.requires_grad is False, so backward() never fills w.grad."
    maker = type(w.grad_fn).__name__
    if w.retains_grad:
        consequence = (
            "retain_grad() keeps its gradient, but the next backward() passes through its history again."
        )
    else:
        consequence = "backward() leaves w.grad at None, and optimizers reject w."
    assert w.is_leaf, f"{maker} produced w, so w is not a leaf:\n{consequence}"
    assert not w.is_inference(), "w was allocated in inference_mode, so autograd cannot save it for backward."

    w = make_weight(2, 3, 4.0)
    expected = torch.randn(2, 3, generator=torch.Generator().manual_seed(0)) * 4.0
    assert w.shape == expected.shape, f"w has the shape {tuple(w.shape)} instead of (2, 3)."
    for row, column in (~torch.isclose(w.detach(), expected)).nonzero().tolist():
        raise AssertionError(
            f"w[{row}, {column}] is {w[row, column].item()} instead of {expected[row, column].item()}:\n"
            "w is a leaf, but its values must be those that the task asks for."
        )
