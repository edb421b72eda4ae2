import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 5
afterword = "What a tensor is depends on where its memory is allocated: under `inference_mode()` it is an inference tensor forever, under `no_grad()` a normal one. Next trap: once you train the backbone again, the cached features are out of date, and no error says so."


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
    def checked(cache_features):
        if cache_features is None:
            raise AssertionError("cache_features is not defined: run the cell of q2 first.")
        returned = []

        @wraps(cache_features)
        def watched(*arguments, **options):
            returned.clear()
            result = cache_features(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(cache_features if isinstance(cache_features, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"cache_features returned None{why_none(cache_features)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"cache_features returned None{why_none(cache_features)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("cache_features()"):
                raise AssertionError(f"Keep the parameters of cache_features: {error}") from None
            if returned:
                why = f"{why} (cache_features returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="A head can train on the features.<br>What a tensor is depends on where its memory is allocated: under <code>inference_mode()</code> it is an inference tensor forever, under <code>no_grad()</code> a normal one. Next trap: once you train the backbone again, the cached features are out of date, and no error says so.",
    failure_message="Not yet: A head can train on the features.",
)
@guarded
def test_a_head_trains_on_the_features(cache_features):
    """A head can train on the features."""
    import torch

    backbone, head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    features = cache_features(backbone, [torch.ones(4, 2), torch.zeros(1, 2)])
    try:
        for _ in range(2):
            for feature in features:
                head(feature).pow(2).sum().backward()
    except RuntimeError as error:
        raise AssertionError(f"Training a head on the features raised an error: {error}") from None
    assert backbone.weight.grad is None, (
        "backbone.weight.grad is filled after training the head: the features must not be connected to the "
        "backbone."
    )
