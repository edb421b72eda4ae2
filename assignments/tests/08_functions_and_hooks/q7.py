import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q7"
points = 4
afterword = "To keep a gradient, you need a tensor to which no later `backward()` adds. Mind the memory: `N` gradients take `N` times the memory of the parameters."


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
    def checked(per_sample_grads):
        if per_sample_grads is None:
            raise AssertionError("per_sample_grads is not defined: run the cell of q7 first.")
        returned = []

        @wraps(per_sample_grads)
        def watched(*arguments, **options):
            returned.clear()
            result = per_sample_grads(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(per_sample_grads if isinstance(per_sample_grads, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"per_sample_grads returned None{why_none(per_sample_grads)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"per_sample_grads returned None{why_none(per_sample_grads)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("per_sample_grads()"):
                raise AssertionError(f"Keep the parameters of per_sample_grads: {error}") from None
            if returned:
                why = f"{why} (per_sample_grads returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Each sample has its own gradient.<br>To keep a gradient, you need a tensor to which no later <code>backward()</code> adds. Mind the memory: <code>N</code> gradients take <code>N</code> times the memory of the parameters.",
    failure_message="Not yet: Each sample has its own gradient.",
)
@guarded
def test_two_samples(per_sample_grads):
    """Each sample has its own gradient."""
    import torch

    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    X, Y = torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [2.0]])
    result = per_sample_grads(model, X, Y)
    assert "weight" in result, f"The dict has the keys {list(result)}, but the parameter is called weight."
    seen = result["weight"].flatten().tolist()
    message = f"The two gradients are {seen}, but those of the samples are -2 and -8."
    assert len(seen) == 2 and abs(seen[0] + 2) < 1e-4 and abs(seen[1] + 8) < 1e-4, message
    left = [name for name, parameter in model.named_parameters() if parameter.grad is not None]
    assert not left, f"These parameters had no .grad before the call and have one now: {left}."
