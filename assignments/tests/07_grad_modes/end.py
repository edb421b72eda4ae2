from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "end"
points = 0
afterword = "The features were inference tensors, and no layer of the head can save such a tensor for backward. `eval()` stayed switched on after the first evaluation. And the thawed backbone was in no group of the optimizer."


def guarded(test):
    """Say what came back from the answer where the test cannot go on with it."""

    @wraps(test)
    def checked(fine_tune):
        if fine_tune is None:
            raise AssertionError("fine_tune is not defined: run the cell of end first.")
        returned = []

        @wraps(fine_tune)
        def watched(*arguments, **options):
            returned.clear()
            result = fine_tune(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(fine_tune if isinstance(fine_tune, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"fine_tune returned None: is a return missing?\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"fine_tune returned None: is a return missing?") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("fine_tune()"):
                raise AssertionError(f"Keep the parameters of fine_tune as they were: {error}") from None
            if returned:
                why = f"{why} (fine_tune returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Both stages run, the head is in train() mode in every step, and the second stage moves the backbone.<br>The features were inference tensors, and no layer of the head can save such a tensor for backward. <code>eval()</code> stayed switched on after the first evaluation. And the thawed backbone was in no group of the optimizer.",
    failure_message="Not yet: Both stages run, the head is in train() mode in every step, and the second stage moves the backbone.",
)
@guarded
def test_both_stages_train(fine_tune):
    """Both stages run, the head is in train() mode in every step, and the second stage moves the backbone."""
    import torch

    backbone, head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    pairs, held_out = [(torch.ones(4, 2), torch.ones(4, 1))], [(torch.ones(5, 2), torch.ones(5, 1))]
    before, modes = backbone.weight.tolist(), []
    head.register_forward_pre_hook(lambda head, args: modes.append((len(args[0]), head.training)))
    try:
        history = fine_tune(backbone, head, pairs, held_out, 2, 0.01)
    except RuntimeError as error:
        raise AssertionError(f"the training stops; torch says: {error}") from None
    assert len(history) == 4, f"two stages of two epochs give {len(history)} losses"
    steps = [training for rows, training in modes if rows == 4]
    assert all(steps), f"in step {steps.index(False) + 1} the head learned in eval() mode: dropout was off"
    assert backbone.weight.tolist() != before, "the backbone ends with the weight it came with"
