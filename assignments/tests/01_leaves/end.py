from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "end"
points = 0
afterword = "The three bugs: a multiplication had made the temperature, so it was no leaf. `torch.tensor` had made numbers of the losses, so no gradient came back. And the logits were not asked to keep theirs. The script ran without an error: torch does what you say, and cannot know what you meant."


def guarded(test):
    """Say what came back from the answer where the test cannot go on with it."""

    @wraps(test)
    def checked(train_with_temperature):
        if train_with_temperature is None:
            raise AssertionError("train_with_temperature is not defined: run the cell of end first.")
        returned = []

        @wraps(train_with_temperature)
        def watched(*arguments, **options):
            returned.clear()
            result = train_with_temperature(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(train_with_temperature if isinstance(train_with_temperature, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"train_with_temperature returned None: is a return missing?\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"train_with_temperature returned None: is a return missing?") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("train_with_temperature()"):
                raise AssertionError(f"Keep the parameters of train_with_temperature as they were: {error}") from None
            if returned:
                why = f"{why} (train_with_temperature returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Three steps train the model and the temperature, and the log has a gradient for each of them.<br>The three bugs: a multiplication had made the temperature, so it was no leaf. <code>torch.tensor</code> had made numbers of the losses, so no gradient came back. And the logits were not asked to keep theirs. The script ran without an error: torch does what you say, and cannot know what you meant.",
    failure_message="Not yet: Three steps train the model and the temperature, and the log has a gradient for each of them.",
)
@guarded
def test_three_steps(train_with_temperature):
    """Three steps train the model and the temperature, and the log has a gradient for each of them."""
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(2, 3)
    before = model.weight.detach().clone()
    try:
        temperature, log = train_with_temperature(
            model, torch.randn(5, 2), torch.tensor([0, 1, 2, 0, 1]), 3, 0.5
        )
    except (RuntimeError, ValueError) as error:
        reason = str(error).partition(" (or ")[0]
        raise AssertionError(f"The training stopped; torch says: {reason}") from None
    assert not torch.equal(model.weight, before), (
        "After three steps the weight of the model is what it was before."
    )
    assert temperature.item() != 1.5, "After three steps the temperature is still 1.5."
    assert temperature.is_leaf, (
        f"The temperature was made by {type(temperature.grad_fn).__name__}: it is no leaf."
    )
    none = [number for number, entry in enumerate(log, start=1) if entry["pull"] is None]
    assert not none, f"In the log, the gradient of the logits is None for these steps: {none}."
