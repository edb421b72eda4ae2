from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5
afterword = "A gradient can flow through a frozen layer: its parameters get no gradient, and the recorded operations lead on to the prompt. Next trap: gradients accumulate, so a `prompt.grad` that is left from the last step spoils the next one."


def guarded(test):
    """Describe the returned value if the test cannot continue with it."""

    @wraps(test)
    def checked(prompt_step):
        if prompt_step is None:
            raise AssertionError("prompt_step is not defined: run the cell of q1 first.")
        returned = []

        @wraps(prompt_step)
        def watched(*arguments, **options):
            returned.clear()
            result = prompt_step(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(prompt_step if isinstance(prompt_step, type) else watched)  # it says:
        except AssertionError as error:
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("prompt_step()"):
                raise AssertionError(f"Keep the parameters of prompt_step: {error}") from None
            if returned:
                why = f"{why} (prompt_step returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="A step changes the prompt, not the backbone.<br>A gradient can flow through a frozen layer: its parameters get no gradient, and the recorded operations lead on to the prompt. Next trap: gradients accumulate, so a <code>prompt.grad</code> that is left from the last step spoils the next one.",
    failure_message="Not yet: A step changes the prompt, not the backbone.",
)
@guarded
def test_only_the_prompt_is_trained(prompt_step):
    """A step changes the prompt, not the backbone."""
    import torch

    backbone = torch.nn.Linear(2, 1)
    prompt, x = torch.zeros(2, requires_grad=True), torch.ones(3, 2)
    before = backbone.weight.tolist()
    try:
        prompt_step(backbone, prompt, x, backbone(x).detach() + 1, 0.1)
    except RuntimeError as error:
        raise AssertionError(f"prompt_step raised an error: {error}") from None
    assert prompt.tolist() != [0.0, 0.0], "The prompt is unchanged after a step."
    assert backbone.weight.tolist() == before, (
        "The step changed the weight of the backbone, but only the prompt may be trained."
    )
    assert backbone.weight.grad is None, "backbone.weight.grad is filled, but must stay None."
