"""The doctor, which checks that the files of a course agree with each other.

For every question:

* The reference and every known-correct answer pass all checks, including the public one.
* The starter code earns nothing and fails its public check.
* Every known-wrong answer fails the checks in the file of outcomes, and earns at most partial credit.
* Every check fails some known-wrong answer.
* Several seeds give the same verdicts, and every picture shows a graph.
* Every edit that is recorded as equivalent can still be made.
* The lines of every snippet fit together.

For the course: released notebooks run, the four files of a stem exist, and ``assignments/`` is up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import msgspec

from grader.course.assignment import ANSWERS, CHECKS, SOURCE
from grader.course.author_file import todos_of
from grader.course.contract_text import contract_complaints
from grader.course.course import Course
from grader.course.outcomes import changed_outcomes, outcomes_file, read_outcomes, write_outcomes
from grader.course.rubric import left_in
from grader.course.settings import FILE_NAME
from grader.course.snippet import snippet_complaints
from grader.doctor.known_answers import answers_of, complaints_about_names, undefined_names
from grader.doctor.mutation_testing import stale_equals
from grader.doctor.observers import ObserverPool
from grader.doctor.review import AssignmentReport, add_question, compare_outcomes
from grader.doctor.trials import QuestionTrial, begin_released_notebook
from grader.grading.executor import modules_of_answers
from grader.memory import FOLDER, Memory, contents, fingerprint
from grader.sandbox.zygote import Zygote

_HELPERS = "tests/hidden/inside.py"


def examine(  # noqa: PLR0913 - the options of the command
    course: Course,
    stems: Sequence[str],
    *,
    jobs: int,
    question: str | None = None,
    accept: bool = False,
    seeds: Sequence[int],
    memory: Path | None = None,
    forget: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[AssignmentReport]:
    """Examine assignments one after the other.

    Args:
        jobs: how many workers at a time.
        question: the id of a question, to leave out the others.
        accept: write the present outcomes of known-wrong answers into the files of outcomes.
        seeds: of the runs that must agree.
        memory: the folder of the findings, so that only changes are tried; None tries all, and keeps nothing.
        forget: try everything again.
        progress: called with each stem.

    Raises:
        CourseError: an assignment cannot be read.
    """
    is_whole = set(stems) == set(course.stems) and question is None
    if is_whole:
        for stem in course.stems:  # of what says TODO the questions are examined only if it is named
            if todos := todos_of(course.root, stem):
                yield AssignmentReport(stem, todos=[*map(str, todos)])
        course = course.without_unfinished()
        stems = course.stems
    with ObserverPool(lambda: Zygote(preload=modules_of_answers(course, stems)), jobs) as observers:
        doctor = _Doctor(course, observers, seeds, question, accept)
        remembered = (Memory(memory and memory / f"{stem}.json", forget=forget) for stem in stems)
        begun = map(doctor.begin, stems, remembered)
        for stem, finish in zip(stems, _one_ahead(begun), strict=True):
            progress(stem)
            yield finish()
    if is_whole:
        yield _files_and_notebooks(course, memory)


def memory_folder(course: Course) -> Path:
    """The folder of the doctor's memory of a course."""
    return course.root / FOLDER


def _files(root: Path, stem: str) -> list[Path]:
    """The files that an assignment's examination depends on."""
    answers = root / ANSWERS.format(stem)
    others = [root / kind.format(stem) for kind in (SOURCE, CHECKS, _HELPERS, FILE_NAME)]
    return [*others, answers, outcomes_file(answers)]


def _files_and_notebooks(course: Course, folder: Path | None) -> AssignmentReport:
    """Complaints about all assignments together: missing sources, shared functions, outdated built files."""
    memory, tests = Memory(folder and folder / "assignments.json"), course.root / "tests"
    stems = {path.stem.removeprefix("test_") for path in (tests / "hidden").glob("test_*.py")}
    stems |= {path.stem for path in (tests / "answers").glob("*.py")}
    stray = sorted(stems - set(course.stems))  # have checks or answers, but no notebook source
    read = [path for stem in course.stems for path in _files(course.root, stem)]
    key = fingerprint(contents([*read, *sorted((course.root / "assignments").rglob("*.*"))]), stray)
    report = AssignmentReport("files and notebooks")
    if memory.recall(key) is not None:
        return report
    from grader.course.build import outdated  # noqa: PLC0415 - nbformat takes a fifth of a second

    report.complaints += [
        f"{stem} has hidden checks or answers, but no notebook source in solutions/" for stem in stray
    ]
    report.complaints += shared_functions(course.functions)
    old = outdated(course.assignments.values(), course.root / "assignments", course.all_points())
    report.complaints += [f"{path} is not what `build` writes: run `make build`" for path in old]
    if not report.complaints:
        memory.remember(key, [])
        memory.save(everything=True)
    return report


def shared_functions(functions: Mapping[str, Collection[str]]) -> Iterator[str]:
    """A sentence for each function that several assignments ask for; `functions` has their names by stem."""
    for name in sorted({name for asked in functions.values() for name in asked}):
        stems = [stem for stem, asked in functions.items() if name in asked]
        if len(stems) > 1:
            yield (
                f"{' and '.join(f'solutions/{stem}.py' for stem in stems)} both define {name}, so the grader"
                " cannot recognize a renamed notebook: rename the function in one of them"
            )


def _one_ahead(begun: Iterator[Callable[[], AssignmentReport]]) -> Iterator[Callable[[], AssignmentReport]]:
    """The same functions; the next has begun before the caller waits for the last, so no worker is idle."""
    waiting = next(begun, None)
    while waiting is not None:
        following = next(begun, None)
        yield waiting
        waiting = following


@dataclass(frozen=True)
class _Doctor:
    """Examines assignments; `question` is the id of the only question to examine, or None."""

    course: Course
    observers: ObserverPool
    seeds: Sequence[int]
    question: str | None
    accept: bool

    def _about_contracts(self, course: Course, stem: str, *, is_whole: bool) -> Iterator[str]:
        """Yield what is wrong with the contracts of the examined questions, or differs from their text."""
        assignment = course.assignment(stem)
        ids = [q.id for q in assignment.questions if self.question in {None, q.id}]
        asked = assignment.with_only(ids)
        functions = {question.function for question in asked.questions}
        contracts = [each for each in course.contracts(stem) if is_whole or each.function in functions]
        yield from contract_complaints(asked, course.starter_code_as_written(stem), contracts)
        yield from snippet_complaints(contracts)

    def begin(self, stem: str, memory: Memory) -> Callable[[], AssignmentReport]:
        """Begin to examine an assignment, unless its report is remembered; the function waits for the end."""
        key = fingerprint("whole", self.question, list(self.seeds), contents(_files(self.course.root, stem)))
        stored = None if self.accept else memory.recall(key)
        if stored is not None:
            return lambda: msgspec.convert(stored, AssignmentReport)
        self.observers.prepare()
        course, todos = self.course.written_part(stem), todos_of(self.course.root, stem)
        is_whole = self.question is None and not todos
        answers = answers_of(course, stem, self.question)
        undefined = undefined_names(answers)
        outcomes = read_outcomes(outcomes_file(course.answers_file(stem)))
        released = (
            begin_released_notebook(course, stem, self.seeds[0], self.observers, memory) if is_whole else list
        )
        begun = [
            QuestionTrial(
                course,
                stem,
                question,
                [a for a in answers if a.question == question.id and a not in chain(*undefined.values())],
                outcomes.get(question.id, {}),
                self.seeds,
                self.observers,
                memory,
            ).begin()
            for question in course.assignment(stem).questions
            if self.question in {None, question.id}
        ]

        def finish() -> AssignmentReport:
            judged = [question() for question in begun]
            report = AssignmentReport(stem, todos=[*map(str, todos)])
            report.complaints += left_in(course.check_file(stem))
            report.complaints += self._about_contracts(course, stem, is_whole=is_whole)
            report.complaints += complaints_about_names(undefined, course.answers_file(stem))
            for question in judged:
                add_question(report, question)
            file = outcomes_file(course.answers_file(stem))
            now = compare_outcomes(report, judged, answers, outcomes, file, accept=self.accept)
            if self.accept:
                report.written = changed_outcomes(outcomes, now)
                write_outcomes(file, now if is_whole else {**outcomes, **now})
            report.complaints += stale_equals(course, stem, self.question)
            report.complaints += released()
            is_certain = all(answer.is_certain for question in judged for answer in question.judged.values())
            if is_certain and not report.complaints and not self.accept:
                memory.remember(key, msgspec.to_builtins(report))
            memory.save(everything=is_whole)
            return report

        return finish
