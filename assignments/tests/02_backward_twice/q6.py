from otter.test_files import test_case

OK_FORMAT = False

name = "q6"
points = 5
afterword = "To an optimizer `None` means: nothing to do here. Zeros mean: go on with your momentum, and let the weights decay. The same question returns whenever a part of a model takes no part in a loss."


@test_case(
    success_message="In the third step, of task 0, the head of task 1 does not move.<br>To an optimizer <code>None</code> means: nothing to do here. Zeros mean: go on with your momentum, and let the weights decay. The same question returns whenever a part of a model takes no part in a loss.",
    failure_message="Not yet: In the third step, of task 0, the head of task 1 does not move.",
)
def test_the_other_head_stands_still(train_task):
    """In the third step, of task 0, the head of task 1 does not move."""
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
            f"the step on task {task} did not move its own head"
        )
    before = model.heads[1].weight.tolist()
    train_task(model, opt, 0, x, y)
    after = model.heads[1].weight.tolist()
    assert after == before, (
        f"a step on task 0 moved the weight of heads[1] from {before} to {after}"
    )
