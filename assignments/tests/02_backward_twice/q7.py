import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q7"
points = 5
afterword = "A number refers to no graph. A tensor keeps its whole graph in memory, wherever you store it: in a sum, in a list, in a log."


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
    def checked(validation_loss):
        if validation_loss is None:
            raise AssertionError("validation_loss is not defined: run the cell of q7 first.")
        returned = []

        @wraps(validation_loss)
        def watched(*arguments, **options):
            returned.clear()
            result = validation_loss(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(validation_loss if isinstance(validation_loss, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"validation_loss returned None{why_none(validation_loss)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"validation_loss returned None{why_none(validation_loss)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("validation_loss()"):
                raise AssertionError(f"Keep the parameters of validation_loss: {error}") from None
            if returned:
                why = f"{why} (validation_loss returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The mean is a float; old graphs are freed.<br>A number refers to no graph. A tensor keeps its whole graph in memory, wherever you store it: in a sum, in a list, in a log.",
    failure_message="Not yet: The mean is a float; old graphs are freed.",
)
@guarded
def test_the_mean_is_a_number(validation_loss):
    """The mean is a float; old graphs are freed."""
    import gc
    import weakref

    import torch

    model = torch.nn.Linear(1, 1).eval()
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    loader = [(torch.ones(2, 1), torch.full((2, 1), value)) for value in (1.0, 2.0, 3.0)]
    mean = validation_loss(model, loader)
    assert isinstance(mean, float), (
        f"You returned a {type(mean).__name__} instead of a Python float.\nA tensor keeps its graph in "
        "memory; a number does not."
    )
    assert abs(mean - 14 / 3) < 1e-4, f"The mean over the three batches is {mean} instead of 4.6667."
    predictions, peak = [], []

    class Watched(torch.nn.Linear):
        def forward(self, x):
            gc.collect()
            peak.append(sum(ref() is not None for ref in predictions))
            y = super().forward(x)
            node = y.grad_fn
            if node is not None:
                node.metadata["life"] = life = torch.nn.Identity()
                predictions.append(weakref.ref(life))
            return y

    validation_loss(Watched(1, 1).eval(), [(torch.ones(2, 1), torch.zeros(2, 1)) for _ in range(4)])
    assert max(peak, default=0) <= 1, (
        f"The graphs of {max(peak)} batches were in memory at the same time:\na variable that outlives its "
        "batch still refers to a graph."
    )
