import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "end"
points = 0
afterword = "The three bugs: a multiplication produced the temperature, so it was not a leaf. `torch.tensor` turned the losses into numbers, so the model got no gradient. And nobody asked for the gradient of the logits. The script ran without an error: torch does what you say and cannot know what you meant."


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
    def checked(train_with_temperature):
        if train_with_temperature is None:
            raise AssertionError("train_with_temperature is not defined: run the cell of end first.")
        returned = []

        @wraps(train_with_temperature)
        def watched(*arguments, **options):
            returned.clear()
            result = train_with_temperature(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(train_with_temperature if isinstance(train_with_temperature, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"train_with_temperature returned None{why_none(train_with_temperature)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"train_with_temperature returned None{why_none(train_with_temperature)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("train_with_temperature()"):
                raise AssertionError(f"Keep the parameters of train_with_temperature: {error}") from None
            if returned:
                why = f"{why} (train_with_temperature returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Three steps train model and temperature, with a log.<br>The three bugs: a multiplication produced the temperature, so it was not a leaf. <code>torch.tensor</code> turned the losses into numbers, so the model got no gradient. And nobody asked for the gradient of the logits. The script ran without an error: torch does what you say and cannot know what you meant.",
    failure_message="Not yet: Three steps train model and temperature, with a log.",
)
@guarded
def test_three_steps(train_with_temperature):
    """Three steps train model and temperature, with a log."""
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(2, 3)
    before = model.weight.detach().clone()
    try:
        temperature, log = train_with_temperature(
            model, torch.randn(5, 2), torch.tensor([0, 1, 2, 0, 1]), 3, 0.5
        )
    except (RuntimeError, ValueError) as error:
        reason = str(error).partition(" (or ")[0]
        raise AssertionError(f"Training raised an error: {reason}") from None
    assert not torch.equal(model.weight, before), "After three steps the weight of the model is unchanged."
    assert temperature.item() != 1.5, "After three steps the temperature is still 1.5."
    assert temperature.is_leaf, (
        f"The temperature is not a leaf: {type(temperature.grad_fn).__name__} produced it."
    )
    none = [number for number, entry in enumerate(log, start=1) if entry["pull"] is None]
    assert not none, f"In the log, the gradient of the logits is None for these steps: {none}."
