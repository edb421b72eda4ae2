"""Whoever wrote to a class or a module is noticed, and nobody else has to be compared."""

import types

import pytest

from grader.sandbox.worker import snapshots
from grader.sandbox.worker.snapshots import AttributeSnapshots

COUNTED = pytest.mark.skipif(not snapshots._IS_COUNTED, reason="this Python does not count writes")


class Owner:
    """A class with an attribute."""

    x = 1


def module():
    made = types.ModuleType("made")
    made.x = 1
    return made


@pytest.fixture(params=[module, lambda: type("Owner", (Owner,), {"x": 1})], ids=["module", "class"])
def owner(request):
    return request.param()


def write(owner):
    owner.x = 2


def write_past_setattr(owner):
    target = vars(owner)
    if isinstance(target, dict):
        target["x"] = 2
    else:
        type.__setattr__(owner, "x", 2)


def add(owner):
    owner.y = 2


def remove(owner):
    del owner.x


def written(watched):
    return [namespace.owner for _, namespace in watched.written()]


@pytest.mark.parametrize("change", [write, write_past_setattr, add, remove])
def test_every_write_is_noticed(owner, change):
    """Replacing, adding and removing are noticed until they are settled, and complete is who lost nothing."""
    watched = AttributeSnapshots([type("Other", (), {}), owner])
    before = watched.writes()
    change(owner)
    assert owner in written(watched)
    assert watched.all[1].is_complete() is (change is add)
    watched.mark_clean([1], watched.writes())
    if snapshots._IS_COUNTED:
        assert written(watched) == []
        assert [n.owner for n in watched.written_between(before, watched.writes())] == [owner]


@COUNTED
def test_reading_is_no_write(owner):
    """Who was only looked at need not be compared."""
    watched = AttributeSnapshots([owner])
    assert (owner.x, hasattr(owner, "nothing"), "x" in vars(owner)) == (1, False, True)
    assert written(watched) == []


@COUNTED
def test_what_was_put_back_is_complete_again(owner):
    """A write that was undone is still a write, but nothing is missing."""
    watched = AttributeSnapshots([owner])
    write(owner)
    owner.x = watched.all[0].original["x"]
    assert written(watched) == [owner]
    assert watched.all[0].is_complete()


@COUNTED
def test_what_was_written_before_it_was_settled_is_settled_alone(owner):
    """Others, and later writes, still count."""
    other = module()
    watched = AttributeSnapshots([owner, other])
    write(owner)
    write(other)
    writes = watched.writes()
    watched.mark_clean([0], writes)
    assert written(watched) == [other]
    add(owner)
    assert written(watched) == [owner, other]


def test_where_nobody_counts_the_first_are_compared(owner, monkeypatch):
    """Another Python may not count writes; then everything may have been written to, always."""
    monkeypatch.setattr(snapshots, "_IS_COUNTED", False)
    watched = AttributeSnapshots([owner, module()], most=1)
    watched.mark_clean([0], watched.writes())
    assert written(watched) == [owner]
    assert watched.all[0].is_complete()


def test_names_are_compared_and_not_places(owner):
    """Values that stand where others stood, under other names, are no originals."""
    owner.y = 2
    watched = AttributeSnapshots([owner]).all[0]
    del owner.x, owner.y
    owner.z, owner.w = 1, 2
    assert not watched.is_complete()


def test_what_is_none_is_still_something(owner):
    """An attribute that was None and is gone is missing."""
    owner.y = None
    watched = AttributeSnapshots([owner]).all[0]
    del owner.y
    assert not watched.is_complete()
