"""Whatever a student's function changes in what it was given is seen, and told in a sentence."""

import re

import pytest
from observing import look

from grader import assert_changed, assert_untouched, blaming_changes
from grader.checks.untouched import changes

GIVEN = """
class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.tied = nn.Linear(3, 2), nn.Linear(3, 2, bias=False)
        self.tied.weight = self.body.weight
        self.norm = nn.BatchNorm1d(2).eval()
        self.register_buffer("shift", torch.ones(2), persistent=False)
        self.rate = 0.5

model = Held()
model.body.weight.register_hook(lambda g: None)
model.body.weight.grad = torch.ones(2, 3)
opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
opt.step()
w = torch.randn(3, 4, requires_grad=True)
batches = [(torch.randn(2, 3), torch.zeros(2)), {"more": [torch.ones(1)]}]
with untouched(model=model, w=w, opt=opt, batches=batches) as kept:
    failed = attempt(student.f, model, w, opt, batches)
return {"failed": failed, "kept": kept}
"""


@pytest.fixture
def told(zygote):
    """The sentences about what a function does to the things it is given."""

    def sentences(deed, *but):
        body = "\n    ".join(deed.split("; "))
        cells = ["import copy, torch\nfrom torch import nn", f"def f(model, w, opt, batches):\n    {body}"]
        seen = look(zygote, cells, f=GIVEN)["f"]
        assert seen["failed"] is None
        return [found.sentence for found in changes(seen["kept"], ["*"], but)]

    return sentences


CHANGED = {
    "w.data += 1": "The values of the caller's w were changed.",
    "w.data = w.data.clone()": "The caller's w lies in other memory now",
    "w.data = w.data.double()": "The caller's w was of torch.float32 and is of torch.float64 now.",
    "w.data = w.data.reshape(2, 6)": "The caller's w had the shape (3, 4) and has the shape (2, 6) now.",
    "w.detach().add_(0)": "its version counter went from 0 to 1",
    "w.requires_grad_(False)": "is False now: no gradient arrives there any more.",
    "w.sum().backward()": "w.grad was None and is filled now",
    "w.register_hook(print)": "After your call a hook of yours is still registered on the caller's w.",
    "w.register_post_accumulate_grad_hook(print)": "a hook of yours is still registered on the caller's w.",
    "w.note = 1": "The caller's w has an attribute note now",
    "model.zero_grad()": "model.body.weight.grad was filled and is None now",
    "model.body.weight.grad += 1": "The values of model.body.weight.grad were changed",
    "model.body.weight._backward_hooks.clear()": "A hook on the caller's model.body.weight is gone",
    "model.body.bias = None": "The caller's model.body.bias is None now.",
    "model.body.weight = nn.Parameter(model.body.weight.data)": "model.body.weight is another object now",
    "model.tied.weight = nn.Parameter(torch.ones(2, 3))": "model.tied.weight is another object now",
    "model.train()": "The caller's model.norm was in eval mode and is in training mode now.",
    "model.eval()": "The caller's model was in training mode and is in eval mode now.",
    "model.norm.num_batches_tracked += 1": "The values of the caller's model.norm.num_batches_tracked",
    "model.shift.mul_(w.sum())": "has the grad_fn MulBackward0: it was changed in place while gradients were",
    "model.shift.mul_(2)": "The values of the caller's model.shift were changed.",
    "model.register_buffer('shift', model.shift)": "The state_dict of the caller's model has shift among",
    "model.rate = 0.25": "The caller's model.rate was 0.5 and is 0.25 now.",
    "model.forward = print": "The caller's model has an attribute forward now",
    "model.norm.register_forward_hook(print)": "still registered on the caller's model.norm.",
    "del model.tied": "The caller's model.tied is gone.",
    "opt.param_groups[0]['lr'] = 1.0": "opt.param_groups[0]['lr'] was 0.1 and is 1.0 now.",
    "opt.param_groups[0]['params'].pop()": "opt.param_groups[0]['params'] was 4 and is 3 now.",
    "opt.state.clear()": "The number of entries of the caller's opt.state was 1 and is 0 now.",
    "opt.state[model.body.weight]['momentum_buffer'].zero_()": "[0]['momentum_buffer'] were changed.",
    "opt.register_step_post_hook(print)": "still registered on the caller's opt.",
    "batches.pop()": "The number of entries of the caller's batches was 2 and is 1 now.",
    "batches[0] = tuple(list(batches[0]))": "An entry of the caller's batches is another object now.",
    "batches[1]['more'][0] += 1": "The values of the caller's batches[1]['more'][0] were changed.",
    "batches[0][0].unsqueeze_(0)": "batches[0][0] had the shape (2, 3) and has the shape (1, 2, 3) now.",
    "torch.set_grad_enabled(False)": "Your function leaves gradients switched off",
    "torch.set_default_dtype(torch.float64)": "default dtype changed: it was torch.float32",
    "nn.modules.module.register_module_forward_hook(print)": "Your function leaves a global hook behind",
}


@pytest.mark.parametrize(("deed", "sentence"), CHANGED.items(), ids=CHANGED)
def test_a_change_is_told(told, deed, sentence):
    """Each way to change what was given is told by a sentence that names the place and what happened."""
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
    """Who looks, copies, or puts back what was there is told nothing."""
    assert told(deed) == []


def test_what_may_change_is_not_told(told):
    """A path in `but` frees all below it, a path with a part that part only."""
    deed = "model.body.weight.grad += 1; model.norm.weight.data += 1; opt.param_groups[0]['lr'] = 1.0"
    assert len(told(deed)) == 3
    assert told(deed, "model", "opt") == []
    assert [*told(deed, "model.*:grad", "opt.param_groups")] == [
        "The values of the caller's model.norm.weight were changed."
    ]
    assert len(told(deed, "opt.state", "model:grad")) == 3


def test_only_a_part_is_looked_at_where_only_names_it(zygote):
    """With `only`, other parts of the same things are not told, and `but` takes away from it."""
    deed = "def f(model, w, opt, batches): model.body.weight.grad += 1; model.norm.train(); w.data += 1"
    kept = look(zygote, deed, f=GIVEN)["f"]["kept"]
    with pytest.raises(AssertionError, match=r"The values of model\.body\.weight\.grad were changed"):
        assert_untouched(kept, only=["model.*:grad"])
    assert_untouched(kept, only=["w", "model"], but=["model", "w:value"])


def test_only_what_was_named_and_what_changed_leaves_the_worker(zygote):
    """A part of a model that stays as it is costs nothing; what was named can be read, changed or not."""
    deed = "def f(model, w, opt, batches): model.norm.train(); batches.pop()"
    kept = look(zygote, deed, f=GIVEN)["f"]["kept"]
    gone = {"batches[1]", "batches[1]['more']", "batches[1]['more'][0]"}
    assert kept["after"].keys() == {"model.norm", "batches", *gone}
    assert kept["before"].keys() == {"torch", "model", "w", "opt", *kept["after"]}
    assert {path for path, entry in kept["after"].items() if entry == {"kind": "gone"}} == gone


def test_the_first_change_fails_a_check(zygote):
    """assert_untouched raises what changed first, and nothing where nothing did."""
    kept = look(zygote, "def f(model, w, opt, batches): w.data += 1", f=GIVEN)["f"]["kept"]
    with pytest.raises(AssertionError, match=r"^The values of the caller's w were changed\.$"):
        assert_untouched(kept)
    assert_untouched(kept, but=["w"])


def test_a_change_is_blamed_for_a_failure():
    """Where a check fails, what was changed is told instead; where nothing was, what the check found."""
    then = {"losses": {"kind": "container", "type": "list", "length": 3, "entries": [1, 2, 3]}}
    now = {"losses": {**then["losses"], "length": 2}}

    def told(after, **how):
        with (
            pytest.raises(AssertionError) as caught,
            blaming_changes({"before": then, "after": after}, **how),
        ):
            raise AssertionError("The sum is wrong.")
        return str(caught.value)

    assert told(now) == "The number of entries of the caller's losses was 3 and is 2 now."
    assert told(now, only=["losses:type"]) == told(now, but=["losses"]) == told(then) == "The sum is wrong."
    with blaming_changes({"before": then, "after": now}):
        pass


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("wieght", "untouched watched torch, w, and nothing like wieght"),
        ("model.fc:value", "nothing like model"),
        ("w:vlaue", "has parts such as value or grad, and no vlaue"),
        ("torch:grad mdoe", "and no grad mdoe"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(zygote, rule, words):
    """A misspelt name or part would let every change pass, or none."""
    code = "w = torch.ones(1)\nwith untouched(w=w) as kept:\n    student.f(w)\nreturn kept"
    kept = look(zygote, "def f(w): pass", f=code)["f"]
    for rules in ({"but": [rule]}, {"only": [rule]}):
        with pytest.raises(ValueError, match=re.escape(words)):
            assert_untouched(kept, **rules)
    assert_untouched(kept, but=["torch:grad mode", "w:value", "*:version", "torch"])


def test_a_hint_stands_behind_what_changed():
    """The case comes before the sentence, and the hint behind a blank line."""
    then = {"x": {"kind": "value", "value": 3}}
    kept = {"before": then, "after": {"x": {"kind": "value", "value": 4}}}
    with pytest.raises(AssertionError) as caught:
        assert_untouched(kept, case="In eval", hint="Who wrote it?")
    assert str(caught.value) == "In eval: The caller's x was 3 and is 4 now.\n\nWho wrote it?"


@pytest.mark.parametrize(
    ("deed", "changed"), [("w.data += 1", True), ("w.sum().backward()", False), ("pass", False)]
)
def test_what_has_to_change_is_asked_for(zygote, deed, changed):
    """A check that asks for a change fails where nothing of the kind happened, with its author's sentence."""
    cells = ["import copy, torch\nfrom torch import nn", f"def f(model, w, opt, batches):\n    {deed}"]
    kept = look(zygote, cells, f=GIVEN)["f"]["kept"]
    if changed:
        assert_changed(kept, "No.", only=["w:value"])
    else:
        with pytest.raises(AssertionError, match=r"^No\.$"):
            assert_changed(kept, "No.", only=["w:value"])
