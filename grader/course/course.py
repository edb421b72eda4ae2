"""A course: its assignments and their rubrics, found by the layout of the folders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from grader.course.assignment import ANSWERS, CHECKS, MASTER, Assignment
from grader.course.author_file import Blank, blanks_of, questions_left_out, require_finished
from grader.course.master import read_assignment
from grader.course.rubric import REFERENCE_LIMITS, Rubric, read_rubric
from grader.course.settings import FILE_NAME, Settings, read_settings
from grader.errors import CourseError, GraderError
from grader.notebooks.reader import cells_of
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe
from grader.sandbox.zygote import Zygote
from grader.scores import apportioned
from grader.version import __version__, code_hash


@dataclass(frozen=True)
class Course:
    """A folder with ``solutions/`` and ``tests/hidden/``, perhaps a ``course.toml``; `stems` are in order."""

    root: Path
    stems: tuple[str, ...]

    @classmethod
    def find(cls, start: Path | None = None) -> Course:
        """The course at or above a folder, by default the current one; else the course of this package."""
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
        """The course with only this assignment and, if `questions` names ids, only these of its questions.

        Its files are read, and a CourseError says what contradicts itself, only where `questions` is given.
        """
        reduced = replace(self, stems=(stem,))
        if questions is not None:
            assignment, rubric = reduced.assignment(stem), reduced.rubric(stem)
            reduced.known_assignments[stem] = assignment.only(questions)
            reduced.known_rubrics[stem] = rubric.only(questions)
        return reduced

    def only_finished(self) -> Course:
        """The course without the assignments that still have blanks."""
        stems = tuple(stem for stem in self.stems if not blanks_of(self.root, stem))
        return self if stems == self.stems else replace(self, stems=stems)

    def finished(self, wanted: Collection[str] = ()) -> Course:
        """The course without unfinished assignments.

        Raises:
            CourseError: an assignment in `wanted` has blanks, or every assignment has.
        """
        reduced = self.only_finished()
        for stem in self.stems:
            if stem in wanted or not reduced.stems:
                require_finished(self.root, stem)
        return reduced

    def only_filled(self, stem: str) -> tuple[Course, list[Blank]]:
        """The course with only this assignment and its questions that can be judged; and all its blanks.

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

    def stems_asking(self, stems: Collection[str], question: str) -> list[str]:
        """Those of some assignments that have a question of this id.

        Raises:
            GraderError: none has it, or its cell still has a blank; the text says which there are.
        """
        ids = {stem: [q.id for q in self.assignment(stem).questions] for stem in stems}
        having = [stem for stem in stems if question in ids[stem]]
        waiting = [stem for stem in stems if question in questions_left_out(self.assignment(stem).path)]
        if waiting and not having:
            raise GraderError(f"the cell of {question} in solutions/{waiting[0]}.py still has a blank")
        if not having:
            names = ", ".join(dict.fromkeys(name for group in ids.values() for name in group))
            raise GraderError(f"there is no question {question}; here are {names}")
        return having

    @cached_property
    def functions(self) -> dict[str, Collection[str]]:
        """The names that students complete, by stem."""
        return {stem: [q.function for q in a.questions] for stem, a in self.assignments.items()}

    @cached_property
    def settings(self) -> Settings:
        """The instructor's settings; CourseError where ``course.toml`` breaks a rule."""
        return read_settings(self.root / FILE_NAME, self._questions)

    def _questions(self) -> dict[str, Collection[str] | None]:
        """The ids of every master's questions; None if the master cannot be read."""
        ids: dict[str, Collection[str] | None] = dict.fromkeys(_masters(self.root))
        with suppress(CourseError):
            for stem, assignment in self.assignments.items():
                left_out = questions_left_out(assignment.path)
                ids[stem] = [*(q.id for q in assignment.questions if not q.is_end_task), *left_out]
        return ids

    def check_file(self, stem: str) -> Path:
        """The path of an assignment's hidden checks."""
        return self.root / CHECKS.format(stem)

    def answers_file(self, stem: str) -> Path:
        """The path of an assignment's known answers."""
        return self.root / ANSWERS.format(stem)

    def rubric(self, stem: str) -> Rubric:
        """The rubric of an assignment, with the points of the settings; CourseError for a broken rule."""
        if stem not in self.known_rubrics:
            assignment = self.assignment(stem)
            rubric = read_rubric(self.check_file(stem), assignment.questions, assignment.demonstrations)
            self.known_rubrics[stem] = _with_points(rubric, self.settings.points.get(stem, {}))
        return self.known_rubrics[stem]

    @cached_property
    def known_rubrics(self) -> dict[str, Rubric]:
        return {}

    def points(self, stem: str) -> dict[str, float]:
        """The points of every question of an assignment, by id, without the end task."""
        return {
            q.id: self.rubric(stem).max_score(q.id)
            for q in self.assignment(stem).questions
            if not q.is_end_task
        }

    def all_points(self) -> dict[str, dict[str, float]]:
        """The points of every question, by stem and id."""
        return {stem: self.points(stem) for stem in self.stems}

    def fingerprint(self, stem: str) -> str:
        """SHA-256 of all that decides an assignment's verdicts: master, checks, helpers, points, grader."""
        digest = hashlib.sha256(f"{__version__} {code_hash()}".encode())
        helpers = self.root / "tests" / "hidden" / "inside.py"
        for path in (self.assignment(stem).path, self.check_file(stem), helpers):
            if path.is_file():
                digest.update(hashlib.sha256(path.read_bytes()).digest())
        settings = [self.settings.partial_credit, self.settings.points.get(stem, {})]
        digest.update(json.dumps(settings, sort_keys=True).encode())
        return digest.hexdigest()

    def select(self, wanted: Collection[str]) -> tuple[str, ...]:
        """The stems asked for, or all; GraderError if there is no such assignment."""
        for stem in wanted:
            if stem not in self.stems:
                raise GraderError(f"there is no assignment {stem}; this course has {', '.join(self.stems)}")
        return tuple(stem for stem in self.stems if not wanted or stem in wanted)


def observe_reference(
    zygote: Zygote, course: Course, stem: str, seed: int, *, oracle: bool = True
) -> Evidence:
    """Observe the reference exactly like a submission; with `oracle`, an oracle may replace its answer."""
    cells = cells_of(course.assignment(stem).reference)
    return observe(zygote, cells, course.rubric(stem).plan(seed, oracle=oracle), REFERENCE_LIMITS)


def _masters(root: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in root.glob(MASTER.format("[0-9][0-9]_*"))))


def _with_points(rubric: Rubric, points: Mapping[str, float]) -> Rubric:
    """The rubric with the points of its checks scaled, so that questions are worth `points`."""
    by_check = {check.id: check.points for check in rubric.checks}
    for question, worth in points.items():
        checks = rubric.checks_of(question)
        if not checks:
            continue  # the question is not written yet
        shares = apportioned([check.points for check in checks], worth)
        by_check.update({check.id: share for check, share in zip(checks, shares, strict=True)})
    return replace(rubric, checks=tuple(replace(check, points=by_check[check.id]) for check in rubric.checks))
