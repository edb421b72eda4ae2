from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 6
afterword = "A checkpoint that sees the parameters of a block works for plain data, too. Next trap: a block runs a second time during backward, so batch norm counts every batch twice."


def guarded(test):
    """Say what came back from the answer where the test cannot go on with it."""

    @wraps(test)
    def checked(forward_ckpt):
        if forward_ckpt is None:
            raise AssertionError("forward_ckpt is not defined: run the cell of q5 first.")
        returned = []

        @wraps(forward_ckpt)
        def watched(*arguments, **options):
            returned.clear()
            result = forward_ckpt(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(forward_ckpt if isinstance(forward_ckpt, type) else watched)  # it says:
        except AssertionError as error:
            if returned == ["NoneType"]:
                raise AssertionError(f"forward_ckpt returned None: is a return missing?\n{error}") from None
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            if returned == ["NoneType"]:
                raise AssertionError(f"forward_ckpt returned None: is a return missing?") from None
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("forward_ckpt()"):
                raise AssertionError(f"Keep the parameters of forward_ckpt as they were: {error}") from None
            if returned:
                why = f"{why} (forward_ckpt returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="For an x that is plain data, every block gets a gradient.<br>A checkpoint that sees the parameters of a block works for plain data, too. Next trap: a block runs a second time during backward, so batch norm counts every batch twice.",
    failure_message="Not yet: For an x that is plain data, every block gets a gradient.",
)
@guarded
def test_the_blocks_get_a_gradient(forward_ckpt):
    """For an x that is plain data, every block gets a gradient."""
    import warnings

    import torch

    blocks = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = forward_ckpt(blocks, torch.ones(2, 3))
    assert out.requires_grad, "the result has no history: no block can get a gradient"
    out.sum().backward()
    for number, block in enumerate(blocks):
        assert block.weight.grad is not None, f"the weight of block {number} got no gradient"
