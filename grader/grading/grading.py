"""Outside: grades a folder of submissions, from notebooks to results.

Observing runs in parallel; judging happens in batches; every result is written as soon as it is known,
so a run that was stopped goes on where it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader.course.course import Course
from grader.errors import GraderError
from grader.grading.evidence_store import Conditions, Observatory
from grader.grading.judge import MAX_BATCH, judge
from grader.grading.outcome import (
    Outcome,
    absent_students,
    note_of_broken,
    note_of_others,
    unlisted_students,
    without_notebook,
)
from grader.grading.progress import Progress, Standing
from grader.grading.scoring import PartialCredit
from grader.grading.submission import Submission, find_submissions
from grader.reports.charts import Charts
from grader.reports.class_report import report_html
from grader.reports.student_pages import StudentPages
from grader.results.changes import record
from grader.results.folder import ResultsFolder
from grader.results.gradebook import gradebook
from grader.results.index import Index
from grader.results.result import Result, failed, graded
from grader.sandbox.evidence import Evidence
from grader.sandbox.plan import TimeLimits
from grader.text import did_you_mean
from grader.version import __version__

_STUBS = ""  # a name that no submission has
RELEASED = ".handout/release.json"  # what a release leaves; see grader/integrations/release/__init__.py


@dataclass(frozen=True)
class Options:
    """What the person who grades may choose.

    Attributes:
        assignments: only these; empty for all.
        students: only these; empty for all.
        jobs: workers at a time, on this machine.
        force: grade again what is already graded.
        sandbox: False forgoes the cage.
        limits: seconds for a cell, a question and a notebook.
        scheduler: address of a Dask scheduler whose machines observe in the place of this one, or None.
    """

    assignments: Collection[str] = ()
    students: Collection[str] = ()
    jobs: int = 1
    force: bool = False
    sandbox: bool = True
    limits: TimeLimits = field(default_factory=TimeLimits)
    scheduler: str | None = None


_MAX_SIZE = 3 << 20  # bytes of the answers in a batch; decoded they take ten times as much, and more


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
        return len(self.content) == MAX_BATCH - 1 or self._size > _MAX_SIZE  # the stubs come along


def grade(course: Course, submissions: Path, out: Path, options: Options, progress: Progress) -> Outcome:
    """Grade every notebook below a folder.

    Args:
        course: the course.
        submissions: the folder; its sub-folders name the students.
        out: where results go.
        options: see Options.
        progress: is told how far the run is.

    Raises:
        GraderError: the folders, the course or the protection do not allow it; nothing is half-written.
    """
    _refuse_a_course_of_a_student(course, submissions)
    _refuse_what_others_read(submissions, out)
    course = course.finished(options.assignments)
    wanted = course.select(options.assignments)
    index = Index.load(out, course.functions)
    found = find_submissions(submissions, course.functions, index.gists)
    selected = [s for s in found if _is_selected(s, wanted, options)]
    if not selected:
        asked = ", ".join([*options.students, *options.assignments])
        students = {s.student for s in found}
        meant = "".join(
            f"; {did_you_mean(name, students)}" for name in options.students if name not in students
        )
        raise GraderError(f"{submissions}: nothing was handed in that belongs to {asked}{meant}")
    with ResultsFolder(out, index) as folder:
        return _Grading(course, folder, selected, options, progress).run(found, submissions)


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


def _refuse_what_others_read(submissions: Path, out: Path) -> None:
    """Results hold the seed and expected values, and may not lie among what students handed in or get.

    Raises:
        GraderError: the folder is one of these.
    """
    results, handed_in = out.resolve(), submissions.resolve()
    if handed_in in (results, results / "submissions"):
        raise GraderError(
            f"{out}: results would lie among the submissions of {submissions}: choose another --out"
        )
    for folder in (results, *results.parents):
        if (folder / RELEASED).is_file():
            raise GraderError(
                f"{out} lies in what `release` wrote for students, and results hold what they must not see:"
                " choose another --out"
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
        self._shown: dict[str, bool] | None = asdict(course.settings.feedback)
        self._standing = Standing()
        self._broken: dict[str, list[str]] = defaultdict(list)  # whose facts a check broke on, by the cause
        preload = {module for submission in selected for module in submission.preload}
        conditions = Conditions(
            options.jobs,
            options.force,
            options.sandbox,
            options.limits,
            tuple(sorted(preload)),
            options.scheduler,
        )
        tell = lambda doing: self._tell(doing=doing)  # noqa: E731
        self._observatory = Observatory(course, self._rubrics, folder, conditions, tell)
        self._pages = StudentPages(folder, self._rubrics, self._observatory, course.settings.feedback)

    def run(self, found: Sequence[Submission], submissions: Path) -> Outcome:
        former = self._folder.run()
        with self._observatory:
            waiting = [s for s in self._selected if self._options.force or not self._is_current(s)]
            seeds = self._observatory.seeds(waiting)
            again = sum(s.error is None and self._is_graded(s) for s in waiting)
            outdated = self._outdated(former, waiting)
            readable = [s for s in waiting if s.error is None]
            for stem, seed in sorted({(s.assignment or "", self._observatory.seed_of(s)) for s in readable}):
                self._observatory.require_sound_checks(stem, seed)  # before anything is written
            if waiting or outdated:
                self._write_run(submissions, seeds, finished=False)
            self._tell(before=len(self._selected) - len(waiting), total=len(waiting))
            for submission in waiting:
                if submission.error is not None:
                    self._write_unreadable(submission)
                    self._tell_one_more(in_error=True)
            self._observe_and_judge(readable)
            self._pages.write_anew(outdated)
            if len(self._selected) == len(found):
                self._shown = asdict(self._course.settings.feedback)
            self._write_run(submissions, seeds, finished=True)
        rows = [row for s in found if (row := self._folder.row(s.student, s.name)) is not None]
        absent = absent_students(found, submissions)
        points = {stem: self._course.points(stem) for stem in {stem for _, stem in absent}}
        book = gradebook(rows, absent, points)
        same_class = former.get("submissions") == str(submissions.resolve())
        changes, unknown = record(self._folder, book, same_class=same_class)
        others = note_of_others(self._folder, former, submissions, len(rows))
        notes = filter(None, [others, unknown, *note_of_broken(self._broken)])
        outcome = Outcome(
            rows,
            absent,
            self._observatory.protection.name,
            len(waiting) - again,
            without_notebook(found, submissions),
            " ".join(notes) or None,
            changes,
            again,
            unlisted_students(found, submissions),
            points,
        )
        self._write_class(outcome, book)
        self._folder.write_index(found)
        return outcome

    def _outdated(self, former: Mapping[str, Any], waiting: Sequence[Submission]) -> list[Submission]:
        """Whose result holds, while the feedback shows what the course showed before.

        Until all of them are written anew, the run does not say what feedback shows.
        """
        if not former or former.get("feedback") == self._shown:
            return []
        self._shown = None
        anew = {(s.student, s.name) for s in waiting}
        return [s for s in self._selected if (s.student, s.name) not in anew]

    def _write_class(self, outcome: Outcome, book: str) -> None:
        """The gradebook and the report, over everything that is known."""
        path = self._folder.path
        self._folder.write(path / "gradebook.csv", book)
        charts = Charts.load(path)
        report = report_html(outcome.rows, outcome.absent, outcome.protection, outcome.points, charts)
        self._folder.write(path / "report.html", report)
        charts.save(self._folder)

    def _observe_and_judge(self, submissions: Sequence[Submission]) -> None:
        """Observe in parallel, judge what has come in whenever a batch is full."""
        batches: dict[tuple[str, int], _Batch] = defaultdict(_Batch)
        for submission, seed, evidence in self._observatory.observe(submissions):
            key = submission.assignment or "", seed
            batches[key].add(submission, evidence)
            self._tell_one_more(in_error=evidence.fault is not None)
            if batches[key].is_full:
                self._judge(*key, batches.pop(key).content)
        for key, batch in batches.items():
            self._judge(*key, batch.content)

    def _judge(self, stem: str, seed: int, batch: Sequence[tuple[Submission, Evidence]]) -> None:
        rubric = self._rubrics[stem]
        names = {f"{submission.student}/{submission.name}": evidence for submission, evidence in batch}
        names[_STUBS] = self._observatory.stubs(stem, seed)
        verdicts = judge(rubric, names, self._observatory.reference(stem, seed))
        most = self._course.settings.partial_credit
        credit = PartialCredit.of(most, rubric.checks, verdicts[_STUBS])
        for submission, evidence in batch:
            name = f"{submission.student}/{submission.name}"
            for cause in {v.cause for v in verdicts[name].values() if v.cause}:
                self._broken[cause].append(name)
            result = graded(
                submission,
                rubric,
                evidence,
                verdicts[name],
                self._provenance(submission),
                credit,
            )
            self._write(submission, result, evidence, seed)

    def _write_unreadable(self, submission: Submission) -> None:
        rubric = self._rubrics.get(submission.assignment or "")
        error = submission.error or "This notebook cannot be read."
        self._write(submission, failed(submission, error, self._provenance(submission), rubric))

    def _write(
        self, submission: Submission, result: Result, evidence: Evidence | None = None, seed: int = 0
    ) -> None:
        """Feedback first: a result that is there means that its feedback is too."""
        self._pages.write(submission, result, evidence, seed)
        self._folder.write_result(result, submission.name)

    def _tell(self, **changes: Any) -> None:
        self._standing = replace(self._standing, **changes)
        self._progress(self._standing)

    def _tell_one_more(self, *, in_error: bool) -> None:
        """One is done: what was observed stays known, though it may still wait to be judged."""
        done, errors = self._standing.done + 1, self._standing.errors + in_error
        self._tell(done=done, errors=errors)

    def _is_current(self, submission: Submission) -> bool:
        """Whether the stored result is what grading would give again."""
        student, name = submission.student, submission.name
        row = self._folder.row(student, name)
        if row is None or not self._folder.has_feedback(student, name):
            return False
        stored = {**dict(row.provenance), "graded_at": None}
        return (
            stored == {**self._provenance(submission), "graded_at": None}
            and (row.notebook, row.superseded) == (submission.relative, submission.superseded)
            and (submission.error is None or row.error == submission.error)
            and self._observatory.is_current(submission)
        )

    def _is_graded(self, submission: Submission) -> bool:
        """Whether there is a result, and what it was judged by still holds: then only the judging is new."""
        return self._folder.row(
            submission.student, submission.name
        ) is not None and self._observatory.is_current(submission)

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
            "submissions": str(submissions.resolve()),
            "grader": __version__,
            "torch": self._observatory.protection.torch,
            "protection": self._observatory.protection.name,
            "limits": asdict(self._options.limits),
            "feedback": self._shown,
        }
        self._folder.write_run(run)
