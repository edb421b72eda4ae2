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
from grader.course.reference import REFERENCE_LIMITS
from grader.course.rubric import Rubric
from grader.doctor.judged import JudgedAnswer
from grader.doctor.known_answers import Answer
from grader.doctor.question_review import fixed_probes
from grader.doctor.reused_worker import ObserverPool
from grader.doctor.source_text import needed_text
from grader.errors import CourseError
from grader.grading.broken_probe import broken_cells, broken_picture, broken_probes, caught_in_probe
from grader.grading.judge import judge
from grader.grading.scoring import is_passed
from grader.memory import Memory, fingerprint
from grader.notebooks.reader import cells_of
from grader.sandbox.evidence import Evidence, NoFacts, ProbeRaised
from grader.sandbox.plan import ProbePlan

REFERENCE, STUB, DRAWS = "", "the stub", "the drawing reference"  # answers are called as functions are

# After each call of the reference random numbers are drawn, as a right answer may: by a DataLoader, or to
# choose an order. Nothing may depend on it; it does where a probe draws inputs after such a call.
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
    """A question of an assignment and its hidden checks, tried with each seed.

    Attributes:
        seeds: of the runs that must agree; messages are those of the first.
        memory: the results of earlier trials.
    """

    course: Course
    stem: str
    question: Question
    seeds: Sequence[int]
    observers: ObserverPool
    memory: Memory

    def notebooks(self, answers: Sequence[Answer]) -> dict[str, list[str]]:
        """The sources of the cells of the reference, of the stub and of some answers, by name."""
        assignment = self.course.assignment(self.stem)
        reference = list(assignment.cells_for(self.question.id))
        found = {
            REFERENCE: reference,
            STUB: list(assignment.cells_for(self.question.id, stub=True)),
            DRAWS: [*reference, _DRAWING.format(name=self.question.function)],
        }
        return found | {answer.name: [cell.source for cell in answer.cells] for answer in answers}

    def begin(
        self, notebooks: Mapping[str, Sequence[str]], fails: Mapping[str, Collection[str]]
    ) -> Callable[[], dict[str, JudgedAnswer]]:
        """Begin to try notebooks; only what has changed since its last trial is tried.

        Args:
            notebooks: as ``notebooks`` gives them.
            fails: the checks that each notebook should fail. If it fails others, it is tried again in a
                worker of its own, because a shared worker may have been harmed by other answers.

        Returns:
            A function that waits for the end and returns the outcome of each notebook by name.
        """
        reference = notebooks[REFERENCE]
        decisive = fingerprint(*self._decisive(reference))
        keys = {name: fingerprint(decisive, name == STUB, own) for name, own in notebooks.items()}
        keys[REFERENCE] = fingerprint(decisive, REFERENCE)
        known = {name: self.memory.recall(key) for name, key in keys.items()}
        found = {name: JudgedAnswer.from_json(stored) for name, stored in known.items() if stored is not None}
        missing = {name: own for name, own in notebooks.items() if name not in found}
        looked = self._look(missing, reference, alone=False) if missing else None

        def finish() -> dict[str, JudgedAnswer]:
            tried = self._judge(looked, reference) if looked else {}
            doubtful = {
                name: missing[name]
                for name, (one, _) in tried.items()
                if name in fails and one.is_doubtful(self.rubric.checks, fails[name])
            }
            if doubtful:
                tried |= self._judge(self._look(doubtful, reference, alone=True), reference)
            for name, (one, is_sure) in tried.items():
                found[name] = one
                if is_sure and one.is_certain:
                    self.memory.remember(keys[name], one.to_json())
            return found

        return finish

    @property
    def rubric(self) -> Rubric:
        """The checks, probes and pictures of this question."""
        return self.course.rubric(self.stem).only([self.question.id])

    def _decisive(self, reference: Sequence[str]) -> Iterator[Any]:
        """All that a verdict depends on, besides the answer."""
        rubric = self.rubric
        names = [*(check.id for check in rubric.checks), *rubric.probes, *rubric.pictures]
        yield from (self.stem, self.question.id, self.question.function, list(self.seeds))
        yield needed_text(rubric.path, names)
        yield reference
        yield asdict(self.course.settings.limits)

    def _look(
        self, notebooks: Mapping[str, Sequence[str]], reference: Sequence[str], *, alone: bool
    ) -> _Looked:
        """Begin to look at notebooks, and first at what is expected of them."""
        rubric, limits, only = self.rubric, self.course.settings.limits, self.question.id
        asked = [rubric.plan(seed, only=only) for seed in self.seeds]
        asked[1:] = [one.without_pictures() for one in asked[1:]]
        # Nothing counts as a stub, so that the stub is asked all that an answer is asked.
        of_stub = [replace(one, stubs=dict.fromkeys(one.stubs, "pass")) for one in asked]
        # A second seed shows which inputs no seed changes.
        drawn = self.seeds if len(self.seeds) > 1 else [*self.seeds, self.seeds[0] + 1]
        oracles = [rubric.plan(seed, only=only, oracle=True) for seed in drawn]

        def look(name: str, sources: Sequence[str], questions: list[ProbePlan]) -> list[Future[Evidence]]:
            cells, own = cells_of(sources), REFERENCE_LIMITS if name == REFERENCE else limits
            return [self.observers.submit(cells, one, own, alone=alone) for one in questions]

        questions = {STUB: of_stub[:1], DRAWS: asked[:1]}  # whose verdicts are told of the first seed only
        return _Looked(
            look(REFERENCE, reference, oracles),
            {name: look(name, own, questions.get(name, asked)) for name, own in notebooks.items()},
        )

    def _judge(self, looked: _Looked, reference: Sequence[str]) -> dict[str, tuple[JudgedAnswer, bool]]:
        """What becomes of notebooks, by name; and whether none of them lacked time or memory."""
        rubric = self.rubric
        references = [future.result() for future in looked.expected]
        self._refuse_broken(rubric, references[0], reference)
        evidence = {name: [future.result() for future in own] for name, own in looked.seen.items()}
        verdicts = {
            seed: judge(rubric, {n: own[place] for n, own in evidence.items() if own[place:]}, expected)
            for place, (seed, expected) in enumerate(zip(self.seeds, references, strict=False))
        }
        found = {}
        for name, own in evidence.items():
            by_seed = {seed: told[name] for seed, told in verdicts.items() if name in told}
            tried = JudgedAnswer.of(rubric.checks, by_seed, _pictures(rubric, own[0]))
            if name == REFERENCE:
                failed = [c for c in rubric.checks if not is_passed(c, tried.verdicts)]
                complaints = [
                    *_of_probes(rubric, references),
                    *_caught(rubric, failed, references[0], own[0]),
                ]
                tried = replace(tried, complaints=tuple(complaints))
            found[name] = tried, not any(one.starved for one in own)
        return found

    def _refuse_broken(self, rubric: Rubric, expected: Evidence, sources: Sequence[str]) -> None:
        """Nothing can be judged where the reference has no facts; the first reason is why others follow."""
        broken = list(broken_cells(self.course.assignment(self.stem), sources, expected))
        without = [
            name for name in rubric.probes if isinstance(expected.outcome(name), ProbeRaised | NoFacts)
        ]
        if without:
            raise CourseError("\n".join(broken or broken_probes(rubric.probes, expected, without)))


@dataclass(frozen=True)
class _Looked:
    """Looks that have begun: the evidence of what is expected, and of each notebook, with each seed."""

    expected: list[Future[Evidence]]
    seen: dict[str, list[Future[Evidence]]]


def _pictures(rubric: Rubric, evidence: Evidence) -> dict[str, str]:
    """For each picture of a rubric, a hash of what it shows of a notebook; empty where it shows nothing."""
    texts = {name: text_of(evidence, name) for name in rubric.pictures}
    return {name: text and sha256(text.encode()).hexdigest()[:16] for name, text in texts.items()}


def _of_probes(rubric: Rubric, references: Sequence[Evidence]) -> Iterator[str]:
    """What is wrong with probes and pictures, by the evidence of the reference with each seed."""
    for name, shown in _pictures(rubric, references[0]).items():
        if not shown:
            yield broken_picture(rubric.pictures[name], references[0])
    yield from fixed_probes(rubric.probes, references[0], references[1])


def _caught(rubric: Rubric, failed: Sequence[Check], expected: Evidence, ordinary: Evidence) -> Iterator[str]:
    """Of checks that fail the reference, what stopped it in their probes: with their oracles, or without."""
    for name in dict.fromkeys(probe for check in failed for probe in check.probes):
        probe = rubric.probes[name]
        told = caught_in_probe(probe, expected, oracle=True) or caught_in_probe(probe, ordinary, oracle=False)
        if told is not None:
            yield told
