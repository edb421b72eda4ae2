import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 5
afterword = "A forward hook receives the tensor of the graph itself, so what you ask of this tensor holds for the backward pass. Next trap: a layer that works in place. `nn.ReLU(inplace=True)` overwrites the output of the layer before it. If your hook has called `retain_grad()` on that output, its `.grad` is now the gradient with respect to the output of the ReLU. A hook that was registered before the write still gets the gradient with respect to the earlier value."


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
    def checked(activation_grads):
        if activation_grads is None:
            raise AssertionError("activation_grads is not defined: run the cell of q4 first.")
        returned = []

        @wraps(activation_grads)
        def watched(*arguments, **options):
            returned.clear()
            result = activation_grads(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(activation_grads if isinstance(activation_grads, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"activation_grads returned None{why_none(activation_grads)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"activation_grads returned None{why_none(activation_grads)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("activation_grads()"):
                raise AssertionError(f"Keep the parameters of activation_grads: {error}") from None
            if returned:
                why = f"{why} (activation_grads returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Gradients of layer outputs are right; hooks are removed.<br>A forward hook receives the tensor of the graph itself, so what you ask of this tensor holds for the backward pass. Next trap: a layer that works in place. <code>nn.ReLU(inplace=True)</code> overwrites the output of the layer before it. If your hook has called <code>retain_grad()</code> on that output, its <code>.grad</code> is now the gradient with respect to the output of the ReLU. A hook that was registered before the write still gets the gradient with respect to the earlier value.",
    failure_message="Not yet: Gradients of layer outputs are right; hooks are removed.",
)
@guarded
def test_gradients_of_the_outputs(activation_grads):
    """Gradients of layer outputs are right; hooks are removed."""
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.bend, self.outer = torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)

        def forward(self, x):
            return self.outer(30 * self.bend(self.inner(x)))

    model, x = Model(), torch.randn(2, 3)
    seen = activation_grads(model, x, ["inner", "bend"])

    first = model.inner(x)
    second = model.bend(first)
    expected = torch.autograd.grad(model.outer(30 * second).sum(), [first, second])
    for name, gradient in zip(["inner", "bend"], expected, strict=True):
        assert seen.get(name) is not None, (
            f"There is no gradient for layer {name}: the tensor you kept is not part of the graph,\n"
            "but a detached tensor or a copy."
        )
        assert seen[name].shape == gradient.shape and torch.allclose(seen[name], gradient), (
            f"The gradient of layer {name} is not the gradient with respect to its output.\n"
            "Is it that of the layer's input or weight, or did you skip a part of the model's forward()?"
        )
    tables = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
    left = sum(len(getattr(module, table)) for module in model.modules() for table in tables)
    assert left == 0, f"{left} of your hooks are still in the model, so every later forward calls them."
