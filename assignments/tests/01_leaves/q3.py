import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 5
afterword = "The gradient of `o` is 1: every backward pass begins there. Autograd computed all six gradients before you changed anything; you only asked for them in time. Next trap: `retain_grad()` keeps a gradient but doesn't make a leaf. An optimizer that is given such a tensor will not train the leaves it was computed from."


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
    def checked(all_grads):
        if all_grads is None:
            raise AssertionError("all_grads is not defined: run the cell of q3 first.")
        returned = []

        @wraps(all_grads)
        def watched(*arguments, **options):
            returned.clear()
            result = all_grads(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(all_grads if isinstance(all_grads, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"all_grads returned None{why_none(all_grads)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"all_grads returned None{why_none(all_grads)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("all_grads()"):
                raise AssertionError(f"Keep the parameters of all_grads: {error}") from None
            if returned:
                why = f"{why} (all_grads returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="All six gradients are returned and correct.<br>The gradient of <code>o</code> is 1: every backward pass begins there. Autograd computed all six gradients before you changed anything; you only asked for them in time. Next trap: <code>retain_grad()</code> keeps a gradient but doesn't make a leaf. An optimizer that is given such a tensor will not train the leaves it was computed from.",
    failure_message="Not yet: All six gradients are returned and correct.",
)
@guarded
def test_six_gradients(all_grads):
    """All six gradients are returned and correct."""
    import torch

    a, b, d = (torch.tensor(values, requires_grad=True) for values in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]))
    gradients = all_grads(a, b, d)
    for name, expected in (("c", [5.0, 6.0]), ("e", [1.0, 1.0]), ("o", 1.0)):
        seen = gradients.get(name)
        assert seen is not None, (
            f"The gradient of {name} is None: {name} is not a leaf,\n"
            "and autograd keeps its gradient only if you ask for that before backward() runs."
        )
        assert seen.tolist() == expected, f"The gradient of {name} is {seen.tolist()} instead of {expected}."
    for name, expected in (("a", [5.0, 6.0]), ("b", [5.0, 6.0]), ("d", [4.0, 6.0])):
        seen = gradients.get(name)
        assert seen is not None, f"The gradient of {name} is None: o is no longer connected to {name}."
        assert seen.tolist() == expected, (
            f"The gradient of {name} is {seen.tolist()} instead of {expected}.\n"
            "If it is a multiple, several backward passes were added up."
        )
