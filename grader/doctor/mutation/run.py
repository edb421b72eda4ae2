"""Mutation testing: the hidden checks' verdicts on right answers with a single edit.

Each mutant of the reference and of every accepted answer is judged like an answer. A mutant that fails
nothing has survived: a check is missing, an input is too kind, or the task permits the edit, which an author
writes down as `equal(...)` in the file of answers. A mutant that only some seeds find counts as a survivor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice

from grader.course.course import Course, observe_reference
from grader.doctor.known_answers import REFERENCE, Answer, answers_of
from grader.doctor.mutation.mutants import mutants, normalised_source, possible_edits, without_name
from grader.doctor.mutation.survivors import Equal, Origin, Survivor, read_equals
from grader.errors import GraderError
from grader.grading.judge import judge
from grader.grading.preload import modules_of_answers
from grader.grading.scoring import is_passed
from grader.notebooks.reader import cells_of
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import Zygote
from grader.text import did_you_mean

LIMITS = TimeLimits(cell=2, question=3, notebook=10)
SEEDS = (1, 2, 3, 4, 5)
_MAX_TRIES = 3  # of a mutant that had too little of the machine

#: Called with a stem, how many observations are done (at first none), and of how many. The survivors of the
#: first seed are observed again with the other seeds.
MutantProgress = Callable[[str, int, int], None]


_MAX_BATCH = 64  # mutants that are judged together


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


def try_mutants(  # noqa: PLR0913 - the options of the command
    course: Course,
    stems: Sequence[str],
    *,
    question: str | None,
    jobs: int,
    tell: MutantProgress,
    of: str | None = None,
) -> Iterator[MutationReport]:
    """Judge the mutants of assignments, `jobs` at a time; call `tell` with the progress.

    With the id of a `question`, or the name of an answer or ``reference`` in `of`, the others are left out.

    Raises:
        CourseError: an assignment cannot be read, or its reference not be judged.
    """
    with Zygote(preload=modules_of_answers(course, stems)) as zygote:
        for stem in stems:
            candidates = _candidates(course, stem, question, of)
            yield _Tester(course, stem, zygote, jobs, tell).test(candidates)


def stems_with_answer(course: Course, stems: Sequence[str], answer: str) -> list[str]:
    """Those of some assignments that have an accepted answer of this name.

    Raises:
        GraderError: none has it; the text suggests another name.
    """
    names = {stem: {o.name for o in _origins(course, stem, answers_of(course, stem))} for stem in stems}
    having = [stem for stem in stems if answer in names[stem]]
    if not having:
        known = set[str]().union(*names.values())
        raise GraderError(f"--mutants: no accepted answer is called {answer}; {did_you_mean(answer, known)}")
    return having


def stale_equals(
    course: Course, stem: str, answers: Sequence[Answer], question: str | None = None
) -> list[str]:
    """A sentence for each `equal` of an assignment, or of a question, whose edit cannot be made any more."""
    equals = [equal for equal in _equals(course, stem) if question in {None, equal.question}]
    possible = [
        (origin, possible_edits(origin.source))
        for origin in _origins(course, stem, answers)
        if any(equal.is_about(origin) for equal in equals)
    ]
    return [
        f"{equal} names an edit that cannot be made: {edit}; remove it, or copy what doctor --mutants prints"
        for equal in equals
        for edit in equal.edits
        if not any(equal.is_about(origin) and edit in edits for origin, edits in possible)
    ]


class _Tester:
    """Tries the mutants of an assignment."""

    def __init__(self, course: Course, stem: str, zygote: Zygote, jobs: int, tell: MutantProgress) -> None:
        self._course, self._stem, self._zygote, self._jobs = course, stem, zygote, jobs
        self._tell = tell
        self._rubric = replace(course.rubric(stem), pictures={}, shows={})

    def test(self, candidates: Sequence[Survivor]) -> MutationReport:
        """The outcome of mutants that were not tried before."""
        report = MutationReport(self._stem, mutants=len(candidates))
        equals, survivors = _equals(self._course, self._stem), self._survivors(candidates)
        widest = [s for s in survivors if s.killed_by or not any(map(s.is_implied_by, survivors))]
        report.survivors = [
            s for s in widest if s.killed_by or not any(e.covers(s.origin, s.mutant) for e in equals)
        ]
        report.killed = report.mutants - len(survivors)
        report.implied = len(survivors) - len(widest)
        report.equal = len(widest) - len(report.survivors)
        for equal in equals:
            tried = {s.mutant.edit for s in candidates if equal.is_about(s.origin)}
            found = tried - {s.mutant.edit for s in survivors if equal.is_about(s.origin)}
            report.complaints += [
                f"{equal} is not equal: a check tells {edit} from the answer; remove that"
                for edit in equal.edits
                if edit in found
            ]
        return report

    def _survivors(self, candidates: Sequence[Survivor]) -> list[Survivor]:
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
            observed = zip(candidates, evidence, strict=True)
            while batch := list(islice(observed, _MAX_BATCH)):
                numbered = {str(number): seen for number, (_, seen) in enumerate(batch)}
                verdicts = judge(self._rubric, numbered, reference)
                for number, (candidate, _) in enumerate(batch):
                    checks = self._rubric.checks_of(candidate.origin.question)
                    yield candidate, all(is_passed(check, verdicts[str(number)]) for check in checks)
                    done += 1
                    self._tell(self._stem, done, total)

    def _observed(self, candidate: Survivor, seed: int) -> Evidence:
        plan = self._rubric.plan(seed, only=candidate.origin.question)
        cells = candidate.origin.mutated(candidate.mutant)
        for _ in range(_MAX_TRIES):
            evidence = observe(self._zygote, cells, plan, LIMITS)
            if not evidence.starved:
                break
        return evidence


def _candidates(course: Course, stem: str, question: str | None, of: str | None) -> list[Survivor]:
    """The mutants of an assignment, each once, and none that is a known answer; none has been tried."""
    answers = answers_of(course, stem)
    known = {(answer.question, normalised_source(answer.cells[1].source)) for answer in answers}
    candidates = []
    for origin in _origins(course, stem, answers):
        is_wanted = question in {None, origin.question} and of in {None, origin.name}
        for mutant in mutants(origin.source) if is_wanted else ():
            key = origin.question, without_name(mutant.source)
            if key not in known:
                known.add(key)
                candidates.append(Survivor(origin, mutant))
    return candidates


def _origins(course: Course, stem: str, answers: Sequence[Answer]) -> Iterator[Origin]:
    """The reference of every question, and every accepted answer."""
    cells = cells_of(course.assignment(stem).reference)
    for question in course.assignment(stem).questions:
        index = next(i for i, cell in enumerate(cells) if cell.source == question.answer)
        yield Origin(question.id, REFERENCE, None, cells, index)
    for answer in answers:
        if not answer.is_wrong:
            yield Origin(answer.question, answer.name, answer.line, answer.cells, 1)


def _equals(course: Course, stem: str) -> list[Equal]:
    functions = {question.id: question.function for question in course.assignment(stem).questions}
    return read_equals(course.answers_file(stem), functions)
