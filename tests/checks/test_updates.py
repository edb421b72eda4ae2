"""What updates records of an optimizer's steps, and what assert_updates tells where they are wrong."""

import pytest
from observing import look

from grader import assert_updates
from grader.checks.cases import cases_in_use, forget_cases

PROBE = """
model, xs = nn.Linear(2, 1), torch.randn(3, 4, 2) + 5
model.bias.grad = torch.ones(1)
opt = torch.optim.Adam(model.parameters(), lr=0.1)
with untouched(opt=opt) as kept, updates(opt, model=model) as made:
    failed = attempt(student.f, model, opt, xs)
return [failed, made, len(opt._optimizer_step_post_hooks)]
"""
TRAIN = """
for x in xs:
    opt.zero_grad()
    model(x).sum().backward()
    opt.step()
"""


@pytest.fixture(scope="module")
def made(zygote):
    """What a training does, whose statements are given."""

    def by(statements):
        body = "\n    ".join(statements.strip().splitlines())
        return look(zygote, ["import torch", f"def f(model, opt, xs):\n    {body}"], f=PROBE)["f"]

    return by


def test_what_is_recorded(made):
    """Each step has the gradient it was given and where it led; no hook stays."""
    failed, told, hooks = made(TRAIN)
    assert (failed, hooks, len(told["steps"])) == (None, 0, 3)
    assert told["before"].value == (0.0, 0.0, 1.0)
    assert {step["gradient"].value[2] for step in told["steps"]} == {4.0}
    assert told["end"].value == told["steps"][2]["place"].value != told["steps"][1]["place"].value
    assert told["memory"]["step"].value == (3.0, 3.0)
    assert told["memory"]["momentum_buffer"] is None


def test_a_single_parameter_keeps_its_shape(made, zygote):
    """The gradient of one parameter is not made flat."""
    body = PROBE.replace("model=model", "weight=model.weight")
    cells = ["def f(model, opt, xs):\n    model(xs[0]).sum().backward()\n    opt.step()"]
    assert look(zygote, cells, f=body)["f"][1]["steps"][0]["gradient"].shape == (1, 2)


def test_a_missing_gradient_is_told_by_its_first_name(zygote):
    """A parameter that is given twice is one parameter, and the first name is the one a student knows."""
    body = PROBE.replace("model=model)", "model=model, again=[model.weight])")
    cells = ["def f(model, opt, xs):\n    opt.step()"]
    assert look(zygote, cells, f=body)["f"][1]["steps"][0]["missing"] == ["model.weight"]


def test_a_training_that_stops_is_told_as_far_as_it_got(made):
    """An error in the block loses no step that was made before it."""
    failed, told, _ = made(TRAIN + "    raise ValueError")
    assert (failed.type, len(told["steps"])) == ("ValueError", 1)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("opt.step()", "0 if x.equal(xs[2]) else opt.step()", "opt.step() was called 2 times; one call for"),
        ("opt.step()", "0", "opt.step() was never called; one call for each batch makes 3."),
        ("opt.zero_grad()", "model.weight.grad = None", "(it is what it should be, plus what stood in .grad"),
        (
            "opt.zero_grad()",
            "0 if x.equal(xs[1]) else opt.zero_grad()",
            "plus the gradient of batch 1).\n\nWhy?",
        ),
        ("sum()", "mean()", ".grad was not that of the loss this batch should have (it is 1/4 of what it"),
        ("opt.step()", "opt.param_groups[0]['lr'] = 1; opt.step()", "the groups or the state of opt"),
        (
            "opt.step()",
            "model.bias.grad = None; opt.step()",
            "opt made its step, model.bias.grad was None: no loss that went back is connected to it, or",
        ),
    ],
)
def test_what_is_told(made, before, after, message):
    """A step too few, a wrong gradient and a parameter that was moved by hand are told as such."""
    assert_updates(made(TRAIN)[1], made(TRAIN)[1], each="batch", hint="Why?")
    with pytest.raises(AssertionError) as caught:
        assert_updates(made(TRAIN.replace(before, after))[1], made(TRAIN)[1], each="batch", hint="Why?")
    assert message in str(caught.value)
    assert ("Why?" in str(caught.value)) == ("grad" in message)  # the hint asks about gradients


@pytest.mark.parametrize(("number", "name"), [(1, ""), (3, "Batch 1")])
def test_a_single_step_needs_no_number(made, number, name):
    """Where one step is expected, no number stands before what is told of it."""
    sides = (made(of)[1] for of in (TRAIN.replace("opt.zero_grad()", "0"), TRAIN))
    seen, expected = ({**side, "steps": side["steps"][:number]} for side in sides)
    forget_cases()
    with pytest.raises(AssertionError):
        assert_updates(seen, expected, each="batch")
    assert [case.name for case in cases_in_use()] == [name]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("with torch.no_grad():\n    model.bias += 1", "After the last step of opt you changed parameters."),
        ("opt.state[model.bias]['exp_avg'].zero_()", "After the last step of opt you changed what opt rem"),
    ],
)
def test_what_is_told_of_the_end(made, more, message):
    """What happens after the last step is told, too."""
    with pytest.raises(AssertionError, match=message):
        assert_updates(made(TRAIN + more)[1], made(TRAIN)[1])


@pytest.fixture(scope="module")
def of_a_start(zygote):
    """What a training does to a parameter that only its first batch should teach, whose code is given."""
    body = PROBE.replace("updates(opt, model=model)", "updates(opt, start=model.bias)").replace("Adam", "SGD")

    def by(start, batches=3):
        cell = f"""def f(model, opt, xs):
    for x in xs[:{batches}]:
        opt.zero_grad()
        ((x @ model.weight.T) + ({start})).sum().backward()
        opt.step()"""
        return look(zygote, ["import torch", cell], f=body)["f"][1]

    return by


ONLY_FIRST = "model.bias if x.equal(xs[0]) else 0"


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("0", "When opt made its step, start.grad was None: no loss .* before the step.\n\nWhy"),
        ("2 * (" + ONLY_FIRST + ")", "start.grad was not that of .* 2 times what it should be"),
        (
            "model.bias",
            "start.grad was filled: the loss of this batch reached start, or an older gradient was not",
        ),
    ],
)
def test_what_is_told_of_one_tensor(of_a_start, start, message):
    """It is called by its name, and told where it should not learn."""
    with pytest.raises(AssertionError, match=message):
        assert_updates(of_a_start(start), of_a_start(ONLY_FIRST), each="batch", of="start", hint="Why?")


def test_one_tensor_may_have_a_gradient_of_zero_for_none(of_a_start):
    """What is no gradient to one answer is zeros to another; that steps are missing is not asked of it."""
    right, zeros = of_a_start(ONLY_FIRST), of_a_start(f"({ONLY_FIRST}) + 0 * model.bias", batches=2)
    assert right["steps"][1]["gradient"] is None
    assert zeros["steps"][1]["gradient"].value == (0.0,)
    assert_updates(zeros, right, of="start")
