from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 5
afterword = "Softmax needs its output until backward has run. The same holds for sigmoid, tanh, exp and relu. Next trap: a chain such as `scores.softmax(-1).masked_fill_(drop, 0.0)`. It looks as if it made a new tensor."


def guarded(test):
    """Say what came back from the answer where the test cannot go on with it."""

    @wraps(test)
    def checked(drop_attention):
        if drop_attention is None:
            raise AssertionError("drop_attention is not defined: run the cell of q5 first.")
        returned = []

        @wraps(drop_attention)
        def watched(*arguments, **options):
            returned.clear()
            result = drop_attention(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(drop_attention if isinstance(drop_attention, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"drop_attention returned None: is a return missing?\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"drop_attention returned None: is a return missing?") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("drop_attention()"):
                raise AssertionError(f"Keep the parameters of drop_attention as they were: {error}") from None
            if returned:
                why = f"{why} (drop_attention returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The dropped weight is 0, the others stay a third, and backward reaches all scores.<br>Softmax needs its output until backward has run. The same holds for sigmoid, tanh, exp and relu. Next trap: a chain such as <code>scores.softmax(-1).masked_fill_(drop, 0.0)</code>. It looks as if it made a new tensor.",
    failure_message="Not yet: The dropped weight is 0, the others stay a third, and backward reaches all scores.",
)
@guarded
def test_one_of_three_weights_is_dropped(drop_attention):
    """The dropped weight is 0, the others stay a third, and backward reaches all scores."""
    import torch

    weights = drop_attention(torch.zeros(1, 3), torch.tensor([[True, False, False]]))[0].tolist()
    assert weights[0] == 0, f"the dropped weight is {weights[0]}"
    assert abs(weights[1] - 1 / 3) < 1e-5, (
        f"a weight that was not dropped was a third, and is {weights[1]:.4f}"
    )
    scores = torch.zeros(1, 3, requires_grad=True)
    try:
        drop_attention(scores, torch.tensor([[True, False, False]])).sum().backward()
    except RuntimeError as error:
        reason = str(error).partition(" Hint:")[0]
        raise AssertionError(f"drop_attention or its backward stopped; torch says: {reason}") from None
    assert scores.grad is not None, "scores.grad is None: the path back to the scores has been cut"
    seen = scores.grad[0, 0].item()
    assert abs(seen + 2 / 9) < 1e-5, (
        f"the dropped score gets the gradient {seen:.4f}, not -0.2222: with it the other weights would fall"
    )
