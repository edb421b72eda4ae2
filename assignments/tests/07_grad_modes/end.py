import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "end"
points = 0
afterword = "The features were inference tensors, and no layer of the head can save such a tensor for backward. The modules stayed in `eval()` mode after the first evaluation. And the unfrozen backbone was in no group of the optimizer."


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
    def checked(fine_tune):
        if fine_tune is None:
            raise AssertionError("fine_tune is not defined: run the cell of end first.")
        returned = []

        @wraps(fine_tune)
        def watched(*arguments, **options):
            returned.clear()
            result = fine_tune(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(fine_tune if isinstance(fine_tune, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"fine_tune returned None{why_none(fine_tune)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"fine_tune returned None{why_none(fine_tune)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("fine_tune()"):
                raise AssertionError(f"Keep the parameters of fine_tune: {error}") from None
            if returned:
                why = f"{why} (fine_tune returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Both stages train the right parameters.<br>The features were inference tensors, and no layer of the head can save such a tensor for backward. The modules stayed in <code>eval()</code> mode after the first evaluation. And the unfrozen backbone was in no group of the optimizer.",
    failure_message="Not yet: Both stages train the right parameters.",
)
@guarded
def test_both_stages_train(fine_tune):
    """Both stages train the right parameters."""
    import torch

    backbone, head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    pairs, held_out = [(torch.ones(4, 2), torch.ones(4, 1))], [(torch.ones(5, 2), torch.ones(5, 1))]
    before, modes = backbone.weight.tolist(), []
    head.register_forward_pre_hook(lambda head, args: modes.append((len(args[0]), head.training)))
    try:
        history = fine_tune(backbone, head, pairs, held_out, 2, 0.01)
    except RuntimeError as error:
        raise AssertionError(f"Training raised an error: {error}") from None
    assert len(history) == 4, (
        f"For two stages of two epochs, you returned {len(history)} losses instead of 4."
    )
    steps = [training for rows, training in modes if rows == 4]
    assert all(steps), f"In step {steps.index(False) + 1}, the head was in eval() mode, so dropout was off."
    assert backbone.weight.tolist() != before, (
        "The weight of the backbone is unchanged: the second stage must train it, too."
    )
