from otter.test_files import test_case

OK_FORMAT = False

name = "q3"
points = 5


@test_case(
    success_message="After the call, gradients are recorded as before.",
    failure_message="Not yet: After the call, gradients are recorded as before.",
)
def test_gradients_are_still_recorded(evaluate):
    """After the call, gradients are recorded as before."""
    import torch

    evaluate(torch.nn.Linear(2, 1), [(torch.ones(3, 2), torch.ones(3, 1))])
    is_on = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    assert is_on, (
        "after evaluate() no gradient is recorded any more, in the whole program"
    )


@test_case(
    success_message="Dropout drops nothing while the loss is measured.",
    failure_message="Not yet: Dropout drops nothing while the loss is measured.",
)
def test_dropout_drops_nothing(evaluate):
    """Dropout drops nothing while the loss is measured."""
    import torch

    ones = torch.ones(8, 8)
    loss = evaluate(torch.nn.Dropout(0.9).train(), [(ones, ones)])
    torch.set_grad_enabled(True)
    assert loss == 0, (
        "dropout was on while the loss was measured"
    )


@test_case(
    success_message="A model that was in eval() mode is in eval() mode afterwards.",
    failure_message="Not yet: A model that was in eval() mode is in eval() mode afterwards.",
)
def test_a_model_in_eval_mode_stays_there(evaluate):
    """A model that was in eval() mode is in eval() mode afterwards."""
    import torch

    model = torch.nn.Linear(2, 1).eval()
    evaluate(model, [(torch.ones(3, 2), torch.ones(3, 1))])
    torch.set_grad_enabled(True)
    assert not model.training, (
        "the model was in eval() mode, and is in train() mode now"
    )
