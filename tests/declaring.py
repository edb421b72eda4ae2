"""Declares contracts that a test made up, and judges answers by them."""

from observing import look

from grader.contracts.cases import ContractObservation
from grader.contracts.check import Check
from grader.course.contract import Contract, contract
from grader.grading.judge import FailedCheck, failure_of
from grader.sandbox.plan import Request


def declared(function, arguments, **options) -> Contract:
    """A contract that belongs to no check file."""
    contract(function, arguments, **options)
    made: Contract = globals()["__contracts__"].pop(options.get("name") or function)
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


def failure(asserts, contracted, *only, cases=("*",)) -> FailedCheck | None:
    """How a check ends that consists of one assertion; None if it passes."""
    check = Check("test_it", "It holds", None, 1, "q1", contracted.contract, cases=cases)
    return failure_of(check, lambda **of_case: asserts(*of_case.values(), *only), contracted)
