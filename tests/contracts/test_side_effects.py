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
    "w.data += 1": "Your call changes the values of the caller's `w`.",
    "w.data = w.data.clone()": "After your call, the caller's `w` has another storage",
    "w.data = w.data.double()": (
        "Your call changes the dtype of the caller's `w` from torch.float32 to torch.float64."
    ),
    "w.data = w.data.reshape(2, 6)": "Your call changes the shape of the caller's `w` from (3, 4) to (2, 6).",
    "w.detach().add_(0)": "Your call writes to the caller's `w` (its `_version` was 0 and is now 1)",
    "w.requires_grad_(False)": "from True to False, so it no longer gets a gradient.",
    "w.sum().backward()": "`w.grad` was None before your call and is now a tensor",
    "w.register_hook(print)": "After your call, one of your hooks is still registered on the caller's `w`.",
    "w.register_post_accumulate_grad_hook(print)": (
        "one of your hooks is still registered on the caller's `w`."
    ),
    "w.note = 1": "Your call adds an attribute to the caller's `w`: `note`.",
    "model.zero_grad()": "`model.body.weight.grad` was a tensor before your call and is now None",
    "model.body.weight.grad += 1": "Your call changes the values of `model.body.weight.grad`",
    "model.body.weight._backward_hooks.clear()": (
        "removes a hook that the caller registered on `model.body.weight`."
    ),
    "model.body.bias = None": "The caller's `model.body.bias` is now None.",
    "model.body.weight = nn.Parameter(model.body.weight.data)": "`model.body.weight` is now another object",
    "model.tied.weight = nn.Parameter(torch.ones(2, 3))": "`model.tied.weight` is now another object",
    "y.detach_()": "its `grad_fn` was MulBackward0 and is now None.",
    "model.train()": "The caller's `model.norm` was in eval mode before your call and is now in train mode.",
    "model.eval()": "The caller's `model` was in train mode before your call and is now in eval mode.",
    "model.norm.num_batches_tracked += 1": (
        "Your call changes the values of the caller's `model.norm.num_batches_tracked`"
    ),
    "model.shift.mul_(w.sum())": "has the `grad_fn` MulBackward0: autograd recorded a write to it.",
    "model.shift.mul_(2)": "Your call changes the values of the caller's `model.shift`.",
    "model.register_buffer('shift', model.shift)": (
        "The `state_dict` of the caller's `model` now includes the buffer `shift`."
    ),
    "model.rate = 0.25": "The caller's `model.rate` was 0.5 and is now 0.25.",
    "model.forward = print": "Your call adds an attribute to the caller's `model`: `forward`.",
    "model.norm.register_forward_hook(print)": "still registered on the caller's `model.norm`.",
    "del model.tied": "the caller's `model.tied` no longer exists.",
    "opt.param_groups[0]['lr'] = 1.0": "`opt.param_groups[0]['lr']` was 0.1 and is now 1.0.",
    "opt.param_groups[0]['params'].pop()": (
        "`opt.param_groups[0]['params']` had 4 entries before your call and now has 3."
    ),
    "opt.param_groups[0]['params'].reverse()": (
        "Your call changes the order of the entries of the caller's `opt.param_groups[0]['params']`."
    ),
    "opt.state.clear()": "The caller's `opt.state` had 1 entry before your call and now has 0.",
    "opt.state[model.body.weight]['momentum_buffer'].zero_()": "[0]['momentum_buffer']`.",
    "opt.register_step_post_hook(print)": "still registered on the caller's `opt`.",
    "batches.pop()": "The caller's `batches` had 2 entries before your call and now has 1.",
    "batches[0] = tuple(list(batches[0]))": "Your call replaces an entry of the caller's `batches`.",
    "batches[1]['more'][0] += 1": "Your call changes the values of the caller's `batches[1]['more'][0]`.",
    "batches[0][0].unsqueeze_(0)": "the shape of the caller's `batches[0][0]` from (2, 3) to (1, 2, 3).",
    "torch.set_grad_enabled(False)": (
        "After your call, gradients are disabled for the rest of the program; before it, they"
    ),
    "torch.set_default_dtype(torch.float64)": "Your call changes the default dtype from torch.float32 to",
    "torch.set_flush_denormal(True)": (
        "Your call changes flushing of denormal numbers for the rest of the program"
    ),
    "torch.set_num_threads(2)": "number of threads for the rest of the program: it was 1 and is now 2.",
    "torch.set_printoptions(precision=2)": "Your call changes how torch prints tensors.",
    "type(model).note = 1": "to the caller's `model`: note of its class.",
    "nn.modules.module.register_module_forward_hook(print)": "Your function leaves a global hook",
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
