import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "end"
points = 0
afterword = "The three bugs: a hook on `h` slows all gradients that reach `h`, not only that of `aux`. A slope that was computed without `create_graph=True` is a constant, so its penalty trains nothing. And a list of `.grad` holds the same tensor again and again, if the gradients are set to zero in place."


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
    def checked(train_two_heads):
        if train_two_heads is None:
            raise AssertionError("train_two_heads is not defined: run the cell of end first.")
        returned = []

        @wraps(train_two_heads)
        def watched(*arguments, **options):
            returned.clear()
            result = train_two_heads(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(train_two_heads if isinstance(train_two_heads, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"train_two_heads returned None{why_none(train_two_heads)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"train_two_heads returned None{why_none(train_two_heads)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("train_two_heads()"):
                raise AssertionError(f"Keep the parameters of train_two_heads: {error}") from None
            if returned:
                why = f"{why} (train_two_heads returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="`slow`, the penalty and the list are right.<br>The three bugs: a hook on <code>h</code> slows all gradients that reach <code>h</code>, not only that of <code>aux</code>. A slope that was computed without <code>create_graph=True</code> is a constant, so its penalty trains nothing. And a list of <code>.grad</code> holds the same tensor again and again, if the gradients are set to zero in place.",
    failure_message="Not yet: `slow`, the penalty and the list are right.",
)
@guarded
def test_two_heads(train_two_heads):
    """`slow`, the penalty and the list are right."""
    import torch

    def trained(epochs, slow, weight):
        layers = [torch.nn.Linear(1, 1, bias=False) for _ in range(3)]
        for layer in layers:
            torch.nn.init.ones_(layer.weight)
        X, Y, Z = torch.ones(1, 1), torch.zeros(1, 1), torch.zeros(1, 1)
        history = train_two_heads(*layers, X, Y, Z, epochs, 0.1, slow, weight)
        return [round(layer.weight.item(), 4) for layer in layers], [round(one.item(), 4) for one in history]

    (body, main, aux), _ = trained(epochs=1, slow=0.0, weight=0.0)
    assert body != 1.0, "With slow = 0 the body does not learn at all, not even for main."
    assert body == 0.8, (
        f"With slow = 0 the body learns for main only, but its weight becomes {body} instead of 0.8."
    )
    (body, main, aux), _ = trained(epochs=1, slow=1.0, weight=1.0)
    assert main != 0.8, "With weight = 1 the penalty has no effect: main is the same as with weight = 0."
    assert main == 0.6, f"With weight = 1 the weight of main becomes {main} instead of 0.6."
    _, history = trained(epochs=2, slow=1.0, weight=0.0)
    assert len(set(history)) == 2, (
        f"After two epochs the list is {history}, but the gradients of the epochs differ."
    )
    assert history == [2.0, 0.576], f"The gradients of two epochs are {history} instead of [2.0, 0.576]."
