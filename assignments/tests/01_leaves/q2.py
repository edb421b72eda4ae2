import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 6
afterword = "A gradient belongs to one tensor: here to the tensor that the model received, after the cast and the reshape. Next trap: `backward()` adds to the `.grad` of every leaf that it reaches, including those you don't look at. `torch.autograd.grad` returns the gradients that you ask for and changes no leaf's `.grad`."


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
    def checked(input_gradient):
        if input_gradient is None:
            raise AssertionError("input_gradient is not defined: run the cell of q2 first.")
        returned = []

        @wraps(input_gradient)
        def watched(*arguments, **options):
            returned.clear()
            result = input_gradient(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(input_gradient if isinstance(input_gradient, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"input_gradient returned None{why_none(input_gradient)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"input_gradient returned None{why_none(input_gradient)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("input_gradient()"):
                raise AssertionError(f"Keep the parameters of input_gradient: {error}") from None
            if returned:
                why = f"{why} (input_gradient returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The gradient is that of x, and parameters are unchanged.<br>A gradient belongs to one tensor: here to the tensor that the model received, after the cast and the reshape. Next trap: <code>backward()</code> adds to the <code>.grad</code> of every leaf that it reaches, including those you don't look at. <code>torch.autograd.grad</code> returns the gradients that you ask for and changes no leaf's <code>.grad</code>.",
    failure_message="Not yet: The gradient is that of x, and parameters are unchanged.",
)
@guarded
def test_gradient_of_the_cast_input(input_gradient):
    """The gradient is that of x, and parameters are unchanged."""
    import torch

    model = torch.nn.Linear(3, 1)
    gradient = input_gradient(model, torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    assert gradient is not None, (
        "You returned None: an operation produced the tensor whose .grad you read, so it is not a leaf,\n"
        "and backward() fills the .grad of a non-leaf only after retain_grad()."
    )
    kind = f"{gradient.dtype} of shape {tuple(gradient.shape)}"
    assert kind == "torch.float32 of shape (1, 3)", (
        f"The gradient is {kind} instead of torch.float32 of shape (1, 3):\n"
        "a gradient has the dtype and shape of its tensor, so this one belongs to another tensor."
    )
    assert torch.allclose(gradient, model.weight), (
        "For a linear layer the gradient equals its weight, but yours does not."
    )

    model = torch.nn.Linear(3, 1)
    model.weight.grad = torch.ones(1, 3)
    input_gradient(model, torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    assert model.bias.grad is None, (
        f"bias.grad was None and is now {model.bias.grad.item():g}: your backward pass also reached the bias."
    )
    seen = model.weight.grad
    assert seen is not None, "weight.grad was 1, 1, 1 and is now None: the caller's gradients are lost."
    assert torch.equal(seen, torch.ones(1, 3)), (
        f"weight.grad was 1, 1, 1 and is now {', '.join(f'{value:g}' for value in seen[0].tolist())}:\n"
        "your backward pass also reached the parameters and added to their .grad."
    )
