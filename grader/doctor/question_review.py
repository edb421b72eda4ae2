"""Complaints about a question whose hidden checks judge well: its stub, lists, public check and inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from grader.checks.check import Check
from grader.course.assignment import Question
from grader.course.probes import Probe
from grader.doctor.judged import PublicFailures
from grader.doctor.known_answers import Answer
from grader.grading.judge import Verdict
from grader.sandbox.evidence import Evidence, NoFacts, ProbeRaised

#: A stub that stops with such an error does not run, whatever its mistake is about.
_DOES_NOT_RUN = {
    *("NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "NotImplementedError"),
    *("SyntaxError", "IndentationError", "TabError"),
}
#: What draws random numbers, by the last part of its name: functions of torch, methods, words.
_RANDOM = {
    *("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like"),
    *("normal", "bernoulli", "multinomial", "poisson", "binomial", "random", "dropout", "vjp", "gradients"),
    *("normal_", "uniform_", "bernoulli_", "random_", "exponential_", "geometric_", "cauchy_", "log_normal_"),
}


def stub_complaints(
    question: Question, checks: Sequence[Check], verdicts: Mapping[str, Verdict]
) -> Iterator[str]:
    """A sentence if the stub is an answer, or does not run; `verdicts` are those on the stub, by check."""
    of_stub = [verdicts[check.id] for check in checks if check.id in verdicts]
    where = question.place or question.id
    if of_stub and all(verdict.outcome == "passed" for verdict in of_stub):
        yield (
            f"{where}: the stub answers the question already: it passes every hidden check."
            " Let it make the mistake that the question is about"
        )
    elif of_stub and {verdict.ending for verdict in of_stub} <= _DOES_NOT_RUN:
        yield f"{where}: the stub does not run: {of_stub[0].message} Let it run, and be wrong"


def public_complaints(
    question: Question,
    failures: Mapping[str, PublicFailures],
    answers: Sequence[Answer],
    *,
    reference: str,
    stub: str | None,
) -> Iterator[str]:
    """A sentence for each notebook on which the public check is wrong.

    Args:
        failures: of each notebook, by name.
        answers: the known answers to the question.
        reference: the name of the reference among the notebooks.
        stub: the name of the stub; None if it is known to be an answer, and so passes.
    """
    if question.public_check is None:
        yield f"{question.id} has no public check: students would be told nothing"
        return
    if stub is not None and not failures[stub]:
        yield f"{question.place or question.id}: the stub passes its public check"
    for call, failure in failures[reference].items():
        yield f"{question.id}: the reference fails the public check {call}: {failure}"
    for answer in answers:
        for call, failure in failures[answer.name].items() if not answer.is_wrong else ():
            yield f"{answer} is right, but fails the public check {call}: {failure}"


def unchanging_probes(one: Evidence, other: Evidence) -> list[str]:
    """The names of the probes with the same facts in two runs of a notebook, with different seeds."""
    pairs = {name: (one.outcome(name), other.outcome(name)) for name in one.probes if name in other.probes}
    return [name for name, (a, b) in pairs.items() if a == b and not isinstance(a, ProbeRaised | NoFacts)]


def fixed_probes(probes: Mapping[str, Probe], one: Evidence, other: Evidence) -> Iterator[str]:
    """A sentence for each probe that draws nothing at random, so that an answer can foresee its facts.

    The evidence is that of the reference with two seeds. A probe that counts may have the same facts with
    both. So there is a complaint only if nothing in the probe or in its helpers could draw a random number,
    and its author did not say that this is meant.
    """
    for name in unchanging_probes(one, other):
        probe = probes.get(name)
        if probe is not None and not probe.fixed and not _draws(probe):
            yield (
                f"{probe.source.where}: probe {name} draws nothing at random, so an answer can foresee its"
                " facts: draw its inputs, or say with @probe(fixed=True) that this is meant"
            )


def _draws(probe: Probe) -> bool:
    """Whether anything in it may draw a random number; a layer draws its parameters."""
    for part in probe.parts():
        for node in ast.walk(part.tree):
            match node:
                case ast.Attribute(ast.Name("nn"), name) if name[:1].isupper():
                    return True
                case ast.Attribute(_, name) | ast.Name(name) if name in _RANDOM:
                    return True
    return False
