import ast
import inspect
import textwrap
from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 6
afterword = "`backward()` adds, and `torch.autograd.grad` answers. If you only want to know a gradient, ask for it. Next trap: a step of the optimizer between two backwards."


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
    def checked(task_grad_norms):
        if task_grad_norms is None:
            raise AssertionError("task_grad_norms is not defined: run the cell of q2 first.")
        returned = []

        @wraps(task_grad_norms)
        def watched(*arguments, **options):
            returned.clear()
            result = task_grad_norms(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(task_grad_norms if isinstance(task_grad_norms, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"task_grad_norms returned None{why_none(task_grad_norms)}\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"task_grad_norms returned None{why_none(task_grad_norms)}") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("task_grad_norms()"):
                raise AssertionError(f"Keep the parameters of task_grad_norms: {error}") from None
            if returned:
                why = f"{why} (task_grad_norms returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Each norm belongs to one loss, and .grad is unchanged.<br><code>backward()</code> adds, and <code>torch.autograd.grad</code> answers. If you only want to know a gradient, ask for it. Next trap: a step of the optimizer between two backwards.",
    failure_message="Not yet: Each norm belongs to one loss, and .grad is unchanged.",
)
@guarded
def test_each_loss_has_its_own_norm(task_grad_norms):
    """Each norm belongs to one loss, and .grad is unchanged."""
    import torch

    w, v = torch.tensor([3.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    shared = w**2
    losses = [shared.sum(), (shared * v).sum()]
    try:
        norms = task_grad_norms(losses, [w, v])
    except RuntimeError as error:
        reason = str(error).partition(" (")[0]
        raise AssertionError(f"task_grad_norms raised an error: {reason}") from None
    assert len(norms) == 2, f"You returned {len(norms)} numbers for 2 losses: each loss has one norm."
    for place, (seen, right) in enumerate(zip(norms, (6.0, 15.0))):
        assert abs(seen - right) < 1e-4, (
            f"The norm of losses[{place}] is {seen} instead of {right}:\nit must be the norm of the "
            "gradient of this loss only, over all parameters together."
        )
    w.grad, v.grad = torch.tensor([7.0]), None
    task_grad_norms([(w * v).sum()], [w, v])
    assert w.grad is not None, "w.grad was 7 before the call and is now None: the caller's gradient is lost."
    assert w.grad.item() == 7, (
        f"w.grad was 7 before the call and is now {w.grad.item()}: a measurement must not change it."
    )
    assert v.grad is None, (
        f"v.grad was None before the call and is now {v.grad}: a measurement must not fill it."
    )
