"""A check that forbids warnings judges the function, whatever the notebook's cells did before."""

from observing import look

BACKWARD = "def f():\n    torch.ones(1, requires_grad=True).exp().backward(create_graph=True)\n    return 1"


def test_a_warning_that_torch_gives_once_is_seen_again(zygote):
    """A cell calls the function before the check does."""
    ask = "return warned(student.f)[1]"
    seen = look(zygote, ["import torch", BACKWARD, "f()"], f=ask)["f"]
    assert [text.partition(" will")[0] for text in seen] == ["Using backward() with create_graph=True"]


def test_how_often_torch_warns_stays_the_notebooks_choice(zygote):
    """`warned` puts the setting back."""
    ask = "warned(student.f)\nreturn torch.is_warn_always_enabled()"
    assert look(zygote, ["import torch", BACKWARD], f=ask)["f"] is False
