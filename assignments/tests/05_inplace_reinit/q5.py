from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 5


@test_case(
    success_message="The teacher holds the same Parameter objects, without grad_fn and still frozen.",
    failure_message="Not yet: The teacher holds the same Parameter objects, without grad_fn and still frozen.",
)
def test_the_teacher_keeps_its_parameters(ema_update):
    """The teacher holds the same Parameter objects, without grad_fn and still frozen."""
    import torch

    teacher, student = torch.nn.Linear(2, 1).requires_grad_(False), torch.nn.Linear(2, 1)
    weight, bias = teacher.weight, teacher.bias
    ema_update(teacher, student, 0.25)
    assert teacher.weight.grad_fn is None, (
        "teacher.weight has a grad_fn: the update was recorded as a graph"
    )
    assert teacher.weight is weight, (
        "teacher.weight is no longer the same Parameter object"
    )
    assert teacher.bias is bias, (
        "teacher.bias is no longer the same Parameter object"
    )
    assert not teacher.weight.requires_grad, (
        "teacher.weight requires grad now, but the teacher is frozen"
    )


@test_case(
    success_message="From 0 towards 1 with tau = 0.25: 0.25 after one update, 0.4375 after two.",
    failure_message="Not yet: From 0 towards 1 with tau = 0.25: 0.25 after one update, 0.4375 after two.",
)
def test_two_updates_give_the_moving_average(ema_update):
    """From 0 towards 1 with tau = 0.25: 0.25 after one update, 0.4375 after two."""
    import torch

    teacher, student = torch.nn.Linear(2, 1).requires_grad_(False), torch.nn.Linear(2, 1)
    torch.nn.init.zeros_(teacher.weight)
    torch.nn.init.ones_(student.weight)
    for expected in (0.25, 0.4375):
        ema_update(teacher, student, 0.25)
        seen = teacher.weight.flatten().tolist()
        assert all(abs(value - expected) < 1e-6 for value in seen), (
            f"weights {seen}, expected {expected}"
        )
