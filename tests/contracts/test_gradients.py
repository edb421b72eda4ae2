"""The words about gradients: what goes back is told rung by rung, from nothing at all to wrong numbers."""

import pytest
from observing import look
from test_check import tensor

from grader.contracts.finding import FailedCheckError
from grader.contracts.gradients import assert_gradients

TOLD = """
w1, w2 = torch.randn(3, 2, requires_grad=True), torch.randn(2, 4, requires_grad=True)
return gradients(student.f(w1, w2), w1=w1, w2=w2)
"""
RIGHT = "return ((w1 @ w2) ** 2).mean()"


@pytest.fixture(scope="module")
def tell(zygote):
    """What `gradients` tells of a function whose statements are given."""

    def of(statements, request=TOLD):
        body = "\n    ".join(statements.split("; "))
        return look(zygote, ["import torch", f"def f(w1, w2):\n    {body}"], f=request)["f"]

    return of


@pytest.fixture(scope="module")
def right(tell):
    return tell(RIGHT)


LADDER = {
    "return None": "The loss is None, so it has no gradients.",
    "return 1.0": "The loss is a float, not a tensor, so it has no gradients.",
    "return (w1 @ w2).detach().mean()": "The loss does not require grad: the "
    "autograd graph does not connect it to `w1` and `w2`.",
    "return ((w1 @ w2) ** 2).mean(1)": "The loss has shape (3,) instead of ().",
    "y = (w1 @ w2) ** 2; w1.data.add_(0); w1.detach().add_(1); return y.mean()": "`backward()` on the loss "
    "fails: a tensor that autograd had saved was overwritten.",
    "y = ((w1 @ w2) ** 2).mean(); y.backward(); return y": "`backward()` on the loss fails: an earlier "
    "backward pass freed saved tensors of its graph.",
    "y = (w1 @ w2).mean(); y.register_hook(lambda g: 1 / 0); return y": "`backward()` on the loss fails: ",
    "y = ((w1 @ w2) ** 2).mean(); a, b = torch.stack([y, y]).unbind(); b.detach().add_(1); return a": ""
    "`backward()` on the loss fails: code that uses the result, or an object that your call changed, raised "
    "RuntimeError: ",
    "w2.requires_grad_(False); return ((w1 @ w2) ** 2).mean()": "`w2` does not require grad, so the loss "
    "gives it no gradient.",
    "return ((w1.data @ w2.data) ** 2).mean().requires_grad_()": "`w1` and `w2` get no gradient "
    "from the loss: the graph does not connect them.",
    "return ((w1 @ w2.detach()) ** 2).mean()": "`w2` gets no gradient from the loss: the graph does not "
    "connect them.",
    "return ((w1 @ w2) ** 2).mean() + (0 * w1).sqrt().sum()": "The gradient of the loss with respect to `w1` "
    "is wrong (all 6 of its entries are nan or infinite).",
    "y = ((w1 @ w2) ** 2).mean(); return 3 * y - 2 * y.detach()": "The gradients of the loss with respect "
    "to `w1` and `w2` are wrong (each of them is 3 times what it should be).",
    "y = ((w1 @ w2) ** 2).mean(); return 0.37 * y + 0.63 * y.detach()": "The gradients of the loss with "
    "respect to `w1` and `w2` are wrong (each of them is too small by the same factor everywhere).",
    "return 3 * ((w1 @ w2) ** 2).mean()": "The value of the loss is wrong, and so are its gradients "
    "with respect to `w1` and `w2` (each of them is 3 times what it should be).",
    "w = w1.clone(); w.register_hook(lambda g: g / 2); return ((w @ w2) ** 2).mean()": "The gradient of "
    "the loss with respect to `w1` is wrong (it is 1/2 of what it should be).",
    "return ((w1 @ w2) ** 4).mean()": "The value of the loss is wrong, and so is its gradient with respect "
    "to `w1`.",
}


@pytest.mark.parametrize("statements", LADDER)
def test_each_rung_has_its_sentence(tell, right, statements):
    with pytest.raises(AssertionError) as caught:
        assert_gradients(tell(statements), right, of="the loss")
    assert str(caught.value).startswith(LADDER[statements])
    assert not str(caught.value).endswith("..")
    assert LADDER[statements].endswith(" ") or str(caught.value) == LADDER[statements]


@pytest.mark.parametrize(
    "statements",
    [
        RIGHT,
        "return torch.einsum('ij,jk->ik', w1, w2).square().mean()",
        "y = ((w1 @ w2) ** 2).mean(); y.backward(retain_graph=True); return y",
    ],
)
def test_what_is_right_passes(tell, right, statements):
    assert_gradients(tell(statements), right, of="the loss")


def test_by_backward_the_gradients_are_the_same(tell, right):
    """By backward, a reentrant checkpoint is answered too, and every .grad is what it was."""
    request = TOLD.replace("w2=w2)", "w2=w2, by='backward')").replace(
        "return ", "w1.grad = torch.ones(3, 2)\ntold = "
    )
    seen, *grads = tell(
        "from torch.utils.checkpoint import checkpoint; "
        "return checkpoint(lambda a, b: ((a @ b) ** 2).mean(), w1, w2, use_reentrant=True)",
        request + "return [told, w1.grad, w2.grad]",
    )
    assert_gradients(seen, right, of="the loss")
    assert grads[0].value == (1.0,) * 6
    assert grads[1] is None


def test_a_function_that_fails_is_told(tell, right):
    """What goes back may be a function; what it raises is told on a rung of its own."""
    seen = tell("return None", TOLD.replace("student.f(w1, w2)", "lambda: 2 * student.f(w1, w2)"))
    with pytest.raises(AssertionError, match=r"^The loss cannot be computed: .*TypeError"):
        assert_gradients(seen, right, of="the loss")


def test_names_of_modules_and_lists(tell):
    """A module stands for its parameters, a list for its items, and a dict for names that Python has not."""
    body = """
        model, given = nn.Linear(2, 1), [torch.ones(1, 2, requires_grad=True), torch.ones(2)]
        told = gradients(model(given[0]).sum(), {"the input": given[0]}, model=model, given=given)
        return told["frozen"], list(told["gradients"])
    """
    names = ["the input", "model.weight", "model.bias", "given[0]", "given[1]"]
    assert tell(RIGHT, body) == (["given[1]"], names)


BECAUSE = {
    "not connected": "Look.",
    "w2:wrong": lambda seen, right: f"{len(seen.value)} entries.",
    "multiple": lambda seen, right: f"As of each of {len(right.shape)} dimensions.",
    "wrong": "\n\nWhy?",
}
ONE_MORE = "w = w2.clone(); w.register_hook(lambda g: g + 1); return ((w1 @ w) ** 2).mean()"


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ("return ((w1.detach() @ w2) ** 2).mean()", "from it: the graph does not connect them. Look."),
        ("return ((w1 @ w2.clamp(-9, 0)) ** 2).mean()", "\n\nWhy?"),
        ("return 3 * ((w1 @ w2) ** 2).mean()", "3 times what it should be). As of each of 2 dimensions."),
        (ONE_MORE, "with respect to `w2` is wrong. 8 entries."),
    ],
)
def test_an_explanation_is_said_on_its_rung(tell, right, statements, message):
    """The author's own text stands behind the sentence: that of a name first, that of wrong numbers last."""
    with pytest.raises(AssertionError) as caught:
        assert_gradients(tell(statements), right, of="it", because=BECAUSE)
    assert str(caught.value).endswith(message)


def test_what_is_looked_at_is_chosen(tell, right):
    seen = tell("return ((w1.detach() @ w2) ** 2).mean()")
    assert_gradients(seen, right, of="it", only=["w2"])
    assert_gradients(seen, right, of="it", but=["w1"])
    with pytest.raises(AssertionError, match=r"^`w1` gets no gradient"):
        assert_gradients(seen, right, of="it")


def test_none_is_as_good_as_zeros(tell):
    """Where nothing depends on a tensor, neither form is wrong, unless the question asks for gradients."""
    zeros = tell("return ((w1 @ w2) ** 2).mean() * 0")
    none = tell("return torch.ones((), requires_grad=True) * 1")
    assert_gradients(none, zeros, of="it")
    assert_gradients(zeros, none, of="it")
    with pytest.raises(AssertionError, match=r"^`w1` and `w2` get no gradient"):
        assert_gradients(none, zeros, of="it", none_is_zero=False)
    with pytest.raises(AssertionError, match=r"^`w1` and `w2` get a gradient from it, but must not"):
        assert_gradients(zeros, none, of="it", none_is_zero=False)


def test_full_precision_of_a_double(tell):
    """A gradient that went through float32 is told where all digits are asked for."""
    request = TOLD.replace("requires_grad=True", "dtype=torch.float64, requires_grad=True")
    rounded = tell("return ((w1.float() @ w2.float()) ** 2).mean().double()", request)
    assert_gradients(rounded, tell(RIGHT, request), of="it")
    with pytest.raises(FailedCheckError, match="it is accurate to float32 precision only"):
        assert_gradients(rounded, tell(RIGHT, request), of="it", full_precision=True)


def test_gradients_that_an_answer_returned(right):
    """A dict of gradients that a student's function returned climbs the same ladder."""
    assert_gradients(right["gradients"], right, of="the loss")
    turned = {**right["gradients"], "w2": None}
    with pytest.raises(AssertionError, match=r"^The gradient of `w2` is None\.$"):
        assert_gradients(turned, right["gradients"], of="the loss")
    with pytest.raises(AssertionError, match=r"^The gradients of `w1` and `w2` are None\.$"):
        assert_gradients({}, right["gradients"], of="the loss")
    with pytest.raises(AssertionError, match=r"^The gradient of `w1` is None\. w1, that is\.$"):
        assert_gradients({}, right["gradients"], of="the loss", because={"w1:missing": "w1, that is."})
    with pytest.raises(AssertionError, match=r"^The loss is a list, not a tensor"):
        assert_gradients([1], right, of="the loss")


def test_a_tensor_that_the_call_removed_is_gone_and_not_cut_off(right):
    """Nothing is said of the graph if the caller's list or dict doesn't hold the tensor any more."""
    without = {name: gradient for name, gradient in right["gradients"].items() if name != "w2"}
    with pytest.raises(
        AssertionError, match=r"^After your call, the caller's objects no longer include `w2`, so"
    ):
        assert_gradients({**right, "gradients": without}, right, of="the loss")


def test_a_gradient_of_another_shape_is_told_with_both(tell, right):
    """The student reads both shapes, and how the numbers are related where that is known."""
    unsummed = tell("return None", "return {'w1': torch.ones(2, 3, 2), 'w2': torch.ones(2, 2)}")
    expected = tell("return None", "return {'w1': 2 * torch.ones(3, 2), 'w2': torch.ones(2, 4)}")
    told = "The gradient of y with respect to `w1` has shape (2, 3, 2), but `w1` has shape (3, 2);"
    with pytest.raises(FailedCheckError) as caught:
        assert_gradients(unsummed, expected, of="y", because={"shape": "Sum it."})
    assert str(caught.value) == f"{told} summed over dimension 0, it is right. Sum it."
    with pytest.raises(FailedCheckError, match=r"`w2` has shape \(2, 2\), but `w2` has shape \(2, 4\)\.$"):
        assert_gradients(unsummed, expected, of="y", only=["w2"])
    with pytest.raises(AssertionError, match=r"^The gradient of y with respect to `w2` is wrong"):
        assert_gradients({"w2": [1.0]}, expected, of="y", only=["w2"])


def test_the_cotangent_of_one_call_does_not_depend_on_another(tell):
    """Whatever became of an output before, the next one goes back with the same numbers."""
    body = """
        w1 = torch.ones(2, requires_grad=True)
        gradients(student.f(w1, w1), w1=w1)
        return gradients(2 * w1, w1=w1)["gradients"]["w1"], vjp(2 * w1, w1)[0]
    """
    one, other = (tell(f"return {returned}", body) for returned in ("None", "w1 * 1"))
    assert [gradient.value for gradient in one] == [gradient.value for gradient in other]


def test_expected_facts_have_to_be_gradients(right):
    """What the reference gives is the author's to mend."""
    with pytest.raises(TypeError, match="needs what gradients"):
        assert_gradients(right, 1, of="it")


@pytest.mark.parametrize(("because", "is_kept"), [({"nan": "Look.\n\nWhere is a root?"}, True), ({}, False)])
def test_a_hint_for_what_is_not_finite_is_kept(tell, right, because, is_kept):
    """What is nan says all by itself, but where the author wrote for nan, that is the hint."""
    answer = tell("return ((w1 @ w2) ** 2).mean() + (0 * w1).sqrt().sum()")
    with pytest.raises(AssertionError) as caught:
        assert_gradients(answer, right, of="it", because=because)
    assert (caught.value.finding.hint == "Where is a root?") is is_kept
    assert str(caught.value).endswith("Look.\n\nWhere is a root?") is is_kept


def test_a_sentence_begins_with_a_capital_where_a_name_is_a_phrase():
    """A name of code is told as it is written."""
    for name, told in (("the batch before", "The batch before"), ("q of w", "q of w")):
        with pytest.raises(AssertionError, match=f"^{told} gets a gradient from it"):
            assert_gradients({name: tensor(1.0)}, {name: None}, of="it")
