from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 5
afterword = "Both switches are states: set them back to what they were, not to what they usually are. Next trap: an error skips the lines behind it, but never a `finally` or the end of a `with` block."


@test_case(
    success_message="Dropout drops nothing, and afterwards the grad mode and the mode of the model are what they were.<br>Both switches are states: set them back to what they were, not to what they usually are. Next trap: an error skips the lines behind it, but never a <code>finally</code> or the end of a <code>with</code> block.",
    failure_message="Not yet: Dropout drops nothing, and afterwards the grad mode and the mode of the model are what they were.",
)
def test_the_switches_stand_as_before(evaluate):
    """Dropout drops nothing, and afterwards the grad mode and the mode of the model are what they were."""
    import torch

    ones = torch.ones(8, 8)
    training, in_use = torch.nn.Dropout(0.9).train(), torch.nn.Linear(8, 8).eval()
    loss = evaluate(training, [(ones, ones)])
    is_on = torch.is_grad_enabled()
    evaluate(in_use, [(ones, ones)])
    torch.set_grad_enabled(True)
    assert is_on, (
        "after evaluate() no gradient is recorded any more, in the whole program"
    )
    assert loss == 0, (
        "dropout was on while the loss was measured"
    )
    assert training.training, (
        "the model was in train() mode, and is in eval() mode now"
    )
    assert not in_use.training, (
        "the model was in eval() mode, and is in train() mode now"
    )
