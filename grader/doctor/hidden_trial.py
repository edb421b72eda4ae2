"""The verdicts of a question's hidden checks on its reference, its stub and its known answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

from grader.checks.check import Check
from grader.course.assignment import Question
from grader.course.course import Course
from grader.course.pictures import text_of
from grader.course.rubric import REFERENCE_LIMITS, Rubric
from grader.doctor.judged import JudgedAnswer
from grader.doctor.known_answers import Answer
from grader.doctor.needed_text import needed_text
from grader.doctor.question_review import fixed_probes
from grader.doctor.reused_worker import ObserverPool
from grader.errors import CourseError
from grader.grading.broken_probe import broken_cells, broken_picture, broken_probes, caught_in_probe
from grader.grading.judge import judge
from grader.grading.scoring import is_passed
from grader.memory import Memory, fingerprint
from grader.notebooks.reader import cells_of
from grader.sandbox.evidence import Evidence, NoFacts, ProbeRaised
from grader.sandbox.plan import ProbePlan

REFERENCE, STUB, DRAWS = "", "the stub", "the drawing reference"  # answers are called as functions are

# A right answer may draw random numbers, for an order or by a DataLoader. So this reference draws after each
# of its calls; the verdicts must not depend on it, but they do if a probe draws inputs after such a call.
_DRAWING = """
import functools, numpy, random, torch

def drawing(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        finally:
            random.random(), numpy.random.rand(), torch.randn(1)
    return wrapped

if isinstance({name}, type):
    for method in {{"__init__", "forward"}} & vars({name}).keys():
        setattr({name}, method, drawing(vars({name})[method]))
else:
    {name} = drawing({name})
"""


@dataclass(frozen=True)
class HiddenTrial:
    """A question's hidden checks, tried with each seed; messages are those of the first."""

    course: Course
    stem: str
    question: Question
    seeds: Sequence[int]
    observers: ObserverPool
    memory: Memory

    def notebooks(self, answers: Sequence[Answer]) -> dict[str, list[str]]:
        """The sources of the cells of the reference, of the stub and of answers, by name."""
        assignment = self.course.assignment(self.stem)
        reference = list(assignment.cells_for(self.question.id))
        return {
            REFERENCE: reference,
            STUB: list(assignment.cells_for(self.question.id, stub=True)),
            DRAWS: [*reference, _DRAWING.format(name=self.question.function)],
            **{answer.name: [cell.source for cell in answer.cells] for answer in answers},
        }

    def begin(
        self, notebooks: Mapping[str, Sequence[str]], fails: Mapping[str, Collection[str]]
    ) -> Callable[[], dict[str, JudgedAnswer]]:
        """Begin to try notebooks that have changed since their last trial.

        Args:
            notebooks: as ``notebooks`` gives them.
            fails: the checks that each notebook should fail. If it fails others, it is tried again in a
                worker of its own, because other answers may have harmed a shared worker.

        Returns:
            A function that waits for the end and returns the outcome of each notebook by name.
        """
        reference = notebooks[REFERENCE]
        decisive = fingerprint(*self._decisive(reference))
        keys = {name: fingerprint(decisive, name == STUB, cells) for name, cells in notebooks.items()}
        keys[REFERENCE] = fingerprint(decisive, REFERENCE)
        recalled = {name: self.memory.recall(key) for name, key in keys.items()}
        judged = {name: JudgedAnswer.from_json(stored) for name, stored in recalled.items() if stored}
        missing = {name: cells for name, cells in notebooks.items() if name not in judged}
        observing = self._observe(missing, reference, alone=False) if missing else None

        def finish() -> dict[str, JudgedAnswer]:
            tried = self._judge(observing, reference) if observing else {}
            doubtful = {
                name: missing[name]
                for name, (answer, _) in tried.items()
                if name in fails and answer.is_doubtful(self.rubric.checks, fails[name])
            }
            if doubtful:
                tried |= self._judge(self._observe(doubtful, reference, alone=True), reference)
            for name, (answer, is_sure) in tried.items():
                judged[name] = answer
                if is_sure and answer.is_certain:
                    self.memory.remember(keys[name], answer.to_json())
            return judged

        return finish

    @property
    def rubric(self) -> Rubric:
        """The checks, probes and pictures of this question."""
        return self.course.rubric(self.stem).with_only([self.question.id])

    def _decisive(self, reference: Sequence[str]) -> Iterator[Any]:
        """All that a verdict depends on, besides the answer."""
        rubric = self.rubric
        names = [*(check.id for check in rubric.checks), *rubric.probes, *rubric.pictures]
        yield from (self.stem, self.question.id, self.question.function, list(self.seeds))
        yield needed_text(rubric.path, names)
        yield reference
        yield asdict(self.course.settings.limits)

    def _observe(
        self, notebooks: Mapping[str, Sequence[str]], reference: Sequence[str], *, alone: bool
    ) -> _Observing:
        """Begin to observe notebooks, and before them the expected facts."""
        rubric, limits, only = self.rubric, self.course.settings.limits, self.question.id
        plans = [rubric.plan(seed, only=only) for seed in self.seeds]
        plans[1:] = [plan.without_pictures() for plan in plans[1:]]
        # Nothing counts as a stub, so that the stub gets all probes of an answer.
        of_stub = replace(plans[0], stubs=dict.fromkeys(plans[0].stubs, "pass"))
        # A second seed shows which inputs no seed changes.
        seeds = self.seeds if len(self.seeds) > 1 else [*self.seeds, self.seeds[0] + 1]
        with_oracles = [rubric.plan(seed, only=only, oracle=True) for seed in seeds]

        def begin(name: str, sources: Sequence[str], plans: list[ProbePlan]) -> list[Future[Evidence]]:
            cells, of_name = cells_of(sources), REFERENCE_LIMITS if name == REFERENCE else limits
            return [self.observers.submit(cells, plan, of_name, alone=alone) for plan in plans]

        special = {STUB: [of_stub], DRAWS: plans[:1]}  # complaints about these are of the first seed only
        return _Observing(
            begin(REFERENCE, reference, with_oracles),
            {name: begin(name, cells, special.get(name, plans)) for name, cells in notebooks.items()},
        )

    def _judge(self, observing: _Observing, reference: Sequence[str]) -> dict[str, tuple[JudgedAnswer, bool]]:
        """The outcome of each notebook by name, and whether it had enough time and memory."""
        rubric = self.rubric
        references = [future.result() for future in observing.expected]
        self._refuse_broken(rubric, references[0], reference)
        evidence = {name: [future.result() for future in seen] for name, seen in observing.seen.items()}
        verdicts = {
            seed: judge(rubric, {n: seen[index] for n, seen in evidence.items() if seen[index:]}, expected)
            for index, (seed, expected) in enumerate(zip(self.seeds, references, strict=False))
        }
        judged = {}
        for name, seen in evidence.items():
            by_seed = {seed: of_seed[name] for seed, of_seed in verdicts.items() if name in of_seed}
            answer = JudgedAnswer.of(rubric.checks, by_seed, _pictures(rubric, seen[0]))
            if name == REFERENCE:
                failed = [c for c in rubric.checks if not is_passed(c, answer.verdicts)]
                caught = _caught_errors(rubric, failed, references[0], seen[0])
                answer = replace(answer, complaints=(*_about_probes(rubric, references), *caught))
            judged[name] = answer, not any(of_seed.starved for of_seed in seen)
        return judged

    def _refuse_broken(self, rubric: Rubric, expected: Evidence, sources: Sequence[str]) -> None:
        """Raise CourseError for a reference without facts; broken cells explain broken probes."""
        broken = list(broken_cells(self.course.assignment(self.stem), sources, expected))
        without = [
            name for name in rubric.probes if isinstance(expected.outcome(name), ProbeRaised | NoFacts)
        ]
        if without:
            raise CourseError("\n".join(broken or broken_probes(rubric.probes, expected, without)))


@dataclass(frozen=True)
class _Observing:
    """Observations that have begun, with each seed: of the expected facts, and of each notebook."""

    expected: list[Future[Evidence]]
    seen: dict[str, list[Future[Evidence]]]


def _pictures(rubric: Rubric, evidence: Evidence) -> dict[str, str]:
    """For each picture of a rubric, a hash of its graph; empty if there is none."""
    texts = {name: text_of(evidence, name) for name in rubric.pictures}
    return {name: text and sha256(text.encode()).hexdigest()[:16] for name, text in texts.items()}


def _about_probes(rubric: Rubric, references: Sequence[Evidence]) -> Iterator[str]:
    """Complaints about probes and pictures."""
    for name, shown in _pictures(rubric, references[0]).items():
        if not shown:
            yield broken_picture(rubric.pictures[name], references[0])
    yield from fixed_probes(rubric.probes, references[0], references[1])


def _caught_errors(
    rubric: Rubric, failed: Sequence[Check], expected: Evidence, ordinary: Evidence
) -> Iterator[str]:
    """The errors that stopped the reference in probes of failed checks, with their oracles or without."""
    for name in dict.fromkeys(probe for check in failed for probe in check.probes):
        probe = rubric.probes[name]
        error = caught_in_probe(probe, expected, oracle=True)
        error = error or caught_in_probe(probe, ordinary, oracle=False)
        if error is not None:
            yield error
