import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 5
afterword = "Both switches are states: restore them to what they were, not to what they usually are. Next trap: an error skips the lines after it, but never a `finally` or the end of a `with` block."


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
    def checked(evaluate):
        if evaluate is None:
            raise AssertionError("evaluate is not defined: run the cell of q3 first.")
        returned = []

        @wraps(evaluate)
        def watched(*arguments, **options):
            returned.clear()
            result = evaluate(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(evaluate if isinstance(evaluate, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"evaluate returned None{why_none(evaluate)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"evaluate returned None{why_none(evaluate)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("evaluate()"):
                raise AssertionError(f"Keep the parameters of evaluate: {error}") from None
            if returned:
                why = f"{why} (evaluate returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="`evaluate` restores the modes.<br>Both switches are states: restore them to what they were, not to what they usually are. Next trap: an error skips the lines after it, but never a <code>finally</code> or the end of a <code>with</code> block.",
    failure_message="Not yet: `evaluate` restores the modes.",
)
@guarded
def test_the_switches_stand_as_before(evaluate):
    """`evaluate` restores the modes."""
    import torch

    ones = torch.ones(8, 8)
    training, in_use = torch.nn.Dropout(0.9).train(), torch.nn.Linear(8, 8).eval()
    loss = evaluate(training, [(ones, ones)])
    is_on = torch.is_grad_enabled()
    evaluate(in_use, [(ones, ones)])
    torch.set_grad_enabled(True)
    assert is_on, "After evaluate(), gradients are disabled for the rest of the program."
    assert loss == 0, "The loss is not 0: check that dropout is off while you compute it."
    assert training.training, "The model was in train() mode before the call and is now in eval() mode."
    assert not in_use.training, "The model was in eval() mode before the call and is now in train() mode."
