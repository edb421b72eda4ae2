import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q8"
points = 3
afterword = "`H v` takes two backward passes, however large `x` is. `H` itself would take one more for each entry of `x`. So many methods use only a few products."


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
    def checked(hvp):
        if hvp is None:
            raise AssertionError("hvp is not defined: run the cell of q8 first.")
        returned = []

        @wraps(hvp)
        def watched(*arguments, **options):
            returned.clear()
            result = hvp(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(hvp if isinstance(hvp, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"hvp returned None{why_none(hvp)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"hvp returned None{why_none(hvp)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("hvp()"):
                raise AssertionError(f"Keep the parameters of hvp: {error}") from None
            if returned:
                why = f"{why} (hvp returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The product is right.<br><code>H v</code> takes two backward passes, however large <code>x</code> is. <code>H</code> itself would take one more for each entry of <code>x</code>. So many methods use only a few products.",
    failure_message="Not yet: The product is right.",
)
@guarded
def test_the_product(hvp):
    """The product is right."""
    import torch

    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, -1.0])
    try:
        product = hvp(lambda t: t[0] ** 2 * t[1] + t[1] ** 3, x, v)
    except RuntimeError as error:
        raise AssertionError(
            f"hvp raised an error: {error}\nCheck whether autograd records the first gradient."
        ) from None
    seen = [round(value, 4) for value in product.tolist()]
    assert seen == [2.0, -10.0], (
        f"The product is {seen} instead of [2, -10]: H is [[4, 2], [2, 12]], and v is [1, -1]."
    )
    assert x.grad is None, f"x.grad was None before the call and is now {x.grad.tolist()}."
