import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5
afterword = "`no_grad()` stops the recording and not the counting, so the backward of an earlier loss raises an error. `w.data.fill_(value)` gives the same `w`, but then that backward silently computes a wrong gradient."


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
    def checked(reinit_):
        if reinit_ is None:
            raise AssertionError("reinit_ is not defined: run the cell of q1 first.")
        returned = []

        @wraps(reinit_)
        def watched(*arguments, **options):
            returned.clear()
            result = reinit_(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(reinit_ if isinstance(reinit_, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"reinit_ returned None{why_none(reinit_)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"reinit_ returned None{why_none(reinit_)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("reinit_()"):
                raise AssertionError(f"Keep the parameters of reinit_: {error}") from None
            if returned:
                why = f"{why} (reinit_ returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="`w` is filled and still the same leaf.<br><code>no_grad()</code> stops the recording and not the counting, so the backward of an earlier loss raises an error. <code>w.data.fill_(value)</code> gives the same <code>w</code>, but then that backward silently computes a wrong gradient.",
    failure_message="Not yet: `w` is filled and still the same leaf.",
)
@guarded
def test_w_holds_the_new_value(reinit_):
    """`w` is filled and still the same leaf."""
    import torch

    w = torch.tensor([10.0, 5.0, 2.0, 3.0], requires_grad=True)
    try:
        result = reinit_(w, 7.0)
    except RuntimeError as error:
        raise AssertionError(f"reinit_ raised an error: {error}") from None
    assert w.tolist() == [7.0, 7.0, 7.0, 7.0], f"The caller's w holds {w.tolist()} instead of 7 everywhere."
    assert result is w, (
        "reinit_ returned a new object instead of w: an optimizer that holds w would never see it."
    )
    assert w.is_leaf, "w is no longer a leaf, so backward() would leave its .grad at None."
    assert w.requires_grad, "w no longer requires grad, so it would never be trained again."
