import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q6"
points = 4
afterword = "Autograd must record every operation that computes your value. Next trap: sometimes you want a hidden write. `r = x.clone()` and then `r.detach().round_()` is a correct straight-through estimator, because there the gradient must ignore the rounding."


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
    def checked(clipped_energy):
        if clipped_energy is None:
            raise AssertionError("clipped_energy is not defined: run the cell of q6 first.")
        returned = []

        @wraps(clipped_energy)
        def watched(*arguments, **options):
            returned.clear()
            result = clipped_energy(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(clipped_energy if isinstance(clipped_energy, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"clipped_energy returned None{why_none(clipped_energy)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"clipped_energy returned None{why_none(clipped_energy)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("clipped_energy()"):
                raise AssertionError(f"Keep the parameters of clipped_energy: {error}") from None
            if returned:
                why = f"{why} (clipped_energy returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="A clipped entry adds nothing to the gradient.<br>Autograd must record every operation that computes your value. Next trap: sometimes you want a hidden write. <code>r = x.clone()</code> and then <code>r.detach().round_()</code> is a correct straight-through estimator, because there the gradient must ignore the rounding.",
    failure_message="Not yet: A clipped entry adds nothing to the gradient.",
)
@guarded
def test_a_clipped_entry_has_no_gradient(clipped_energy):
    """A clipped entry adds nothing to the gradient."""
    import torch

    x = torch.tensor([[3.0], [-2.0]])
    w = torch.tensor([[1.0]], requires_grad=True)
    loss = clipped_energy(x, w)
    assert loss.item() == 5, f"The energy is {loss.item()} instead of 1 + 4 = 5."
    assert loss.requires_grad, "The energy does not require grad: it is not connected to w."
    loss.backward()
    assert w.grad is not None, "w.grad is None: the energy is not connected to w."
    assert abs(w.grad.item() - 8) < 1e-5, (
        f"w.grad is {w.grad.item()} instead of 8. If w grows from 1 to 1.001, the energy grows from 5 to "
        "5.008.\nLook for an operation that autograd does not record."
    )
