import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q6"
points = 5
afterword = "Autograd does not record the update, and the old gradient is cleared before the next `backward()`. `optimizer.step()` and `optimizer.zero_grad()` do exactly this."


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
    def checked(fit_by_hand):
        if fit_by_hand is None:
            raise AssertionError("fit_by_hand is not defined: run the cell of q6 first.")
        returned = []

        @wraps(fit_by_hand)
        def watched(*arguments, **options):
            returned.clear()
            result = fit_by_hand(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(fit_by_hand if isinstance(fit_by_hand, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"fit_by_hand returned None{why_none(fit_by_hand)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"fit_by_hand returned None{why_none(fit_by_hand)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("fit_by_hand()"):
                raise AssertionError(f"Keep the parameters of fit_by_hand: {error}") from None
            if returned:
                why = f"{why} (fit_by_hand returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The caller's `w` moves; the losses are right.<br>Autograd does not record the update, and the old gradient is cleared before the next <code>backward()</code>. <code>optimizer.step()</code> and <code>optimizer.zero_grad()</code> do exactly this.",
    failure_message="Not yet: The caller's `w` moves; the losses are right.",
)
@guarded
def test_one_step_moves_the_caller_s_w(fit_by_hand):
    """The caller's `w` moves; the losses are right."""
    import torch

    w = torch.zeros(1, 1, requires_grad=True)
    fit_by_hand(w, torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0], [4.0]]), 0.1, 1)
    assert w.is_leaf, "The caller's w is no longer a leaf."
    assert w.item() != 0, "The caller's w is unchanged: write the update to this tensor."
    assert abs(w.item() - 1) < 1e-5, f"After one step, the caller's w is {w.item()} instead of 1.0."
    w = torch.zeros(1, 1, requires_grad=True)
    try:
        losses = fit_by_hand(w, torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0], [4.0]]), 0.02, 3)
    except (AttributeError, RuntimeError, TypeError) as error:
        message = f"Three steps raised an error: {error}\nCheck whether w is still a leaf in the second step."
        raise AssertionError(message) from None
    assert isinstance(losses, list), f"The result is a {type(losses).__name__} instead of a list."
    assert len(losses) == 3, f"The list has {len(losses)} losses instead of 3."
    for seen, expected in zip(losses, (10.0, 8.1, 6.561)):
        message = (
            f"The losses are {losses} instead of 10, 8.1 and 6.561:\neach step must use only its own "
            "gradient."
        )
        assert abs(seen - expected) < 1e-4, message
