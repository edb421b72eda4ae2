"""The course: every assignment with its rubric, found by the layout of the folders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from grader.course.assignment import Assignment
from grader.course.author_file import Blank
from grader.course.master import read_assignment
from grader.course.names import ANSWERS, CHECKS, MASTER
from grader.course.rubric import Rubric, read_rubric
from grader.course.settings import FILE_NAME, Settings, read_settings
from grader.course.unfinished import blanks_of, questions_left_out, require_finished
from grader.errors import CourseError, GraderError
from grader.scores import apportioned
from grader.version import __version__, code_hash


@dataclass(frozen=True)
class Course:
    """A folder with ``solutions/`` and ``tests/hidden/``, perhaps a ``course.toml``; `stems` are in order."""

    root: Path
    stems: tuple[str, ...]

    @classmethod
    def find(cls, start: Path | None = None) -> Course:
        """The course at or above a folder (by default the current one), else the course this package lies in.

        Raises:
            GraderError: there is none.
        """
        here = (start or Path.cwd()).resolve()
        for folder in (here, *here.parents, Path(__file__).resolve().parents[2]):
            stems = _masters(folder)
            if stems and (folder / "tests" / "hidden").is_dir():
                return cls(folder, stems)
        raise GraderError(
            f"{here} is not inside a course: go to the folder that holds solutions/ and tests/hidden/"
        )

    @property
    def assignments(self) -> dict[str, Assignment]:
        """All assignments by stem; CourseError where a master contradicts itself."""
        return {stem: self.assignment(stem) for stem in self.stems}

    def assignment(self, stem: str) -> Assignment:
        """What the master of an assignment says; CourseError where it contradicts itself."""
        if stem not in self.known_assignments:
            self.known_assignments[stem] = read_assignment(self.root / MASTER.format(stem))
        return self.known_assignments[stem]

    @cached_property
    def known_assignments(self) -> dict[str, Assignment]:
        return {}

    def only(self, stem: str, questions: Collection[str] | None = None) -> Course:
        """The course with one assignment and, if `questions` names ids, with only these of its questions.

        Raises:
            CourseError: its files contradict themselves; looked at only where questions are named.
        """
        reduced = replace(self, stems=(stem,))
        if questions is not None:
            assignment, rubric = reduced.assignment(stem), reduced.rubric(stem)
            reduced.known_assignments[stem] = assignment.only(questions)
            reduced.known_rubrics[stem] = rubric.only(questions)
        return reduced

    def only_finished(self) -> Course:
        """The course without the assignments that still have blanks; perhaps without any."""
        stems = tuple(stem for stem in self.stems if not blanks_of(self.root, stem))
        return self if stems == self.stems else replace(self, stems=stems)

    def finished(self, wanted: Collection[str] = ()) -> Course:
        """The same, but an unfinished assignment that was asked for by name is an error.

        Raises:
            CourseError: an assignment in `wanted` has blanks, or every assignment has.
        """
        reduced = self.only_finished()
        for stem in self.stems:
            if stem in wanted or not reduced.stems:
                require_finished(self.root, stem)
        return reduced

    def only_filled(self, stem: str) -> tuple[Course, list[Blank]]:
        """The course with one assignment, reduced to the questions that can be judged, and all its blanks.

        Such a question has no blank in its cell of the master, and at least one hidden check without a blank.
        Its other checks and its answers may have blanks; these are left out.

        Raises:
            CourseError: there is no such question, or what is filled in breaks a rule.
        """
        blanks = blanks_of(self.root, stem)
        if not blanks:
            return self.only(stem), []
        judged = {check.question for check in self.only(stem).rubric(stem).checks}
        if not judged:
            require_finished(self.root, stem)
        return self.only(stem, judged), blanks

    @cached_property
    def functions(self) -> dict[str, Collection[str]]:
        """The names each assignment asks for, by stem."""
        return {stem: [q.function for q in a.questions] for stem, a in self.assignments.items()}

    @cached_property
    def settings(self) -> Settings:
        """What its instructor chose; CourseError where ``course.toml`` says something it may not."""
        return read_settings(self.root / FILE_NAME, self._questions)

    def _questions(self) -> dict[str, Collection[str] | None]:
        """The ids of every master's questions; None if it cannot be read, which others complain about."""
        known: dict[str, Collection[str] | None] = dict.fromkeys(_masters(self.root))
        with suppress(CourseError):
            for stem, assignment in self.assignments.items():
                unknown = questions_left_out(assignment.path)
                known[stem] = [*(q.id for q in assignment.questions if not q.is_end_task), *unknown]
        return known

    def check_file(self, stem: str) -> Path:
        """Where an assignment's hidden checks are."""
        return self.root / CHECKS.format(stem)

    def answers_file(self, stem: str) -> Path:
        """Where an assignment's known answers are."""
        return self.root / ANSWERS.format(stem)

    def rubric(self, stem: str) -> Rubric:
        """The hidden checks of an assignment with the points that are set; CourseError for a broken rule."""
        if stem not in self.known_rubrics:
            assignment = self.assignment(stem)
            rubric = read_rubric(self.check_file(stem), assignment.questions, assignment.demonstrations)
            self.known_rubrics[stem] = _worth(rubric, self.settings.points.get(stem, {}))
        return self.known_rubrics[stem]

    @cached_property
    def known_rubrics(self) -> dict[str, Rubric]:
        return {}

    def points(self, stem: str) -> dict[str, float]:
        """What every question of an assignment is worth, by its id; an end task is worth nothing."""
        return {
            q.id: self.rubric(stem).max_score(q.id)
            for q in self.assignment(stem).questions
            if not q.is_end_task
        }

    def all_points(self) -> dict[str, dict[str, float]]:
        """What every question is worth, by stem and id."""
        return {stem: self.points(stem) for stem in self.stems}

    def fingerprint(self, stem: str) -> str:
        """SHA-256 of all that decides an assignment's verdicts: master, checks, helpers, points, grader."""
        hashed = hashlib.sha256(f"{__version__} {code_hash()}".encode())
        helpers = self.root / "tests" / "hidden" / "inside.py"
        for path in (self.assignment(stem).path, self.check_file(stem), helpers):
            if path.is_file():
                hashed.update(hashlib.sha256(path.read_bytes()).digest())
        chosen = [self.settings.partial_credit, self.settings.points.get(stem, {})]
        hashed.update(json.dumps(chosen, sort_keys=True).encode())
        return hashed.hexdigest()

    def select(self, wanted: Collection[str]) -> tuple[str, ...]:
        """The stems asked for, or all; GraderError if there is no such assignment."""
        for stem in wanted:
            if stem not in self.stems:
                raise GraderError(f"there is no assignment {stem}; this course has {', '.join(self.stems)}")
        return tuple(stem for stem in self.stems if not wanted or stem in wanted)


def _masters(root: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in root.glob(MASTER.format("[0-9][0-9]_*"))))


def _worth(rubric: Rubric, points: Mapping[str, float]) -> Rubric:
    """A rubric whose checks' points are scaled to what their questions shall be worth."""
    worth = {check.id: check.points for check in rubric.checks}
    for question, wanted in points.items():
        own = rubric.checks_of(question)
        if not own:
            continue  # it is not written yet
        shares = apportioned([check.points for check in own], wanted)
        worth.update({check.id: share for check, share in zip(own, shares, strict=True)})
    return replace(rubric, checks=tuple(replace(check, points=worth[check.id]) for check in rubric.checks))
