import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 6
afterword = "Each part of a state is detached by itself, and the original is unchanged. Next trap: `detach_()` and `.data` give the same values, and break a loss whose backward is still pending."


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
    def checked(repackage):
        if repackage is None:
            raise AssertionError("repackage is not defined: run the cell of q2 first.")
        returned = []

        @wraps(repackage)
        def watched(*arguments, **options):
            returned.clear()
            result = repackage(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(repackage if isinstance(repackage, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"repackage returned None{why_none(repackage)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"repackage returned None{why_none(repackage)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("repackage()"):
                raise AssertionError(f"Keep the parameters of repackage: {error}") from None
            if returned:
                why = f"{why} (repackage returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="An LSTM's state stays a tuple and loses its history.<br>Each part of a state is detached by itself, and the original is unchanged. Next trap: <code>detach_()</code> and <code>.data</code> give the same values, and break a loss whose backward is still pending.",
    failure_message="Not yet: An LSTM's state stays a tuple and loses its history.",
)
@guarded
def test_the_state_of_an_lstm(repackage):
    """An LSTM's state stays a tuple and loses its history."""
    import torch

    torch.manual_seed(0)
    state = torch.nn.LSTM(2, 3)(torch.randn(4, 1, 2))[1]
    try:
        result = repackage(state)
    except Exception as error:
        raise AssertionError(
            f"repackage((h, c)) raised an error: {error}\nThe state of an LSTM is a tuple of two tensors."
        ) from None
    assert type(result) is tuple, (
        f"For a tuple you returned a {type(result).__name__}: the structure must stay the same."
    )
    assert len(result) == 2, f"For a tuple of two tensors you returned {len(result)} entries."
    for name, before, after in zip("hc", state, result):
        assert torch.equal(before, after), f"The values of {name} have changed: only the history must go."
        assert after.grad_fn is None, (
            f"{name} still has a history: its grad_fn is {type(after.grad_fn).__name__}."
        )
    try:
        result = repackage(None)
    except Exception as error:
        raise AssertionError(
            f"repackage(None) raised an error: {error}\nBefore the first minibatch there is no state, only "
            "None."
        ) from None
    assert result is None, f"For None you returned a {type(result).__name__} instead of None."
