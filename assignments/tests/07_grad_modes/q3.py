from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 5
afterword = "Both switches are states: set them back to what they were, not to what they usually are. Next trap: an error skips the lines behind it, but never a `finally` or the end of a `with` block."


def guarded(test):
    """Say what came back from the answer where the test cannot go on with it."""

    @wraps(test)
    def checked(evaluate):
        if evaluate is None:
            raise AssertionError("evaluate is not defined: run the cell of q3 first.")
        returned = []

        @wraps(evaluate)
        def watched(*arguments, **options):
            returned.clear()
            result = evaluate(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(evaluate if isinstance(evaluate, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"evaluate returned None: is a return missing?\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"evaluate returned None: is a return missing?") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("evaluate()"):
                raise AssertionError(f"Keep the parameters of evaluate as they were: {error}") from None
            if returned:
                why = f"{why} (evaluate returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="Dropout drops nothing, and afterwards the grad mode and the mode of the model are what they were.<br>Both switches are states: set them back to what they were, not to what they usually are. Next trap: an error skips the lines behind it, but never a <code>finally</code> or the end of a <code>with</code> block.",
    failure_message="Not yet: Dropout drops nothing, and afterwards the grad mode and the mode of the model are what they were.",
)
@guarded
def test_the_switches_stand_as_before(evaluate):
    """Dropout drops nothing, and afterwards the grad mode and the mode of the model are what they were."""
    import torch

    ones = torch.ones(8, 8)
    training, in_use = torch.nn.Dropout(0.9).train(), torch.nn.Linear(8, 8).eval()
    loss = evaluate(training, [(ones, ones)])
    is_on = torch.is_grad_enabled()
    evaluate(in_use, [(ones, ones)])
    torch.set_grad_enabled(True)
    assert is_on, "after evaluate() no gradient is recorded any more, in the whole program"
    assert loss == 0, "dropout was on while the loss was measured"
    assert training.training, "the model was in train() mode, and is in eval() mode now"
    assert not in_use.training, "the model was in eval() mode, and is in train() mode now"
