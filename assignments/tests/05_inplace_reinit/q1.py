from otter.test_files import test_case

OK_FORMAT = False

name = "q1"
points = 5
afterword = "`no_grad()` stops the recording and not the counting, so a loss of the old values raises an error. `w.data.fill_(value)` gives the same `w`, and that loss gets a wrong gradient without a word."


@test_case(
    success_message="The caller's w holds the new value everywhere, and is still the same leaf that requires grad.<br><code>no_grad()</code> stops the recording and not the counting, so a loss of the old values raises an error. <code>w.data.fill_(value)</code> gives the same <code>w</code>, and that loss gets a wrong gradient without a word.",
    failure_message="Not yet: The caller's w holds the new value everywhere, and is still the same leaf that requires grad.",
)
def test_w_holds_the_new_value(reinit_):
    """The caller's w holds the new value everywhere, and is still the same leaf that requires grad."""
    import torch

    w = torch.tensor([10.0, 5.0, 2.0, 3.0], requires_grad=True)
    try:
        result = reinit_(w, 7.0)
    except RuntimeError as error:
        raise AssertionError(f"reinit_ could not write to w; torch says: {error}") from None
    assert w.tolist() == [7.0, 7.0, 7.0, 7.0], (
        f"the caller's w now holds {w.tolist()}, not 7 everywhere"
    )
    assert result is w, (
        "reinit_ returned another object: an optimizer that holds w would never see it"
    )
    assert w.is_leaf, (
        "w is no longer a leaf, so its .grad would stay None"
    )
    assert w.requires_grad, (
        "w no longer requires grad, so it would never be trained again"
    )
