"""Outside: grades a folder of submissions, from notebooks to results.

Observing runs in parallel; judging happens in batches; every result is written as soon as it is known,
so a run that was stopped goes on where it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader import __version__
from grader.course import Course
from grader.errors import GraderError
from grader.evidence import Evidence
from grader.folder import ResultsFolder
from grader.gradebook import gradebook
from grader.judge import MAX_BATCH, judge
from grader.observatory import Conditions, Observatory
from grader.observer import Limits
from grader.pages import failed_cells, feedback_html, feedback_markdown, report_html
from grader.preload import modules_to_preload
from grader.result import Result, failed, graded
from grader.submission import Submission, find_submissions, read_roster
from grader.text import printable


@dataclass(frozen=True)
class Options:
    """What the person who grades may choose.

    Attributes:
        assignments: only these; empty for all.
        students: only these; empty for all.
        jobs: workers at a time.
        force: grade again what is already graded.
        sandbox: False forgoes the cage.
        limits: seconds for a cell, a question and a notebook.
    """

    assignments: Collection[str] = ()
    students: Collection[str] = ()
    jobs: int = 1
    force: bool = False
    sandbox: bool = True
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Outcome:
    """What grading gave.

    Attributes:
        results: name and result of every submission that was found and has been graded now or before.
        absent: (student, stem) of the roster without a submission.
        protection: what confined the students' code.
        fresh: how many results are new.
        without: folders in which there is no notebook.
    """

    results: list[tuple[str, Result]]
    absent: list[tuple[str, str]]
    protection: str
    fresh: int
    without: list[str]


Progress = Callable[[int, int], None]

_MAX_SIZE = 10 << 20  # bytes of the answers in a batch; an ordinary notebook's are a hundred thousand


class _Batch:
    """Evidence that waits to be judged together: not too much of it, whatever notebooks answered."""

    def __init__(self) -> None:
        self.content: list[tuple[Submission, Evidence]] = []
        self._size = 0

    def add(self, submission: Submission, evidence: Evidence) -> None:
        self.content.append((submission, evidence))
        self._size += evidence.size

    @property
    def is_full(self) -> bool:
        return len(self.content) == MAX_BATCH or self._size > _MAX_SIZE


def grade(course: Course, submissions: Path, out: Path, options: Options, progress: Progress) -> Outcome:
    """Grade every notebook below a folder.

    Args:
        course: the course.
        submissions: the folder; its sub-folders name the students.
        out: where results go.
        options: see Options.
        progress: is called with the numbers of finished and of all submissions to grade.

    Raises:
        GraderError: the folders, the course or the protection do not allow it; nothing is half-written.
    """
    _refuse_a_course_of_a_student(course, submissions)
    wanted = course.select(options.assignments)
    found = find_submissions(submissions, course.functions)
    selected = [s for s in found if _is_selected(s, wanted, options)]
    if not selected:
        asked = ", ".join([*options.students, *options.assignments])
        raise GraderError(f"{submissions}: nothing was handed in that belongs to {asked}")
    return _Grading(course, ResultsFolder(out), selected, options, progress).run(found, submissions)


def _refuse_a_course_of_a_student(course: Course, submissions: Path) -> None:
    """A course's checks run unconfined, so none that was handed in may be taken for the course.

    Raises:
        GraderError: the course lies in the folder that is to be graded.
    """
    handed_in = submissions.resolve()
    if handed_in in (course.root, *course.root.parents):
        raise GraderError(
            f"{course.root} holds a course, but lies in {submissions}, where only students' work may be: go "
            "to the folder of your own course, and name the folder that holds the students' folders"
        )


def _is_selected(submission: Submission, wanted: Collection[str], options: Options) -> bool:
    named = not options.students or submission.student in options.students
    return named and (not options.assignments or submission.assignment in wanted)


class _Grading:
    """One run."""

    def __init__(
        self,
        course: Course,
        folder: ResultsFolder,
        selected: Sequence[Submission],
        options: Options,
        progress: Progress,
    ) -> None:
        self._course, self._folder, self._options, self._progress = course, folder, options, progress
        self._selected = selected
        self._rubrics = {
            stem: course.rubric(stem) for stem in sorted({s.assignment for s in selected if s.assignment})
        }
        self._checks_sha256 = {stem: course.fingerprint(stem) for stem in self._rubrics}
        self._done = 0
        preload = modules_to_preload(s.notebook for s in selected if s.notebook)
        conditions = Conditions(
            options.jobs, options.force, options.sandbox, options.limits, tuple(sorted(preload))
        )
        self._observatory = Observatory(course, self._rubrics, folder, conditions)

    def run(self, found: Sequence[Submission], submissions: Path) -> Outcome:
        with self._observatory:
            waiting = [s for s in self._selected if self._options.force or not self._is_current(s)]
            self._progress(0, len(waiting))
            seeds = self._observatory.seeds(waiting)
            if waiting:
                self._write_run(submissions, seeds, finished=False)
            for submission in waiting:
                if submission.notebook is None:
                    self._write_unreadable(submission, len(waiting))
            self._observe_and_judge([s for s in waiting if s.notebook is not None], len(waiting))
            self._write_run(submissions, seeds, finished=True)
        results = [(s.name, r) for s in found if (r := self._folder.result(s.student, s.name)) is not None]
        outcome = Outcome(
            results,
            _absent(found, submissions),
            self._observatory.protection.name,
            len(waiting),
            _without(found, submissions),
        )
        self._write_class(outcome)
        return outcome

    def _write_class(self, outcome: Outcome) -> None:
        """The gradebook and the report, over everything that is known."""
        plain = [result for _, result in outcome.results]
        path = self._folder.path
        points = {stem: self._course.points(stem) for stem in {stem for _, stem in outcome.absent}}
        self._folder.write(path / "gradebook.csv", gradebook(plain, outcome.absent, points))
        self._folder.write(
            path / "report.html", report_html(outcome.results, outcome.absent, outcome.protection)
        )

    def _observe_and_judge(self, submissions: Sequence[Submission], total: int) -> None:
        """Observe in parallel, judge what has come in whenever a batch is full."""
        batches: dict[tuple[str, int], _Batch] = defaultdict(_Batch)
        for submission, seed, evidence in self._observatory.observe(submissions):
            key = submission.assignment or "", seed
            batches[key].add(submission, evidence)
            if batches[key].is_full:
                self._judge(*key, batches.pop(key).content, total)
        for key, batch in batches.items():
            self._judge(*key, batch.content, total)

    def _judge(self, stem: str, seed: int, batch: Sequence[tuple[Submission, Evidence]], total: int) -> None:
        names = {f"{submission.student}/{submission.name}": evidence for submission, evidence in batch}
        verdicts = judge(self._rubrics[stem], names, self._observatory.reference(stem, seed))
        for submission, evidence in batch:
            result = graded(
                submission,
                self._rubrics[stem],
                evidence,
                verdicts[f"{submission.student}/{submission.name}"],
                self._provenance(submission),
            )
            self._write(submission, result, failed_cells(evidence), total)

    def _write_unreadable(self, submission: Submission, total: int) -> None:
        rubric = self._rubrics.get(submission.assignment or "")
        error = submission.error or "This notebook cannot be read."
        self._write(submission, failed(submission, error, self._provenance(submission), rubric), [], total)

    def _write(self, submission: Submission, result: Result, cells: Sequence[str], total: int) -> None:
        """Feedback first: a result that is there means that its feedback is too."""
        feedback = self._folder.path / "feedback" / submission.student / submission.name
        self._folder.write(feedback.with_name(f"{submission.name}.md"), feedback_markdown(result, cells))
        self._folder.write(feedback.with_name(f"{submission.name}.html"), feedback_html(result, cells))
        self._folder.write_result(result, submission.name)
        self._done += 1
        self._progress(self._done, total)

    def _is_current(self, submission: Submission) -> bool:
        """Whether the stored result is what grading would give again."""
        result = self._folder.result(submission.student, submission.name)
        if not isinstance(result, dict) or not self._observatory.is_current(submission):
            return False
        stored = {**result.get("provenance", {}), "graded_at": None}
        same: dict[str, Any] = {"notebook": submission.relative, "superseded": list(submission.superseded)}
        if submission.notebook is None:
            same["error"] = submission.error
        return (
            stored == {**self._provenance(submission), "graded_at": None} and same.items() <= result.items()
        )

    def _provenance(self, submission: Submission) -> dict[str, str | None]:
        return {
            "notebook_sha256": submission.sha256,
            "checks_sha256": self._checks_sha256.get(submission.assignment or ""),
            "grader": __version__,
            "torch": self._observatory.protection.torch,
            "protection": self._observatory.protection.name,
            "graded_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }

    def _write_run(self, submissions: Path, seeds: Sequence[int], *, finished: bool) -> None:
        run: dict[str, Any] = {
            "seed": seeds[0],
            "earlier_seeds": seeds[1:],
            "finished": finished,
            "submissions": str(submissions),
            "grader": __version__,
            "torch": self._observatory.protection.torch,
            "protection": self._observatory.protection.name,
            "limits": asdict(self._options.limits),
        }
        self._folder.write_run(run)


def _without(found: Sequence[Submission], submissions: Path) -> list[str]:
    """Folders of students that hold no notebook: perhaps somebody handed in something else."""
    handed_in = {submission.relative.partition("/")[0] for submission in found}
    folders = (path.name for path in submissions.iterdir() if path.is_dir() and not path.is_symlink())
    return sorted(
        printable(name)
        for name in folders
        if not name.startswith((".", "__")) and printable(name) not in handed_in
    )


def _absent(found: Sequence[Submission], submissions: Path) -> list[tuple[str, str]]:
    """Who of the roster did not hand in an assignment that anybody handed in."""
    handed_in = {(submission.student, submission.assignment) for submission in found}
    stems = sorted({submission.assignment for submission in found if submission.assignment})
    expected = ((student, stem) for student in read_roster(submissions) for stem in stems)
    return [pair for pair in expected if pair not in handed_in]
