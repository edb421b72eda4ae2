"""Attackers and honest students in one class; the attackers gain nothing, the honest lose nothing.

Every file below tests/attacks/ is an attack in its author's words; tests/attack_matrix.py shows what becomes
of each when the layer that stops it is taken away.
"""

from functools import cache
from pathlib import Path

import pytest
from attack import FAMILIES, LAYERS, read_attacks
from attack_layers import LIMITS, OUTSIDE, SWITCHES, without
from attack_run import COURSE, Arena, common_harms, own_harms

from grader.sandbox.worker import syscalls

pytestmark = [
    pytest.mark.skipif(syscalls.machine() is None, reason="grading is confined on 64-bit Linux only"),
    pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="what is left behind is looked up in /proc"),
]

ATTACKS = read_attacks()
LONG = pytest.mark.long


@pytest.fixture(scope="module")
def arena():
    with Arena() as made:
        yield made


@pytest.fixture(scope="module")
def graded(arena):
    """The class of the quick attackers or of the slow ones, graded when it is first asked for."""
    return cache(lambda slow: arena.grade([attack for attack in ATTACKS if attack.slow == slow]))


@pytest.mark.parametrize(
    "attack", [pytest.param(a, id=a.name, marks=[LONG] if a.slow else []) for a in ATTACKS]
)
def test_each_attack_is_stopped(attack, graded):
    """It has one result, gains nothing, costs no other answer, shows nowhere, ends in time, and is flagged.

    Where nothing can stop it, it gains its question, and is flagged.
    """
    assert own_harms(attack, graded(attack.slow)) == ([f"got {attack.question}"] if attack.through else [])
    assert not attack.through or attack.flags


#: Layers in our own code. What the kernel forbids, deadlines, bounds on memory, and all that is slow without
#: its layer, is taken away by the matrix only (`make attack`).
OURS = ("fresh worker", "restoring", "captured", "numbers", "pages", "spreadsheet", "terminal", "names")


@LONG
@pytest.mark.parametrize("layer", OURS)
def test_each_attack_is_stopped_by_what_it_names(layer, arena):
    """Without its layer it does harm, unless its file says what else stops it."""
    named = [a for a in ATTACKS if a.layer == layer and a.is_tried_without and not a.slow]
    with Arena(layer, arena) as weaker:
        run = weaker.grade(named, honest={})
    complaints = {attack.name: attack.complaint([], own_harms(attack, run)) for attack in named}
    assert not {name: said for name, said in complaints.items() if said}


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=LONG)], ids=["quick", "slow"])
def test_nobody_else_is_harmed(slow, arena, graded):
    """Honest results are the same in every detail, no process or file is left, and the grader stays small.

    Each notebook gets its time, twice where the machine was busy.
    """
    run = graded(slow)
    assert common_harms(run, arena.alone) == []
    honest = {"honest-ada": 31, "honest-bo": 30, "honest-cy": 8}
    assert {name: result["score"] for name, result in arena.alone.items()} == honest
    assert run.wall < 30 + 2 * LIMITS.notebook * len(run.attacks)


# The attacks' files


def test_there_are_attacks_of_every_kind():
    """Every family is there, every layer stops something, and no attack takes the place of another."""
    assert {attack.path.parent.name for attack in ATTACKS} == set(FAMILIES)
    assert {attack.layer for attack in ATTACKS} == set(LAYERS) == {*SWITCHES, "process"}
    assert len({(attack.student, attack.stem) for attack in ATTACKS}) == len(ATTACKS)
    for attack in ATTACKS:
        questions = {question.id for question in COURSE.assignments[attack.stem].questions}
        assert {attack.question, *attack.keeps} <= questions, attack.name


@pytest.mark.parametrize("layer", sorted(filter(None, OUTSIDE)))
def test_every_layer_outside_can_be_taken_away(layer):
    """What a layer consists of is still there to be switched off; else the matrix could show nothing."""
    with without(layer) as limits:
        assert limits.question > 0
