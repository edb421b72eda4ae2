"""Mutation testing: the hidden checks' verdicts on answers with a mistake that no author thought of.

Each mutant of the reference and of every accepted answer is judged like an answer. A mutant that fails
nothing has survived: a check is missing, an input is too kind, or no promise of the task tells it from the
answer. The last is written down by hand, as `equal(...)` in the file of answers. A mutant that only some
seeds find counts as a survivor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice

from grader.course.course import Course
from grader.course.reference import observe_reference, reference_cells
from grader.doctor.known_answers import Answer, answers_of
from grader.doctor.mutation.mutants import mutants, normalised_source, places_of_edits, without_name
from grader.doctor.mutation.survivors import Equal, Origin, Survivor, read_equals
from grader.grading.judge import MAX_BATCH, judge
from grader.grading.preload import modules_of_answers
from grader.grading.scoring import is_passed
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import Zygote

LIMITS = TimeLimits(cell=2, question=3, notebook=10)
SEEDS = (1, 2, 3, 4, 5)
_LOOKS = 3  # at a mutant that had too little of the machine


#: Called with a stem, how many mutants were observed, and of how many. The first call has none; a mutant that
#: survives the first seed is observed again with the other seeds.
MutantProgress = Callable[[str, int, int], None]


@dataclass
class MutationReport:
    """The outcome of an assignment's mutants.

    Attributes:
        stem: of the assignment.
        mutants: how many there were.
        killed: how many failed a check with every seed.
        equal: how many survived and are written down as equal.
        implied: how many survived that only cut a part of what another survivor cuts.
        survivors: the others.
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
    """Judge the mutants of assignments.

    Args:
        course: the course.
        stems: the assignments.
        question: the id of a question, to try no other.
        jobs: how many workers at a time.
        tell: called with the progress.
        of: the name of an answer, or ``reference``, to try no other.

    Raises:
        CourseError: an assignment cannot be read, or its reference not be judged.
    """
    with Zygote(preload=modules_of_answers(course, stems)) as zygote:
        for stem in stems:
            made = _made(course, stem, question, of)
            yield _Tester(course, stem, zygote, jobs, tell).test(made, question)


def names_of_origins(course: Course, stem: str) -> set[str]:
    """The names of the answers of an assignment that mutants are made of."""
    return {origin.name for origin in _origins(course, stem, answers_of(course, stem))}


def stale_equals(
    course: Course, stem: str, answers: Sequence[Answer], question: str | None = None
) -> list[str]:
    """A sentence for each `equal` of an assignment, or of a question, whose edit cannot be made any more."""
    equals = [equal for equal in _equals(course, stem) if question in {None, equal.question}]
    origins = _origins(course, stem, answers)
    meant = [origin for origin in origins if any(equal.is_about(origin) for equal in equals)]
    places = [(origin, places_of_edits(origin.source)) for origin in meant]
    return [
        f"{equal} names an edit that cannot be made: {edit}; remove it, or copy what doctor --mutants prints"
        for equal in equals
        for edit in equal.edits
        if not any(equal.is_about(origin) and edit in made for origin, made in places)
    ]


class _Tester:
    """Tries the mutants of an assignment."""

    def __init__(self, course: Course, stem: str, zygote: Zygote, jobs: int, tell: MutantProgress) -> None:
        self._course, self._stem, self._zygote, self._jobs = course, stem, zygote, jobs
        self._tell = tell
        self._rubric = replace(course.rubric(stem), pictures={}, shows={})
        self._equals = _equals(course, stem)
        self._references: dict[int, Evidence] = {}

    def test(self, made: Sequence[Survivor], question: str | None) -> MutationReport:
        found = MutationReport(self._stem, mutants=len(made))
        survivors = self._survivors(made)
        widest = [one for one in survivors if one.killed_by or not any(map(one.is_implied_by, survivors))]
        found.survivors = [one for one in widest if one.killed_by or not self._is_equal(one)]
        found.killed = found.mutants - len(survivors)
        found.implied = len(survivors) - len(widest)
        found.equal = len(widest) - len(found.survivors)
        found.complaints = [
            f"{equal} is not equal: a check tells {edit} from the answer; remove that"
            for equal in self._equals
            for edit in equal.edits
            if question in {None, equal.question}
            and any(equal.is_about(one.origin) and edit == one.mutant.place for one in made)
            and not any(equal.is_about(one.origin) and edit == one.mutant.place for one in survivors)
        ]
        return found

    def _survivors(self, made: Sequence[Survivor]) -> list[Survivor]:
        """Those that pass with the first seed, each with the other seeds that find it."""
        looks, alive = 0, []
        self._tell(self._stem, looks, len(made))
        for one, survives in self._tried(made, SEEDS[0]):
            alive += [one] if survives else []
            looks += 1
            self._tell(self._stem, looks, len(made))
        killed_by: dict[int, list[int]] = {id(one): [] for one in alive}
        for seed in SEEDS[1:]:
            for one, survives in self._tried(alive, seed):
                killed_by[id(one)] += [] if survives else [seed]
                looks += 1
                self._tell(self._stem, looks, len(made) + len(alive) * len(SEEDS[1:]))
        return [Survivor(one.origin, one.mutant, tuple(killed_by[id(one)])) for one in alive]

    def _is_equal(self, one: Survivor) -> bool:
        return any(equal.covers(one.origin, one.mutant) for equal in self._equals)

    def _tried(self, made: Sequence[Survivor], seed: int) -> Iterator[tuple[Survivor, bool]]:
        """Every mutant, and whether it survives."""
        if not made:
            return
        if seed not in self._references:
            self._references[seed] = observe_reference(self._zygote, self._course, self._stem, seed)
        with ThreadPoolExecutor(self._jobs) as pool:
            observed = zip(made, pool.map(lambda one: self._observed(one, seed), made), strict=True)
            while batch := list(islice(observed, MAX_BATCH)):
                evidence = {str(number): seen for number, (_, seen) in enumerate(batch)}
                verdicts = judge(self._rubric, evidence, self._references[seed])
                for number, (one, _) in enumerate(batch):
                    checks = self._rubric.checks_of(one.origin.question)
                    yield one, all(is_passed(check, verdicts[str(number)]) for check in checks)

    def _observed(self, one: Survivor, seed: int) -> Evidence:
        asked = self._rubric.plan(seed, only=one.origin.question)
        cells = one.origin.mutated(one.mutant)
        for _ in range(_LOOKS):
            evidence = observe(self._zygote, cells, asked, LIMITS)
            if not evidence.starved:
                break
        return evidence


def _made(course: Course, stem: str, question: str | None, of: str | None) -> list[Survivor]:
    """The mutants of an assignment, each once, and none that is a known answer; none has been tried."""
    answers = answers_of(course, stem)
    known = {(answer.question, normalised_source(answer.cells[1].source)) for answer in answers}
    made = []
    for origin in _origins(course, stem, answers):
        is_wanted = question in {None, origin.question} and of in {None, origin.name}
        for mutant in mutants(origin.source) if is_wanted else ():
            key = origin.question, without_name(mutant.source)
            if key not in known:
                known.add(key)
                made.append(Survivor(origin, mutant))
    return made


def _origins(course: Course, stem: str, answers: Sequence[Answer]) -> Iterator[Origin]:
    """The reference of every question, and every accepted answer."""
    cells = tuple(reference_cells(course, stem))
    for question in course.assignment(stem).questions:
        place = next(i for i, cell in enumerate(cells) if cell.source == question.answer)
        yield Origin(question.id, "reference", None, cells, place)
    for answer in answers:
        if answer.fails is None:
            yield Origin(answer.question, answer.name, answer.line, answer.cells, 1)


def _equals(course: Course, stem: str) -> list[Equal]:
    return read_equals(course.answers_file(stem), _functions(course, stem))


def _functions(course: Course, stem: str) -> Mapping[str, str]:
    return {question.id: question.function for question in course.assignment(stem).questions}
