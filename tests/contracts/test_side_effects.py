"""Whatever a student's function changes in what it was given is seen, and told in a sentence."""

import pytest
from declaring import declared, facts

from grader import own
from grader.contracts.side_effects import changed_parts
from grader.inside import inside, nn, torch


@inside
class Held(nn.Module):
    """A module with tied parameters, a part in eval mode and a buffer of its own."""

    def __init__(self):
        super().__init__()
        self.body, self.tied = nn.Linear(3, 2), nn.Linear(3, 2, bias=False)
        self.tied.weight = self.body.weight
        self.norm = nn.BatchNorm1d(2).eval()
        self.register_buffer("shift", torch.ones(2), persistent=False)
        self.rate = 0.5


@inside
def a_model(*_):
    """A model of which a parameter has a hook and a gradient."""
    model = Held()
    model.body.weight.register_hook(lambda g: None)
    model.body.weight.grad = torch.ones(2, 3)
    return model


@inside
def a_leaf(*_):
    return torch.randn(3, 4, requires_grad=True)


@inside
def a_non_leaf(*_):
    return 2 * torch.randn(3, requires_grad=True)


@inside
def an_optimizer(setup, _):
    opt = torch.optim.SGD(setup["model"].parameters(), 0.1, momentum=0.9)
    opt.step()
    return opt


@inside
def some_batches(*_):
    return [(torch.randn(2, 3), torch.zeros(2)), {"more": [torch.ones(1)]}]


GIVEN = declared(
    "f",
    {
        "model": own(a_model),
        "w": own(a_leaf),
        "opt": own(an_optimizer),
        "batches": own(some_batches),
        "y": own(a_non_leaf),
    },
    returns="nothing",
    modes=["on"],
    sequences=["first"],
    dtypes=["float32"],
    sizes=["differ"],
    cover=[],
)
UNCHANGED = {"before": {}, "after": {}}


@pytest.fixture
def kept(zygote):
    """What is kept of the things that a function is given, by what it does."""

    def of(deed):
        body = "\n    ".join(deed.split("; "))
        (ordinary,) = facts(zygote, GIVEN, f"def f(model, w, opt, batches, y):\n    {body}")
        assert ordinary.get("raised") is None
        return ordinary.get("side_effects", UNCHANGED)

    return of


@pytest.fixture
def told(kept):
    """The sentences about what a function does to the things it is given."""
    return lambda deed: [*changed_parts(kept(deed)).values()]


CHANGED = {
    "w.data += 1": "The values of the caller's w were changed.",
    "w.data = w.data.clone()": "The caller's w has another storage now",
    "w.data = w.data.double()": "The caller's w was of torch.float32 and is of torch.float64 now.",
    "w.data = w.data.reshape(2, 6)": "The caller's w had the shape (3, 4) and has the shape (2, 6) now.",
    "w.detach().add_(0)": "of w: the version counter went from 0 to 1",
    "w.requires_grad_(False)": "is False now: it no longer gets a gradient.",
    "w.sum().backward()": "w.grad was None and is filled now",
    "w.register_hook(print)": "After your call, one of your hooks is still registered on the caller's w.",
    "w.register_post_accumulate_grad_hook(print)": "one of your hooks is still registered on the caller's w.",
    "w.note = 1": "The caller's w has a new attribute, note",
    "model.zero_grad()": "model.body.weight.grad was filled and is None now",
    "model.body.weight.grad += 1": "The values of model.body.weight.grad were changed",
    "model.body.weight._backward_hooks.clear()": "removed a hook of the caller's model.body.weight",
    "model.body.bias = None": "The caller's model.body.bias is None now.",
    "model.body.weight = nn.Parameter(model.body.weight.data)": "model.body.weight is another object now",
    "model.tied.weight = nn.Parameter(torch.ones(2, 3))": "model.tied.weight is another object now",
    "y.detach_()": "The caller's y is cut off from its graph: its grad_fn was MulBackward0 and is None now.",
    "model.train()": "The caller's model.norm was in eval mode and is in training mode now.",
    "model.eval()": "The caller's model was in training mode and is in eval mode now.",
    "model.norm.num_batches_tracked += 1": "The values of the caller's model.norm.num_batches_tracked",
    "model.shift.mul_(w.sum())": "has the grad_fn MulBackward0: it was changed in place while gradients were",
    "model.shift.mul_(2)": "The values of the caller's model.shift were changed.",
    "model.register_buffer('shift', model.shift)": "The state_dict of the caller's model has shift among",
    "model.rate = 0.25": "The caller's model.rate was 0.5 and is 0.25 now.",
    "model.forward = print": "The caller's model has a new attribute, forward",
    "model.norm.register_forward_hook(print)": "still registered on the caller's model.norm.",
    "del model.tied": "The caller's model.tied is gone.",
    "opt.param_groups[0]['lr'] = 1.0": "opt.param_groups[0]['lr'] was 0.1 and is 1.0 now.",
    "opt.param_groups[0]['params'].pop()": "opt.param_groups[0]['params'] was 4 and is 3 now.",
    "opt.param_groups[0]['params'].reverse()": "['params'] are in another order now.",
    "opt.state.clear()": "The number of entries of the caller's opt.state was 1 and is 0 now.",
    "opt.state[model.body.weight]['momentum_buffer'].zero_()": "[0]['momentum_buffer'] were changed.",
    "opt.register_step_post_hook(print)": "still registered on the caller's opt.",
    "batches.pop()": "The number of entries of the caller's batches was 2 and is 1 now.",
    "batches[0] = tuple(list(batches[0]))": "An entry of the caller's batches is another object now.",
    "batches[1]['more'][0] += 1": "The values of the caller's batches[1]['more'][0] were changed.",
    "batches[0][0].unsqueeze_(0)": "batches[0][0] had the shape (2, 3) and has the shape (1, 2, 3) now.",
    "torch.set_grad_enabled(False)": "Your function leaves gradients switched off",
    "torch.set_default_dtype(torch.float64)": "default dtype changed: it was torch.float32",
    "torch.set_flush_denormal(True)": "leaves flushing of denormal numbers changed",
    "torch.set_num_threads(2)": "number of threads changed for the whole program: it was 1 and is 2.",
    "torch.set_printoptions(precision=2)": "leaves the way in which torch prints tensors changed",
    "type(model).note = 1": "The caller's model has a new attribute, note of its class",
    "nn.modules.module.register_module_forward_hook(print)": "Your function leaves a global hook behind",
}


@pytest.mark.parametrize(("deed", "sentence"), CHANGED.items(), ids=CHANGED)
def test_a_change_is_told(told, deed, sentence):
    assert any(sentence in one for one in told(deed))


HARMLESS = {
    "nothing": "pass",
    "working on copies": "m = copy.deepcopy(model); m.zero_grad(); m.train(); m.shift.zero_()",
    "reading": "[p.grad for p in model.parameters()]; w.detach().sum(); list(opt.state.values())",
    "hooks that are removed": "h = w.register_hook(print); h.remove()",
    "modes that are put back": "model.train(False); model.train(); model.norm.eval()",
    "torch.autograd.grad": "torch.autograd.grad((w * 2).sum(), w)",
    "gradients put back": "g = model.body.weight.grad; model.zero_grad(); model.body.weight.grad = g.clone()",
}


@pytest.mark.parametrize("deed", HARMLESS.values(), ids=HARMLESS)
def test_what_leaves_everything_as_it_was_is_not_told(told, deed):
    assert told(deed) == []


def test_a_change_has_the_name_of_its_path_and_part(kept):
    """By these names a contract says what is up to the answer."""
    deed = "model.body.weight.grad += 1; model.norm.weight.data += 1; opt.param_groups[0]['lr'] = 1.0"
    names = {"model.body.weight:grad", "model.norm.weight:value", "opt.param_groups[0]['lr']:value"}
    assert changed_parts(kept(deed)).keys() == names


def test_an_object_with_a_second_path_is_still_the_same(kept):
    """Only the path that refers to another object now is reported, not the one that the object had."""
    assert kept("model.shift = model.norm.running_mean")["after"].keys() == {"model.shift"}


def test_only_what_changed_leaves_the_worker(kept):
    """A part of a model that stays as it is costs nothing."""
    found = kept("model.norm.train(); batches.pop()")
    gone = {"batches[1]", "batches[1]['more']", "batches[1]['more'][0]"}
    assert found["after"].keys() == found["before"].keys() == {"model.norm", "batches", *gone}
    assert {path for path, entry in found["after"].items() if entry == {"kind": "gone"}} == gone
