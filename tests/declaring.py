"""Declares contracts that a test made up, and judges answers by them."""

from dataclasses import fields

from observing import look

from grader.contracts.cases import ContractObservation, Rules
from grader.contracts.check import Check
from grader.course.contract import Call, Cases, Contract, contract
from grader.grading.judge import FailedCheck, failure_of, failures_by_case
from grader.sandbox.plan import Request


def declared(function, arguments, *, name="", **options) -> Contract:
    """A contract that belongs to no check file; options are fields of `Cases`, `Call` and `Rules`."""
    groups = {"cases": Cases, "call": Call, "rules": Rules}
    of_group = {}
    for group, record in groups.items():
        names = [field.name for field in fields(record) if field.name in options]
        of_group[group] = record(**{name: options.pop(name) for name in names})
    assert not options
    contract(function, arguments, name=name, **of_group)
    made: Contract = globals()["__contracts__"].pop(name or function)
    return made


def facts(zygote, declaration, answer, *, seed=1, **options):
    """What is observed of an answer in the cases of a contract."""
    request = Request(declaration.name, declaration.bundle(), seed, 20.0)
    cells = ["import copy, torch\nfrom torch import nn", answer]
    seen = look(zygote, cells, **{declaration.function: request}, **options)
    assert not seen.raised
    return seen[declaration.name]


def judged(zygote, declaration, answer, reference) -> ContractObservation:
    """An answer beside a reference, as the checks of a contract take them."""
    return declaration.observation(facts(zygote, declaration, answer), facts(zygote, declaration, reference))


def failed_numbers(asserts, contracted) -> dict[int, BaseException]:
    """What an assertion raises in the cases that it fails, by their numbers."""
    return failures_by_case(_CHECK, asserts, dict(enumerate(contracted.cases)))


_CHECK = Check("test_it", "It holds", None, 1, "q1", "case")


def failure(asserts, contracted, cases=("*",), **options) -> FailedCheck | None:
    """How a check ends that consists of one assertion; None if it passes."""
    check = Check("test_it", "It holds", None, 1, "q1", contracted.contract, cases=cases)
    return failure_of(check, lambda **of_case: asserts(*of_case.values(), **options), contracted)
