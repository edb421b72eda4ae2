"""A course: its assignments and their rubrics, found by the layout of the folders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from grader.course.assignment import ANSWERS, CHECKS, SOURCE, Assignment
from grader.course.author_file import require_finished, todos_in, todos_of
from grader.course.contract import Contract, contracts_defined
from grader.course.contract_text import with_contracts
from grader.course.notebook_source import read_assignment
from grader.course.rubric import REFERENCE_LIMITS, Rubric, import_checks, read_rubric
from grader.course.settings import FILE_NAME, Settings, read_settings
from grader.errors import CourseError, GraderError
from grader.notebooks.reader import cells_of
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe, observe_with_sensitivity
from grader.sandbox.plan import ObservationPlan
from grader.sandbox.zygote import Zygote
from grader.scores import apportioned
from grader.version import __version__, code_hash

_Whole = TypeVar("_Whole", Assignment, Rubric)


@dataclass(frozen=True)
class Course:
    """A folder with ``solutions/`` and ``tests/hidden/``, perhaps a ``course.toml``.

    Attributes:
        root: the folder.
        stems: the names of its assignments, in order.
        counting: the ids of the questions that count, by stem; all questions count if an assignment is not in
            it.
    """

    root: Path
    stems: tuple[str, ...]
    counting: Mapping[str, Collection[str]] = field(default_factory=dict)
    # Files are read when they are first needed; a part of the course shares them with the whole course.
    _written: dict[str, Assignment] = field(default_factory=dict, repr=False, compare=False)
    _assignments: dict[str, Assignment] = field(default_factory=dict, repr=False, compare=False)
    _check_files: dict[str, Rubric] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def find(cls, start: Path | None = None) -> Course:
        """The course at or above a folder (default: the current one), otherwise that of this package."""
        here = (start or Path.cwd()).resolve()
        for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
            stems = _stems(folder)
            if stems and (folder / "tests" / "hidden").is_dir():
                return cls(folder, stems)
        raise GraderError(
            f"{here} is not inside a course: go to the folder that holds solutions/ and tests/hidden/"
        )

    def with_only(self, stem: str, questions: Collection[str] | None = None) -> Course:
        """The course with one assignment and, if `questions` is not empty, only these questions."""
        counting = self.counting if questions is None else {stem: questions}
        return replace(self, stems=(stem,), counting=counting)

    @property
    def assignments(self) -> dict[str, Assignment]:
        """All assignments by stem; raises CourseError if a notebook source contradicts itself."""
        return {stem: self.assignment(stem) for stem in self.stems}

    def assignment(self, stem: str) -> Assignment:
        """An assignment; raises CourseError if its notebook source contradicts itself."""
        return self._counting_part(self._whole_assignment(stem), stem)

    def _counting_part(self, whole: _Whole, stem: str) -> _Whole:
        """An assignment or its rubric, reduced to the questions that count."""
        return whole.with_only(self.counting[stem]) if stem in self.counting else whole

    def _as_written(self, stem: str) -> Assignment:
        """An assignment from its notebook source alone: its check file takes longer to read."""
        if stem not in self._written:
            self._written[stem] = read_assignment(self.root / SOURCE.format(stem))
        return self._written[stem]

    def _whole_assignment(self, stem: str) -> Assignment:
        """An assignment with the texts of its contracts; a broken check file is left to `rubric`."""
        if stem not in self._assignments:
            self._assignments[stem] = with_contracts(self._as_written(stem), self.contracts(stem))
        return self._assignments[stem]

    def contracts(self, stem: str) -> list[Contract]:
        """The contracts of an assignment's check file; empty if the file is missing or cannot be imported."""
        path = self.check_file(stem)
        if not path.is_file():
            return []
        with suppress(CourseError):
            return [*contracts_defined(import_checks(path)).values()]
        return []

    def starter_code_as_written(self, stem: str) -> dict[str, str]:
        """The starter code of an assignment by question, without the texts of its contracts."""
        return {question.id: question.starter_code for question in self._as_written(stem).questions}

    @property
    def finished_stems(self) -> tuple[str, ...]:
        """The assignments without a TODO."""
        return tuple(stem for stem in self.stems if not todos_of(self.root, stem))

    def without_unfinished(self, wanted: Collection[str] = ()) -> Course:
        """The course with only its finished assignments.

        Raises:
            CourseError: an assignment in `wanted` contains a TODO, or every assignment does.
        """
        finished = self.finished_stems
        for stem in self.stems:
            if stem in wanted or not finished:
                require_finished(self.root, stem)
        return replace(self, stems=finished)

    def unwritten(self, stem: str) -> set[str]:
        """The ids of the questions with a TODO in a cell, a contract, a picture or a check."""
        assignment = self.assignment(stem)
        lines = (todo.line for todo in todos_in(assignment.path))
        asked = {assignment.cell_at(line).question or "" for line in lines} - {""}
        return asked | self.rubric(stem).unwritten

    def written_part(self, stem: str) -> Course:
        """The course with only this assignment, and only its questions without a TODO.

        Raises:
            CourseError: there is no such question, or the assignment breaks a rule.
        """
        if not todos_of(self.root, stem):
            return self.with_only(stem)
        checked = {check.question for check in self.rubric(stem).checks}
        written = checked - self.unwritten(stem)
        if not written:
            require_finished(self.root, stem)
        return self.with_only(stem, written)

    def stems_asking(self, stems: Collection[str], question: str) -> list[str]:
        """The assignments among some that have a question with this id.

        Raises:
            GraderError: there is none, or it contains a TODO; the message lists the questions.
        """
        ids = {stem: [q.id for q in self.assignment(stem).questions] for stem in stems}
        having = [stem for stem in stems if question in ids[stem]]
        if not having:
            names = ", ".join(dict.fromkeys(name for group in ids.values() for name in group))
            raise GraderError(f"there is no question {question}; here are {names}")
        finished = self.finished_stems
        written = [stem for stem in having if stem in finished or question not in self.unwritten(stem)]
        if not written:
            places = "".join(f"\n  {todo}" for todo in todos_of(self.root, having[0]))
            raise GraderError(f"{question} of {having[0]} still says TODO; the lines of {having[0]}:{places}")
        return written

    @cached_property
    def functions(self) -> dict[str, Collection[str]]:
        """The functions and classes that students complete, by stem."""
        assignments = {stem: self._counting_part(self._as_written(stem), stem) for stem in self.stems}
        return {stem: [q.function for q in a.questions] for stem, a in assignments.items()}

    @property
    def starter_code(self) -> dict[str, Collection[str]]:
        """The code cells that students get, by stem, without the lines that contracts add to docstrings."""
        return {stem: self._as_written(stem).released_cells for stem in self.stems}

    @cached_property
    def settings(self) -> Settings:
        """The instructor's settings; raises CourseError if ``course.toml`` breaks a rule."""
        return read_settings(self.root / FILE_NAME, self._questions)

    def _questions(self) -> dict[str, Collection[str] | None]:
        """The ids of an assignment's questions; None if it is unknown or cannot be read."""
        ids: dict[str, Collection[str] | None] = dict.fromkeys(_stems(self.root))
        for stem in self.stems:
            with suppress(CourseError):
                questions = self._as_written(stem).questions
                ids[stem] = [question.id for question in questions if not question.is_bonus_task]
        return ids

    def check_file(self, stem: str) -> Path:
        """The path of an assignment's hidden checks."""
        return self.root / CHECKS.format(stem)

    def answers_file(self, stem: str) -> Path:
        """The path of an assignment's known answers."""
        return self.root / ANSWERS.format(stem)

    def rubric(self, stem: str) -> Rubric:
        """The rubric of an assignment, with the points of the settings; CourseError if it is invalid."""
        if stem not in self._check_files:
            assignment = self._whole_assignment(stem)
            rubric = read_rubric(self.check_file(stem), assignment.questions, assignment.demonstrations)
            self._check_files[stem] = _with_points(rubric, self.settings.points.get(stem, {}))
        return self._counting_part(self._check_files[stem], stem)

    def points(self, stem: str) -> dict[str, float]:
        """The points of every question of an assignment, by id, without the bonus task."""
        return {
            q.id: self.rubric(stem).max_score(q.id)
            for q in self.assignment(stem).questions
            if not q.is_bonus_task
        }

    def all_points(self) -> dict[str, dict[str, float]]:
        """The points of every question, by stem and id."""
        return {stem: self.points(stem) for stem in self.stems}

    def fingerprint(self, stem: str) -> str:
        """SHA-256 of everything except observations that decides an assignment's verdicts and feedback.

        This includes its notebook source, checks, helpers, points, the parts of its feedback, and the grader.
        """
        digest = hashlib.sha256(f"{__version__} {code_hash()}".encode())
        helpers = self.root / "tests" / "hidden" / "inside.py"
        for path in (self.assignment(stem).path, self.check_file(stem), helpers):
            if path.is_file():
                digest.update(hashlib.sha256(path.read_bytes()).digest())
        shown = asdict(self.settings.feedback)
        settings = [self.settings.partial_credit, self.settings.points.get(stem, {}), shown]
        digest.update(json.dumps(settings, sort_keys=True).encode())
        return digest.hexdigest()

    def select(self, wanted: Collection[str]) -> tuple[str, ...]:
        """The requested stems, or all of them; raises GraderError if there is no such assignment."""
        for stem in wanted:
            if stem not in self.stems:
                raise GraderError(f"there is no assignment {stem}; this course has {', '.join(self.stems)}")
        return tuple(stem for stem in self.stems if not wanted or stem in wanted)


def observe_reference(
    zygote: Zygote, course: Course, stem: str, seed: int, *, expected: bool = True
) -> Evidence:
    """Observe the reference like a submission; with `expected`, also its sensitivity to rounding."""
    cells = cells_of(course.assignment(stem).reference)
    asked = course.rubric(stem).plan(seed, expected=expected)

    def seen(plan: ObservationPlan) -> Evidence:
        return observe(zygote, cells, plan, REFERENCE_LIMITS)

    return observe_with_sensitivity(seen, asked) if expected else seen(asked)


def _stems(root: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in root.glob(SOURCE.format("[0-9][0-9]_*"))))


def _with_points(rubric: Rubric, points: Mapping[str, float]) -> Rubric:
    """The rubric with the points of its checks scaled, so that the questions are worth `points`."""
    by_check = {check.id: check.points for check in rubric.checks}
    for question, worth in points.items():
        checks = rubric.checks_of(question)
        if not checks:
            continue  # the question is not written yet
        shares = apportioned([check.points for check in checks], worth)
        by_check.update({check.id: share for check, share in zip(checks, shares, strict=True)})
    return replace(rubric, checks=tuple(replace(check, points=by_check[check.id]) for check in rubric.checks))
