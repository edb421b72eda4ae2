import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 5
afterword = "A gradient belongs to the weights at which its loss was computed. A step changes the weights, so the next gradient needs a new forward pass, and you need not retain anything for it."


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
    def checked(two_updates):
        if two_updates is None:
            raise AssertionError("two_updates is not defined: run the cell of q3 first.")
        returned = []

        @wraps(two_updates)
        def watched(*arguments, **options):
            returned.clear()
            result = two_updates(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(two_updates if isinstance(two_updates, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"two_updates returned None{why_none(two_updates)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"two_updates returned None{why_none(two_updates)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("two_updates()"):
                raise AssertionError(f"Keep the parameters of two_updates: {error}") from None
            if returned:
                why = f"{why} (two_updates returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The second update starts from the updated weights.<br>A gradient belongs to the weights at which its loss was computed. A step changes the weights, so the next gradient needs a new forward pass, and you need not retain anything for it.",
    failure_message="Not yet: The second update starts from the updated weights.",
)
@guarded
def test_the_second_update_starts_from_the_first(two_updates):
    """The second update starts from the updated weights."""
    import torch

    net = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(net.weight)
    opt = torch.optim.SGD(net.parameters(), lr=0.25)
    one = torch.ones(1, 1)
    losses = two_updates(net, opt, one, 2 * one, 0 * one)
    weight = net.weight.item()
    assert abs(weight - 1.5) > 1e-5, (
        f"The weight is {weight} instead of 0.5:\nthis is what the sum of both gradients gives in the "
        "second step."
    )
    assert abs(weight - 0.5) < 1e-5, (
        f"The weight is {weight} instead of 0.5:\nthe second step needs the gradient of the second loss at "
        "the updated weights."
    )
    assert len(losses) == 2, f"You returned {len(losses)} losses instead of 2."
    for place, (seen, right) in enumerate(zip(losses, (4.0, 1.0)), start=1):
        assert abs(seen - right) < 1e-5, (
            f"Loss {place} is {seen} instead of {right}:\neach loss is computed right before its own update."
        )
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    try:
        two_updates(net, opt, torch.ones(4, 2), torch.ones(4, 1), torch.zeros(4, 1))
    except RuntimeError as error:
        reason = str(error).partition(":")[0]
        raise AssertionError(f"With a net of two layers, two_updates raised an error: {reason}") from None
