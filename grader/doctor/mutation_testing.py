"""Mutation testing: the hidden checks' verdicts on references with a single edit.

A mutant that fails nothing has survived: a check is missing, an input is too kind, or the task permits the
edit, which an author writes down as `equal(...)` in the file of answers. A mutant that only some seeds find
counts as a survivor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from grader.course.course import Course, observe_reference
from grader.doctor.known_answers import answers_of, equals_of
from grader.doctor.mutants import Mutant, mutants, normalised_source, possible_edits, without_name
from grader.grading.executor import modules_of_answers
from grader.grading.judge import judge
from grader.grading.scoring import is_passed
from grader.notebooks.reader import cells_of
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import Zygote

LIMITS = TimeLimits(cell=2, question=3, notebook=10)
SEEDS = (1, 2, 3, 4, 5)
_MAX_TRIES = 3  # of a mutant that had too little of the machine

#: Called with a stem, how many observations are done (at first none), and of how many. The survivors of the
#: first seed are observed again with the other seeds.
MutantProgress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Survivor:
    """A mutant of a reference that passes with some seed; `killed_by` are the seeds that find it."""

    question: str
    mutant: Mutant
    killed_by: tuple[int, ...] = ()

    def is_implied_by(self, other: Survivor) -> bool:
        """Whether another survivor says all that it says."""
        is_of_same = self.question == other.question and not other.killed_by
        return is_of_same and self.mutant.is_implied_by(other.mutant)


@dataclass
class MutationReport:
    """The outcome of an assignment's mutants.

    Attributes:
        mutants: how many there were.
        killed: how many failed a check with the first seed.
        equal: how many survived and are written down as equal.
        implied: how many survived that only cut a part of what another survivor cuts.
        survivors: the other mutants that survived.
        complaints: a sentence for each `equal` that is no longer true.
    """

    stem: str
    mutants: int = 0
    killed: int = 0
    equal: int = 0
    implied: int = 0
    survivors: list[Survivor] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def try_mutants(
    course: Course, stems: Sequence[str], *, question: str | None, jobs: int, tell: MutantProgress
) -> Iterator[MutationReport]:
    """Judge the mutants of assignments, or of a question by its id, `jobs` at a time.

    Raises:
        CourseError: an assignment cannot be read, or its reference not be judged.
    """
    with Zygote(preload=modules_of_answers(course, stems)) as zygote:
        for stem in stems:
            yield _report(course, stem, question, _Tester(course, stem, zygote, jobs, tell))


def _report(course: Course, stem: str, question: str | None, tester: _Tester) -> MutationReport:
    candidates = _candidates(course, stem, question)
    survivors = tester.survivors(candidates)
    tried = {(candidate.question, candidate.mutant.edit) for candidate in candidates}
    survived = {(survivor.question, survivor.mutant.edit) for survivor in survivors}
    equals = equals_of(course, stem)
    equal = {(entry.question, edit) for entry in equals for edit in entry.edits}
    widest = [s for s in survivors if s.killed_by or not any(map(s.is_implied_by, survivors))]
    unexplained = [s for s in widest if s.killed_by or (s.question, s.mutant.edit) not in equal]
    return MutationReport(
        stem,
        mutants=len(candidates),
        killed=len(candidates) - len(survivors),
        equal=len(widest) - len(unexplained),
        implied=len(survivors) - len(widest),
        survivors=unexplained,
        complaints=[
            f"{entry} is not equivalent: a check finds {edit}; remove this entry"
            for entry in equals
            for edit in entry.edits
            if (entry.question, edit) in tried - survived
        ],
    )


def _candidates(course: Course, stem: str, question: str | None) -> list[Survivor]:
    """The mutants of an assignment, each once, and none that is a known answer; none has been tried."""
    known = {(answer.question, normalised_source(answer.source)) for answer in answers_of(course, stem)}
    candidates = []
    for asked in course.assignment(stem).questions:
        for mutant in mutants(asked.answer) if question in {None, asked.id} else ():
            key = asked.id, without_name(mutant.source)
            if key not in known:
                known.add(key)
                candidates.append(Survivor(asked.id, mutant))
    return candidates


def stale_equals(course: Course, stem: str, question: str | None = None) -> list[str]:
    """A sentence for each `equal` of an assignment, or of a question, whose edit cannot be made any more."""
    equals = [equal for equal in equals_of(course, stem) if question in {None, equal.question}]
    asked = {equal.question for equal in equals}
    possible = {q.id: possible_edits(q.answer) for q in course.assignment(stem).questions if q.id in asked}
    return [
        f"{equal} names an edit that cannot be made: {edit}; remove it, or copy what doctor --mutants prints"
        for equal in equals
        for edit in equal.edits
        if edit not in possible[equal.question]
    ]


class _Tester:
    """Tries the mutants of an assignment."""

    def __init__(self, course: Course, stem: str, zygote: Zygote, jobs: int, tell: MutantProgress) -> None:
        self._course, self._stem, self._zygote, self._jobs = course, stem, zygote, jobs
        self._tell = tell
        self._rubric = replace(course.rubric(stem), pictures={}, shows={})

    def survivors(self, candidates: Sequence[Survivor]) -> list[Survivor]:
        """The mutants that pass with the first seed, each with the other seeds that find it."""
        total = len(candidates)
        self._tell(self._stem, 0, total)
        alive = [mutant for mutant, survives in self._tried(candidates, SEEDS[0], 0, total) if survives]
        done, total = total, total + len(alive) * len(SEEDS[1:])
        for seed in SEEDS[1:]:
            alive = [
                mutant if survives else replace(mutant, killed_by=(*mutant.killed_by, seed))
                for mutant, survives in self._tried(alive, seed, done, total)
            ]
            done += len(alive)
        return alive

    def _tried(
        self, candidates: Sequence[Survivor], seed: int, done: int, total: int
    ) -> Iterator[tuple[Survivor, bool]]:
        """Every mutant, and whether it survives."""
        if not candidates:
            return
        reference = observe_reference(self._zygote, self._course, self._stem, seed)
        with ThreadPoolExecutor(self._jobs) as pool:
            evidence = pool.map(lambda candidate: self._observed(candidate, seed), candidates)
            for candidate, seen in zip(candidates, evidence, strict=True):
                verdicts = judge(self._rubric, seen, reference)
                checks = self._rubric.checks_of(candidate.question)
                yield candidate, all(is_passed(check, verdicts) for check in checks)
                done += 1
                self._tell(self._stem, done, total)

    def _observed(self, candidate: Survivor, seed: int) -> Evidence:
        """The evidence of the reference's notebook with a mutant in its question's cell."""
        plan = self._rubric.plan(seed, only=candidate.question)
        assignment = self._course.assignment(self._stem)
        answer = next(q.answer for q in assignment.questions if q.id == candidate.question)
        sources = [candidate.mutant.source if s == answer else s for s in assignment.reference]
        for _ in range(_MAX_TRIES):
            evidence = observe(self._zygote, cells_of(sources), plan, LIMITS)
            if not evidence.starved:
                break
        return evidence
