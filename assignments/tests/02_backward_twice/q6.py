from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q6"
points = 5
afterword = "An optimizer skips a parameter whose `.grad` is `None`. With a `.grad` of zeros it applies momentum and weight decay. The same question comes up whenever a loss does not use a part of the model."


def guarded(test):
    """Describe the returned value if the test cannot continue with it."""

    @wraps(test)
    def checked(train_task):
        if train_task is None:
            raise AssertionError("train_task is not defined: run the cell of q6 first.")
        returned = []

        @wraps(train_task)
        def watched(*arguments, **options):
            returned.clear()
            result = train_task(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(train_task if isinstance(train_task, type) else watched)  # it says:
        except AssertionError as error:
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("train_task()"):
                raise AssertionError(f"Keep the parameters of train_task: {error}") from None
            if returned:
                why = f"{why} (train_task returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="A step on task 0 leaves the head of task 1 unchanged.<br>An optimizer skips a parameter whose <code>.grad</code> is <code>None</code>. With a <code>.grad</code> of zeros it applies momentum and weight decay. The same question comes up whenever a loss does not use a part of the model.",
    failure_message="Not yet: A step on task 0 leaves the head of task 1 unchanged.",
)
@guarded
def test_the_other_head_stands_still(train_task):
    """A step on task 0 leaves the head of task 1 unchanged."""
    import torch

    model = torch.nn.Module()
    model.trunk = torch.nn.Linear(2, 2)
    model.heads = torch.nn.ModuleList([torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)])
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    x, y = torch.ones(3, 2), torch.full((3, 1), 5.0)
    for task in (0, 1):
        before = model.heads[task].weight.tolist()
        train_task(model, opt, task, x, y)
        assert model.heads[task].weight.tolist() != before, (
            f"The step on task {task} did not change the weight of its own head."
        )
    before = model.heads[1].weight.tolist()
    train_task(model, opt, 0, x, y)
    after = model.heads[1].weight.tolist()
    assert after == before, (
        f"A step on task 0 changed the weight of heads[1] from {before} to {after}.\nAn optimizer skips a "
        "parameter only if its .grad is None."
    )
