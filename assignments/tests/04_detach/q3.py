from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 7
afterword = "The same fakes are data for one loss and a result for the other, so you cut one use of the fakes, and not the fakes themselves. Next trap: the loss of `G` leaves gradients in `D`, too. `D` must not step with them."


def guarded(test):
    """Describe the returned value if the test cannot continue with it."""

    @wraps(test)
    def checked(gan_step):
        if gan_step is None:
            raise AssertionError("gan_step is not defined: run the cell of q3 first.")
        returned = []

        @wraps(gan_step)
        def watched(*arguments, **options):
            returned.clear()
            result = gan_step(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(gan_step if isinstance(gan_step, type) else watched)  # it says:
        except AssertionError as error:
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("gan_step()"):
                raise AssertionError(f"Keep the parameters of gan_step: {error}") from None
            if returned:
                why = f"{why} (gan_step returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The generator steps with the gradient of its own loss.<br>The same fakes are data for one loss and a result for the other, so you cut one use of the fakes, and not the fakes themselves. Next trap: the loss of <code>G</code> leaves gradients in <code>D</code>, too. <code>D</code> must not step with them.",
    failure_message="Not yet: The generator steps with the gradient of its own loss.",
)
@guarded
def test_the_generator_is_taught_by_its_own_loss(gan_step):
    """The generator steps with the gradient of its own loss."""
    import copy

    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    G, D = nn.Linear(2, 3), nn.Linear(3, 1)
    oG = torch.optim.SGD(G.parameters(), lr=1.0)
    oD = torch.optim.SGD(D.parameters(), lr=0.1)
    z, real, old = torch.randn(5, 2), torch.randn(4, 3), copy.deepcopy(G)
    try:
        gan_step(G, D, oG, oD, z, real)
    except RuntimeError as error:
        raise AssertionError(f"gan_step raised an error: {error}") from None
    F.softplus(-D(old(z))).mean().backward()  # the generator's loss, by the updated discriminator
    moved, own = (old.bias - G.bias).detach(), old.bias.grad
    assert torch.allclose(moved, own, atol=1e-5), (
        f"With lr=1 the generator's bias moved by {(-moved).tolist()},\nbut the gradient of its own loss "
        f"moves it by {(-own).tolist()}.\nPrint G's gradients right before oG.step()."
    )
