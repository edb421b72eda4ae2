"""A result: the points of a submission, check by check, and the provenance of the grading.

From judging to JSON and back (`store.py`) there is this one form; reading keeps to these types.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Literal, get_args

from grader.contracts.finding import Kind, Place
from grader.course.assignment import BONUS_TASK
from grader.sandbox.decoding import Status
from grader.sandbox.evidence import RAISED, FailedCell, Failure
from grader.scores import counted_points, remarks, total
from grader.text import printable

SCHEMA = "autograd-grader/result/v2"
_MOST_HOURS = 48  # longer times are given in days
_MISSING_MODULE = re.compile(r"\bNo module named '(\w{1,60})")
MAX_CELLS = 20  # that are stored of each way to end
#: Of a bonus task, the best first.
BONUS_TASK_STATUSES = ("solved", "tried", "not tried")

#: ``partly``: right only for typical inputs.
Outcome = Literal["passed", "partly", "failed", "error"]
#: How much of a question a student earned; an answer earns a question that has no points.
Earned = Literal["full", "part", "nothing", "unanswered"]
EARNED: tuple[Earned, ...] = get_args(Earned)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check: its outcome, its points, and the texts that a student may read.

    Attributes:
        points: its points.
        case: the name of the case that a ``partly`` check fails.
        message: the diagnosis, with its case; None if the check passed.
        failure, kind, group, stopped, place, is_example: of its `Finding`; results of older graders do not
            have them.
        snippet: code that shows the fault in a cell of the student's notebook; empty if no short code does,
            and None if none was looked for.
    """

    id: str
    title: str
    outcome: Outcome
    points: float
    max_points: float
    message: str | None
    hint: str | None
    case: str | None = None
    failure: Failure | None = None
    kind: Kind | None = None
    group: str = ""
    stopped: bool = False
    place: Place | None = None
    is_example: bool = False
    snippet: str | None = None


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question, or the bonus task, and its checks.

    Attributes:
        score: with the adjustment.
        afterword: the text for a solved question; None before.
        cell: the number of the code cell that defined the function, or would have, but did not run to its
            end; None if it is unknown.
        digest: equal for answers that differ in names only, see `similar.py`; empty for others.
        own_nodes: how many nodes of the answer's syntax tree are not in the starter code.
        elsewhere: for a question without an answer, a sentence about a definition of the student's that does
            not count; empty if none was found.
    """

    id: str
    title: str
    function: str
    status: Status
    score: float
    max_score: float
    checks: tuple[CheckResult, ...]
    afterword: str | None = None
    cell: int | None = None
    digest: str = ""
    own_nodes: int = 0
    adjusted: float = 0.0  # the adjustment that was applied
    elsewhere: str = ""

    @property
    def by_checks(self) -> float:
        """The points that the checks earned."""
        return total([self.score, -self.adjusted])

    @property
    def has_failed_checks(self) -> bool:
        """Whether the question was answered and one of its checks did not pass."""
        return self.status == "answered" and any(check.outcome != "passed" for check in self.checks)

    @property
    def in_full(self) -> bool:
        """Whether it earned all its points."""
        return self.score >= self.max_score

    @property
    def earned(self) -> Earned:
        """How much of it was earned."""
        if self.status != "answered":
            return "unanswered"
        return "full" if self.in_full else "part" if self.score > 0 else "nothing"

    @property
    def remarks(self) -> list[str]:
        """Sentences about why its checks earned less than all their points."""
        every = (
            [] if self.is_bonus_task else remarks([(check.outcome, check.points) for check in self.checks])
        )
        if self.adjusted:
            done = "added" if self.adjusted > 0 else "subtracted"
            every.append(f"Then {counted_points(abs(self.adjusted))} {done} by hand.")
        return every

    @property
    def is_bonus_task(self) -> bool:
        """Whether it is the bonus task, which has checks but no points."""
        return self.id == BONUS_TASK

    @property
    def bonus_task_status(self) -> str:
        """The status of a bonus task, one of ``BONUS_TASK_STATUSES``."""
        if self.status != "answered":
            return "not tried"
        return "solved" if self.score == self.max_score else "tried"


@dataclass(frozen=True, slots=True)
class Flag:
    """Something noticed, and its code cell, from 1, or None.

    Attributes:
        why: the code that was found, and why a person should look; empty in results of older graders.
    """

    what: str
    cell: int | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Late:
    """How late a notebook was submitted.

    Attributes:
        minutes: after the deadline of this student; 0 if only a system's mark says that it is late.
        penalty: the points subtracted, at most the earned ones; 0 within the grace period.
        due: the deadline of this student, in the format of `Result.handed_in`; None if only a mark says that
            it is late.
    """

    minutes: int
    penalty: float
    due: str | None = None

    @property
    def text(self) -> str:
        """A phrase such as ``late by 2 h 5 min``, or only ``late`` if the time is unknown."""
        return f"late by {self.duration}" if self.minutes else "late"

    @property
    def duration(self) -> str:
        """How late it is, such as ``2 h 5 min`` or ``3 days 1 h``; ``yes`` if only a mark says so."""
        hours, minutes = divmod(self.minutes, 60)
        if not self.minutes:
            return "yes"
        if hours >= _MOST_HOURS:
            days, hours = divmod(hours, 24)
            return f"{days} days {hours} h" if hours else f"{days} days"
        return " ".join([*([f"{hours} h"] if hours else []), *([f"{minutes} min"] if minutes else [])])


@dataclass(frozen=True, slots=True)
class Missing:
    """A notebook that was submitted earlier, but not found when clones were last collected.

    Attributes:
        why: ``unread`` if the repository could not be read, ``gone`` if it no longer contains the notebook.
        since: when this was first noticed, in the format of `Result.handed_in`.
    """

    why: Literal["unread", "gone"]
    since: str

    @property
    def text(self) -> str:
        """For a cell of a table: ``unread since 2026-11-21``."""
        return f"{self.why} since {self.since[:10]}"


@dataclass(frozen=True, slots=True)
class Ignored:
    """A file that was found but is not a submission.

    Attributes:
        path: below the folder of submissions.
        reason: why, as the part of a sentence.
    """

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Adjustment:
    """Points that a person added or subtracted, or an excuse from an assignment.

    Attributes:
        question: its id; None for the assignment as a whole.
        points: the points in the file; scores stay between 0 and their maximum.
        comment: for the student.
        excused: whether the assignment does not count for the student.
    """

    question: str | None
    points: float
    comment: str
    excused: bool = False


@dataclass(frozen=True, slots=True)
class Provenance:
    """The versions with which a submission was graded; None if unknown.

    Attributes:
        graded_at: in UTC, as in ``2026-11-21T03:00:00Z``.
    """

    notebook_sha256: str | None = None
    checks_sha256: str | None = None
    grader: str | None = None
    torch: str | None = None
    protection: str | None = None
    graded_at: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One result.

    Attributes:
        name: the assignment or, if it is unknown, the notebook's own name; used in file names.
        superseded: the paths of other versions of the same student and assignment.
        cells: failed cells, the first few of each way to end.
        more_cells: the number of other failed cells.
        handed_in: the time of the version that was graded, as in ``2026-11-21T03:00:00+00:00``, in the time
            zone of the term; None if that is not known.
        late: None for a notebook that is in time, or has no deadline.
        adjustments: adjustments that the scores of the assignment and its questions include.
        missing: None if the notebook is still there, as far as is known.
        extended: the student's own deadline, as `handed_in`; None for that of the class.
        ignored: other files that were found but are not submissions.
        with_answers: those of `superseded` and `ignored` that contain an answer.
        copy: why the notebook is a copy made by a tool, as the end of a sentence; None for a real file.
        seen: when a night first saw this version, as `handed_in`, where only its commit says that it came
            before; else None.
        language: of the notebook's kernel, if that is not Python.
    """

    name: str
    student: str
    assignment: str | None
    notebook: str
    superseded: tuple[str, ...]
    status: Literal["graded", "error"]
    error: str | None
    score: float
    max_score: float
    flags: tuple[Flag, ...]
    questions: tuple[QuestionResult, ...]
    provenance: Provenance
    end_task: QuestionResult | None = None  # results of older graders lack it and the fields below
    cells: tuple[FailedCell, ...] = ()
    more_cells: int = 0
    handed_in: str | None = None
    late: Late | None = None
    adjustments: tuple[Adjustment, ...] = ()
    missing: Missing | None = None
    extended: str | None = None
    ignored: tuple[Ignored, ...] = ()
    with_answers: tuple[str, ...] = ()
    copy: str | None = None
    seen: str | None = None
    language: str = ""

    @property
    def what(self) -> str:
        """The assignment or, if it is unknown, the notebook."""
        return self.assignment or self.notebook

    @property
    def all_questions(self) -> tuple[QuestionResult, ...]:
        """The questions, followed by the bonus task."""
        return (*self.questions, self.end_task) if self.end_task else self.questions

    @property
    def excuse(self) -> Adjustment | None:
        """The adjustment that excuses the student: then the result counts in no total and no statistic."""
        return next((given for given in self.adjustments if given.excused), None)

    @property
    def is_untouched(self) -> bool:
        """Whether it was graded and all its functions are still starter code."""
        statuses = {question.status for question in self.all_questions}
        return self.status == "graded" and statuses == {"untouched"}

    @property
    def answered(self) -> list[QuestionResult]:
        """The questions with an answer; the bonus task is not among them."""
        return [question for question in self.questions if question.status == "answered"]

    @property
    def unanswered(self) -> list[str]:
        """The questions that are still starter code."""
        return [question.id for question in self.questions if question.status != "answered"]

    @property
    def penalty(self) -> float:
        """The points subtracted for lateness: at most the earned points, without added ones."""
        earned = total(question.by_checks for question in self.questions)
        return min(self.late.penalty, earned) if self.late else 0.0

    def adjusted_by(self, given: Adjustment) -> float:
        """The points that an adjustment added or subtracted, within the limits of the score."""
        if given.question is not None:
            return total(question.adjusted for question in self.questions if question.id == given.question)
        earned = total(question.score for question in self.questions)
        return total([self.score, self.penalty, -earned])

    @property
    def stopped_cells(self) -> list[FailedCell]:
        """The cells that were stopped."""
        return [cell for cell in self.cells if cell.ended != RAISED]

    @property
    def about_kernel(self) -> str:
        """A sentence about a kernel that is not Python's; empty for Python, or if it is unknown."""
        if not self.language:
            return ""
        return f"This notebook's kernel is {printable(self.language)}; the course needs Python."

    @property
    def about_cells(self) -> list[str]:
        """A sentence for each failed cell, or only for the first if there are many."""
        sentences = [cell.sentence for cell in self.cells]
        return [*sentences, f"And {self.more_cells} more."] if self.more_cells else sentences

    def about_cell_of(self, question: QuestionResult) -> str | None:
        """A sentence about the failed cell that may explain missing points; None if there is none.

        For a missing function that is the cell that skipped its definition or contains it, otherwise the
        first that failed; none if the kernel's language explains all errors.
        For an answer it is the cell it is from, if the grader skipped a statement there.
        """
        if question.status == "missing" and self.language:
            cell = None
        elif question.status == "missing":
            skipping = (c for c in self.cells if any(question.function in each.names for each in c.skipped))
            containing = (c for c in self.cells if c.cell == question.cell)
            cell = next(chain(skipping, containing, self.cells[:1]), None)
        elif question.status == "answered" and not question.in_full:
            cell = next((c for c in self.cells if c.cell == question.cell and c.skipped), None)
        else:
            cell = None
        return cell.sentence if cell else None

    @property
    def missing_modules(self) -> list[str]:
        """Modules that are not installed, and whose import may have cost points of a question."""
        texts: list[str] = []
        for question in self.all_questions:
            if question.in_full:
                continue
            messages = [check.message or "" for check in question.checks]
            texts += [*messages, self.about_cell_of(question) or ""]
            if any("NameError" in message for message in messages):  # perhaps a name that was not imported
                texts += [cell.text for cell in self.cells]
        return sorted({name for text in texts for name in _MISSING_MODULE.findall(text)})

    def to_json(self) -> dict[str, Any]:
        """The JSON that is stored."""
        fields = asdict(self)
        del fields["name"]
        return {"schema": SCHEMA, **fields}


@dataclass(frozen=True, slots=True)
class MissingSubmission:
    """A missing submission of a student who is on the roster, or excused.

    Attributes:
        points: the points of each question.
        missing: set if a repository of the student could not be read; None if it contained no notebook.
        excuse: the adjustment that excuses the student; otherwise the assignment is missing.
    """

    student: str
    assignment: str
    points: Mapping[str, float]
    missing: Missing | None = None
    excuse: Adjustment | None = None

    @property
    def max_score(self) -> float:
        """The points that could have been earned."""
        return total(self.points.values())


def sandbox_of(results: Iterable[Result]) -> str:
    """The sandbox in which notebooks were observed: ``none`` if any ran without one, empty if nothing ran."""
    names = {result.provenance.protection for result in results} - {None}
    return "none" if "none" in names else ", ".join(sorted(map(str, names)))


def first_failed_cells(cells: Sequence[FailedCell]) -> tuple[tuple[FailedCell, ...], int]:
    """The first failed cells of each way to end, which bounds a result, and the number of the others."""
    counts = Counter[str]()
    first = []
    for cell in cells:
        counts[cell.ended] += 1
        if counts[cell.ended] <= MAX_CELLS:
            first.append(cell)
    return tuple(first), len(cells) - len(first)
