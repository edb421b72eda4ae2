import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "end"
points = 0
afterword = "The three bugs: prices that were a view of the caller's data; zeros written into the output that softmax saved; and an expanded buffer, the same memory for all baskets. Only one of them raised an error."


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
    def checked(train):
        if train is None:
            raise AssertionError("train is not defined: run the cell of end first.")
        returned = []

        @wraps(train)
        def watched(*arguments, **options):
            returned.clear()
            result = train(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(train if isinstance(train, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"train returned None{why_none(train)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"train returned None{why_none(train)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("train()"):
                raise AssertionError(f"Keep the parameters of train: {error}") from None
            if returned:
                why = f"{why} (train returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The first step is right; prices are unchanged.<br>The three bugs: prices that were a view of the caller's data; zeros written into the output that softmax saved; and an expanded buffer, the same memory for all baskets. Only one of them raised an error.",
    failure_message="Not yet: The first step is right; prices are unchanged.",
)
@guarded
def test_one_step_for_two_baskets(train):
    """The first step is right; prices are unchanged."""
    import torch
    from torch import nn

    model = nn.ModuleDict({"embed": nn.Linear(2, 2), "score": nn.Linear(2, 1), "head": nn.Linear(2, 1)})
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.linspace(-1, 1, parameter.numel()).view_as(parameter))
    x = torch.tensor([[[1.0, 2.0], [0.0, 4.0]], [[-1.0, 6.0], [2.0, 8.0]]])
    drop = torch.tensor([[True, False], [False, False]])
    try:
        losses = train(model, [(x, drop, torch.tensor([1.0, -1.0]))], 0.5, 1)
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        raise AssertionError(f"Training raised an error: {reason}") from None
    assert isinstance(losses, list), f"The result is a {type(losses).__name__} instead of a list."
    assert len(losses) == 1, f"The list has {len(losses)} losses for a single step."
    assert abs(losses[0] - 2.2971) < 1e-3, f"The loss of the first step is {losses[0]} instead of 2.2971."
    weight = [round(entry, 4) for entry in model["score"].weight[0].tolist()]
    assert abs(weight[0] - -0.9542) < 1e-3 and abs(weight[1] - 1.0039) < 1e-3, (
        f"After the first step, score.weight is {weight} instead of [-0.9542, 1.0039]."
    )
    prices = x[..., 1].tolist()
    assert prices == [[2.0, 4.0], [6.0, 8.0]], (
        f"The caller's prices were [[2, 4], [6, 8]] before the call and are now {prices}."
    )
