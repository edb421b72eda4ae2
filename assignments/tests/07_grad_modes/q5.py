import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 6
afterword = "The newer checkpoint knows the parameters of a block, so it also works if `x` does not require grad. Next trap: a block runs a second time during backward, so batch norm counts every batch twice."


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
    def checked(forward_ckpt):
        if forward_ckpt is None:
            raise AssertionError("forward_ckpt is not defined: run the cell of q5 first.")
        returned = []

        @wraps(forward_ckpt)
        def watched(*arguments, **options):
            returned.clear()
            result = forward_ckpt(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(forward_ckpt if isinstance(forward_ckpt, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"forward_ckpt returned None{why_none(forward_ckpt)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"forward_ckpt returned None{why_none(forward_ckpt)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("forward_ckpt()"):
                raise AssertionError(f"Keep the parameters of forward_ckpt: {error}") from None
            if returned:
                why = f"{why} (forward_ckpt returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Every block gets a gradient.<br>The newer checkpoint knows the parameters of a block, so it also works if <code>x</code> does not require grad. Next trap: a block runs a second time during backward, so batch norm counts every batch twice.",
    failure_message="Not yet: Every block gets a gradient.",
)
@guarded
def test_the_blocks_get_a_gradient(forward_ckpt):
    """Every block gets a gradient."""
    import warnings

    import torch

    blocks = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = forward_ckpt(blocks, torch.ones(2, 3))
    assert out.requires_grad, "The result does not require grad, so no block can get a gradient."
    out.sum().backward()
    for number, block in enumerate(blocks):
        assert block.weight.grad is not None, f"The weight of block {number} got no gradient."
