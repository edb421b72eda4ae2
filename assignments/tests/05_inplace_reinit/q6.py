from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q6"
points = 5
afterword = "The recording is off for the update only, and the old gradient is gone before the next `backward()`. `optimizer.step()` and `optimizer.zero_grad()` do exactly this."


def guarded(test):
    """Say what came back from the answer where the test cannot go on with it."""

    @wraps(test)
    def checked(fit_by_hand):
        if fit_by_hand is None:
            raise AssertionError("fit_by_hand is not defined: run the cell of q6 first.")
        returned = []

        @wraps(fit_by_hand)
        def watched(*arguments, **options):
            returned.clear()
            result = fit_by_hand(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(fit_by_hand if isinstance(fit_by_hand, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"fit_by_hand returned None: is a return missing?\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"fit_by_hand returned None: is a return missing?") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("fit_by_hand()"):
                raise AssertionError(f"Keep the parameters of fit_by_hand as they were: {error}") from None
            if returned:
                why = f"{why} (fit_by_hand returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="One step moves the caller's w from 0 to 1, and three steps with lr = 0.02 return 10, 8.1 and 6.561.<br>The recording is off for the update only, and the old gradient is gone before the next <code>backward()</code>. <code>optimizer.step()</code> and <code>optimizer.zero_grad()</code> do exactly this.",
    failure_message="Not yet: One step moves the caller's w from 0 to 1, and three steps with lr = 0.02 return 10, 8.1 and 6.561.",
)
@guarded
def test_one_step_moves_the_caller_s_w(fit_by_hand):
    """One step moves the caller's w from 0 to 1, and three steps with lr = 0.02 return 10, 8.1 and 6.561."""
    import torch

    w = torch.zeros(1, 1, requires_grad=True)
    fit_by_hand(w, torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0], [4.0]]), 0.1, 1)
    assert w.is_leaf, "the caller's w is no longer a leaf"
    assert w.item() != 0, "the caller's w has not moved: did the update go into another tensor?"
    assert abs(w.item() - 1) < 1e-5, f"the caller's w is {w.item()} after one step, expected 1.0"
    w = torch.zeros(1, 1, requires_grad=True)
    try:
        losses = fit_by_hand(w, torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0], [4.0]]), 0.02, 3)
    except (AttributeError, RuntimeError, TypeError) as error:
        message = f"three steps did not run: is w still a leaf in the second one? The error was: {error}"
        raise AssertionError(message) from None
    assert isinstance(losses, list), f"a {type(losses).__name__} came back, expected a list"
    assert len(losses) == 3, f"{len(losses)} losses came back, expected 3"
    for seen, expected in zip(losses, (10.0, 8.1, 6.561)):
        message = f"the losses are {losses}, not 10, 8.1, 6.561: does each step use only its own gradient?"
        assert abs(seen - expected) < 1e-4, message
