"""The doctor, which proves that the course agrees with itself.

For every question: the reference passes everything; the stub earns nothing and fails its public check; every
accepted answer passes everything, its public check included; every wrong answer fails exactly the checks it
names and earns no more than partial credit; every check fails some wrong answer; several seeds give the same
verdicts; every picture shows a graph; every edit written down as equal can still be made. For the course:
untouched notebooks run, the four files of a stem exist, and ``assignments/`` is what ``build`` would write.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from grader.course.assignment import Question
from grader.course.check_file import left_in
from grader.course.course import Course
from grader.course.names import ANSWERS, CHECKS, MASTER
from grader.course.settings import FILE_NAME
from grader.course.unfinished import blanks_of
from grader.doctor.accept import accept
from grader.doctor.assignment_report import AssignmentReport
from grader.doctor.complaints import add_complaints, lists_to_accept
from grader.doctor.hidden_trial import DRAWS, REFERENCE, STUB, HiddenTrial
from grader.doctor.judged import JudgedQuestion
from grader.doctor.known_answers import Answer, answers_of
from grader.doctor.misspelt_names import complaints_about_names, undefined_names
from grader.doctor.mutation.run import stale_equals
from grader.doctor.public_trial import PublicTrial, begin_untouched
from grader.doctor.question_review import shared_functions
from grader.doctor.reused_worker import ObserverPool
from grader.grading.preload import modules_of_answers
from grader.memory import FOLDER, Memory, contents, fingerprint
from grader.sandbox.zygote import Zygote

_HELPERS = "tests/hidden/inside.py"


def examine(  # noqa: PLR0913 - the options of the command
    course: Course,
    stems: Sequence[str],
    *,
    jobs: int,
    question: str | None = None,
    accept_lists: bool = False,
    seeds: Sequence[int],
    memory: Path | None = None,
    forget: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[AssignmentReport]:
    """Examine assignments one after the other.

    Args:
        course: the course.
        stems: the assignments.
        jobs: how many workers at a time.
        question: the id of a question, to examine no other.
        accept_lists: write the lists of failed checks into the answers' files instead of complaining.
        seeds: of the runs that must agree.
        memory: the folder that remembers findings, so that only changes are tried; or None.
        forget: try everything, whatever is remembered.
        progress: called with the name of each assignment.

    Raises:
        CourseError: an assignment cannot be read.
    """
    is_whole = set(stems) == set(course.stems) and question is None
    if is_whole:
        yield from _unfinished(course)
        course = course.finished()
        stems = course.stems
    with ExitStack() as stack:
        zygote = _Starting(stack, course, stems)
        observers = stack.enter_context(ObserverPool(zygote, jobs))
        for stem in stems:
            known = Memory(memory and memory / f"{stem}.json", forget=forget)
            key = fingerprint("whole", question, list(seeds), contents(_files(course.root, stem)))
            stored = None if accept_lists else known.recall(key)
            if stored is not None:
                yield AssignmentReport.from_json(stored)
                continue
            zygote.begin()
            progress(stem)
            reduced, blanks = course.only_filled(stem)
            doctor = _Doctor(reduced, stem, observers, seeds, known)
            found, is_certain = doctor.examine(question, accept_lists=accept_lists)
            found.blanks = [str(blank) for blank in blanks]
            if is_certain and not found.complaints and not accept_lists:
                known.remember(key, found.to_json())
            known.save(everything=question is None and not blanks)
            yield found
    if is_whole:
        yield _files_and_notebooks(course, memory)


def _unfinished(course: Course) -> Iterator[AssignmentReport]:
    """The assignments that still have blanks; what is filled in is examined where they are asked for."""
    for stem in course.stems:
        blanks = blanks_of(course.root, stem)
        if blanks:
            yield AssignmentReport(stem, blanks=[str(blank) for blank in blanks])


def memory_folder(course: Course) -> Path:
    """Where the doctor of a course remembers what was found."""
    return course.root / FOLDER


def _files(root: Path, stem: str) -> list[Path]:
    """The files that an assignment's examination depends on."""
    return [root / place.format(stem) for place in (MASTER, CHECKS, ANSWERS, _HELPERS, FILE_NAME)]


def _files_and_notebooks(course: Course, folder: Path | None) -> AssignmentReport:
    """What concerns all assignments: the files of a stem are there, and ``assignments/`` is current."""
    known = Memory(folder and folder / "assignments.json")
    read = [path for stem in course.stems for path in _files(course.root, stem)]
    key = fingerprint(contents([*read, *sorted((course.root / "assignments").rglob("*.*"))]), _stray(course))
    title = "files and notebooks"
    if known.recall(key) is not None:
        return AssignmentReport(title)
    from grader.course.build import outdated  # noqa: PLC0415 - nbformat takes a fifth of a second

    complaints = [
        f"{stem} has hidden checks or answers, but no master in solutions/" for stem in _stray(course)
    ]
    complaints += shared_functions(course.functions)
    old = outdated(course.assignments.values(), course.root / "assignments", course.all_points())
    complaints += [f"{path} is not what `build` writes: run `make build`" for path in old]
    if not complaints:
        known.remember(key, [])
        known.save(everything=True)
    return AssignmentReport(title, complaints)


def _stray(course: Course) -> list[str]:
    """The stems that have checks or answers, but no master."""
    tests = course.root / "tests"
    found = {path.stem.removeprefix("test_") for path in (tests / "hidden").glob("test_*.py")}
    found |= {path.stem for path in (tests / "answers").glob("*.py")}
    return sorted(found - set(course.stems))


class _Starting:
    """The only zygote; it starts while files are read, in two seconds, and only if it is needed."""

    def __init__(self, stack: ExitStack, course: Course, stems: Sequence[str]) -> None:
        self._stack, self._course, self._stems = stack, course, stems
        self._pool = stack.enter_context(ThreadPoolExecutor(1))
        self._zygote: Future[Zygote] | None = None

    def begin(self) -> None:
        """Start it, unless it was started."""
        if self._zygote is None:
            self._zygote = self._pool.submit(self._start)

    def _start(self) -> Zygote:
        return self._stack.enter_context(Zygote(preload=modules_of_answers(self._course, self._stems)))

    def __call__(self) -> Zygote:
        """The zygote, once it has started."""
        self.begin()
        assert self._zygote is not None
        return self._zygote.result()


@dataclass
class _Doctor:
    """Examines an assignment."""

    course: Course
    stem: str
    observers: ObserverPool
    seeds: Sequence[int]
    memory: Memory

    def examine(self, only: str | None, *, accept_lists: bool) -> tuple[AssignmentReport, bool]:
        """What is found, and whether another look would find the same."""
        questions = [q for q in self.course.assignment(self.stem).questions if only in {None, q.id}]
        path, answers = self.course.answers_file(self.stem), self._answers(only)
        not_run = {name for users in undefined_names(answers).values() for name in users}
        is_whole = only is None and not blanks_of(self.course.root, self.stem)
        untouched = self._untouched() if is_whole else list
        judged = [*self._judged(questions, answers, not_run)]
        found = AssignmentReport(self.stem)
        if accept_lists:
            accept(path, *lists_to_accept(judged))
            before, answers = answers, self._answers(only)
            judged = [one.of(answers) for one in judged]
            found.accepted = _changed(before, answers)
        found.complaints += left_in(self.course.check_file(self.stem))
        found.complaints += complaints_about_names(answers, path)
        for one in judged:
            add_complaints(found, one)
        found.complaints += stale_equals(self.course, self.stem, answers, only)
        found.complaints += untouched()
        return found, all(one.is_certain for one in judged)

    def _answers(self, only: str | None) -> list[Answer]:
        return answers_of(self.course, self.stem, only)

    def _judged(
        self, questions: Sequence[Question], answers: Sequence[Answer], not_run: Collection[str]
    ) -> Iterator[JudgedQuestion]:
        """The judged questions; while a question is judged, answers to the others are observed."""
        begun = []
        for question in questions:
            own = [a for a in answers if a.question == question.id and a.name not in not_run]
            begun.append(self._begin(question, own))
        for finish in begun:
            yield finish()

    def _begin(self, question: Question, own: Sequence[Answer]) -> Callable[[], JudgedQuestion]:
        """Begin to try everything that is known to answer a question; what is given waits for the end."""
        hidden = HiddenTrial(self.course, self.stem, question, self.seeds, self.observers, self.memory)
        public = PublicTrial(question, self.course.settings.limits, self.observers, self.memory)
        notebooks = hidden.notebooks(own)
        fails = {REFERENCE: frozenset[str](), DRAWS: frozenset[str]()}
        tried = hidden.begin(notebooks, fails | {a.name: a.fails or frozenset() for a in own})
        passes = {REFERENCE: True, STUB: False, **{a.name: a.public or a.fails is None for a in own}}
        asked = {name: notebooks[name] for name in passes} if question.public_check else {}
        told = public.begin(asked, passes)
        return lambda: JudgedQuestion(
            question=question,
            checks=hidden.rubric.checks,
            answers=own,
            tried=tried(),
            public_failures=told(),
            pictures=hidden.rubric.pictures,
            path=self.course.answers_file(self.stem),
            seeds=self.seeds,
            partial_credit=self.course.settings.partial_credit,
        )

    def _untouched(self) -> Callable[[], list[str]]:
        limits = self.course.settings.limits
        assignment, rubric = self.course.assignment(self.stem), self.course.rubric(self.stem)
        points, seed = self.course.points(self.stem), self.seeds[0]
        return begin_untouched(assignment, points, rubric.plan(seed), limits, self.observers, self.memory)


def _changed(before: Sequence[Answer], after: Sequence[Answer]) -> list[str]:
    """The names of the answers that say otherwise now which checks they fail."""
    said = {answer.name: (answer.fails, answer.public) for answer in before}
    return [answer.name for answer in after if said[answer.name] != (answer.fails, answer.public)]
