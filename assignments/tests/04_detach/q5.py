from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 5
afterword = "The target is a value without a history: gradients have one path only, through the prediction. Next trap: `q_target.eval()` looks like a cut, and cuts nothing. And frozen parameters are frozen in every loss that uses them."


def guarded(test):
    """Say what came back from the answer where the test cannot go on with it."""

    @wraps(test)
    def checked(td_loss):
        if td_loss is None:
            raise AssertionError("td_loss is not defined: run the cell of q5 first.")
        returned = []

        @wraps(td_loss)
        def watched(*arguments, **options):
            returned.clear()
            result = td_loss(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(td_loss if isinstance(td_loss, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"td_loss returned None: is a return missing?\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"td_loss returned None: is a return missing?") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("td_loss()"):
                raise AssertionError(f"Keep the parameters of td_loss as they were: {error}") from None
            if returned:
                why = f"{why} (td_loss returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The network q gets a gradient, q_target gets none, and the loss is the mean squared difference.<br>The target is a value without a history: gradients have one path only, through the prediction. Next trap: <code>q_target.eval()</code> looks like a cut, and cuts nothing. And frozen parameters are frozen in every loss that uses them.",
    failure_message="Not yet: The network q gets a gradient, q_target gets none, and the loss is the mean squared difference.",
)
@guarded
def test_only_the_prediction_is_taught(td_loss):
    """The network q gets a gradient, q_target gets none, and the loss is the mean squared difference."""
    import torch

    torch.manual_seed(0)
    q, q_target = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)
    s, s2, r, a = torch.randn(5, 3), torch.randn(5, 3), torch.randn(5), torch.tensor([0, 1, 2, 3, 0])
    loss = td_loss(q, q_target, s, a, r, s2, 0.9)
    assert loss.requires_grad, "the loss does not require grad: nothing can be taught by it"
    loss.backward()
    assert q.weight.grad is not None, "q got no gradient"
    assert q_target.weight.grad is None, "q_target got a gradient: the target is still connected to it"

    # predictions 1 and 4, targets 3.5 and 1
    q, q_target = torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        q.weight.copy_(torch.eye(2))  # q(s) is s
        q_target.weight.copy_(2 * torch.eye(2))  # q_target(s2) is 2 * s2
    s, a = torch.tensor([[1.0, 2.0], [4.0, 0.0]]), torch.tensor([0, 0])
    s2, r = torch.tensor([[3.0, 1.0], [0.0, 1.0]]), torch.tensor([0.5, 0.0])
    loss = td_loss(q, q_target, s, a, r, s2, 0.5)
    assert loss.shape == (), f"the loss has the shape {tuple(loss.shape)}, and should be a single number"
    assert abs(loss.item() - 7.625) < 1e-5, f"the loss is {loss.item()}, and (6.25 + 9) / 2 is 7.625"
