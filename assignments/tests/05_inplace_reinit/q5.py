from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 5
afterword = "Bookkeeping writes new values into existing tensors, and autograd does not record it. Next trap: `t.data = s.data` copies nothing, and from then on the teacher changes with every step of the student."


def guarded(test):
    """Describe the returned value if the test cannot continue with it."""

    @wraps(test)
    def checked(ema_update):
        if ema_update is None:
            raise AssertionError("ema_update is not defined: run the cell of q5 first.")
        returned = []

        @wraps(ema_update)
        def watched(*arguments, **options):
            returned.clear()
            result = ema_update(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(ema_update if isinstance(ema_update, type) else watched)  # it says:
        except AssertionError as error:
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("ema_update()"):
                raise AssertionError(f"Keep the parameters of ema_update: {error}") from None
            if returned:
                why = f"{why} (ema_update returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The teacher keeps its parameters and gets averages.<br>Bookkeeping writes new values into existing tensors, and autograd does not record it. Next trap: <code>t.data = s.data</code> copies nothing, and from then on the teacher changes with every step of the student.",
    failure_message="Not yet: The teacher keeps its parameters and gets averages.",
)
@guarded
def test_the_teacher_keeps_its_parameters(ema_update):
    """The teacher keeps its parameters and gets averages."""
    import torch

    teacher, student = torch.nn.Linear(2, 1).requires_grad_(False), torch.nn.Linear(2, 1)
    weight, bias = teacher.weight, teacher.bias
    ema_update(teacher, student, 0.25)
    assert teacher.weight.grad_fn is None, (
        "teacher.weight has a grad_fn: autograd must not record the update."
    )
    assert teacher.weight is weight, (
        "teacher.weight is a new object: write the new values into the old Parameter."
    )
    assert teacher.bias is bias, "teacher.bias is a new object: write the new values into the old Parameter."
    assert not teacher.weight.requires_grad, "teacher.weight requires grad now, but the teacher is frozen."
    torch.nn.init.zeros_(teacher.weight)
    torch.nn.init.ones_(student.weight)
    for expected in (0.25, 0.4375):
        ema_update(teacher, student, 0.25)
        seen = teacher.weight.flatten().tolist()
        message = f"From 0 towards 1 with tau = 0.25, the weights are {seen} instead of {expected}."
        assert all(abs(value - expected) < 1e-6 for value in seen), message
