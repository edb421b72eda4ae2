"""The gradebook as CSV, a line for each student and assignment, and what a new one changes of the last."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from grader.errors import BrokenRunError, GraderError
from grader.results.model import Absence, Outcome, Result
from grader.results.store import ResultsStore, was_stopped
from grader.scores import format_points, total
from grader.sheets import delimiter_of
from grader.text import some, without_formula

FILE_NAME, CHANGES_FILE_NAME = "gradebook.csv", "changes.csv"
EDITED_FILE_NAME = "gradebook.edited.csv"

#: A line of a gradebook by its columns.
Line = Mapping[str, str]

_COLUMNS = ("student", "assignment", "score", "max_score", "status", "notebook_sha256")
_STANDING = ("late", "penalty", "adjustment", "missing")  # behind the questions
_WHY = {"late": "another deadline", "penalty": "another deadline", "adjustment": "adjusted"}
_CHANGES_COLUMNS = (
    *("time", "student", "assignment"),
    *("score_before", "max_score_before", "status_before", "score", "max_score", "status", "why", "checks"),
)
_CHECKS = _CHANGES_COLUMNS.index("checks")  # histories of older graders end before it
_MOST_CHECKS = 10
_SEPARATORS = re.compile("[;|]")  # of other countries' spreadsheets, which would begin a new cell there
_ABSENT = "absent"
_GONE = "gone"  # in no gradebook: the line is not there any more


def gradebook(results: Sequence[Result], absent: Sequence[Absence]) -> str:
    """The gradebook as CSV text, sorted by student and assignment, with a column for each question.

    A score is the sum of its questions, less the penalty, with the adjustment of the assignment as a whole;
    the points of a question have its own adjustment in them.
    """
    lines = [_line(result) for result in results] + [_line_of_absence(absence) for absence in absent]
    questions = {column for line in lines for column in line.keys() - {*_COLUMNS, *_STANDING}}
    columns = [*_COLUMNS, *sorted(questions, key=lambda question: int(question[1:])), *_STANDING]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    quoting = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(columns)
    for line in sorted(lines, key=lambda line: (line["student"], line["assignment"])):
        is_plain = not _SEPARATORS.search(line["student"] + line["assignment"])
        (writer if is_plain else quoting).writerow([line.get(column, "") for column in columns])
    return text.getvalue()


def _line(result: Result) -> Line:
    late = result.late
    given = [result.adjusted_by(one) for one in result.adjustments if one.question is None]
    return {
        "student": without_formula(result.student),
        "assignment": without_formula(result.what),
        "score": format_points(result.score),
        "max_score": format_points(result.max_score),
        "status": result.status,
        "notebook_sha256": result.provenance.notebook_sha256 or "",
        **{question.id: format_points(question.score) for question in result.questions},
        "late": late.duration if late else "",
        "penalty": format_points(result.penalty) if late else "",
        "adjustment": format_points(total(given)) if given else "",
        "missing": result.missing.text if result.missing else "",
    }


def _line_of_absence(absence: Absence) -> Line:
    return {
        "student": without_formula(absence.student),
        "assignment": absence.assignment,
        "score": "0",
        "max_score": format_points(absence.max_score),
        "status": _ABSENT,
        "missing": absence.missing.text if absence.missing else "",
        **dict.fromkeys(absence.points, "0"),
    }


def read_gradebook(text: str) -> dict[tuple[str, str], Line]:
    """The lines of a gradebook, by student and assignment.

    Raises:
        ValueError: the text is no gradebook, perhaps since a spreadsheet saved it in another form.
    """
    try:
        reader = _reader(text)
        lines = [line for line in reader if any(line.values())]
    except csv.Error as error:
        raise ValueError(str(error)) from error
    if not {*_COLUMNS} <= {*(reader.fieldnames or ())} or any(
        line[column] is None for line in lines for column in _COLUMNS
    ):
        raise ValueError("columns are missing")
    return {(line["student"], line["assignment"]): line for line in lines}


def _reader(text: str) -> csv.DictReader[str]:
    """The lines of a gradebook, which a spreadsheet may have saved with another delimiter."""
    return csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter_of(text), strict=True)


@dataclass(frozen=True)
class Edit:
    """Points in a gradebook that its results do not have.

    Attributes:
        column: ``score``, or a question.
    """

    student: str
    assignment: str
    column: str
    stored: float
    written: float

    def __str__(self) -> str:
        question = "" if self.column == "score" else self.column
        points = format_points(total([self.written, -self.stored]))
        return f"{self.student},{self.assignment},{question},{points},"


def edits(folder: Path, stored: Iterable[Result]) -> list[Edit]:
    """What a person wrote into the gradebook of a run that has ended, by comparing it with its results.

    Where a question was edited, the score that follows from it is no edit of its own.
    """
    try:
        lines = read_gradebook((folder / FILE_NAME).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return []
    if was_stopped(folder):
        return []
    return [
        edit
        for result in stored
        if (line := lines.get((without_formula(result.student), without_formula(result.what)))) is not None
        and line["status"] != _ABSENT
        for edit in _edits_of(result, line)
    ]


def _edits_of(result: Result, line: Line) -> list[Edit]:
    points = {question.id: question.score for question in result.questions}
    found = [
        Edit(line["student"], line["assignment"], column, stored, written)
        for column, stored in {**points, "score": result.score}.items()
        if isinstance(written := _number(line.get(column) or ""), float) and written != stored
    ]
    by_question = [edit for edit in found if edit.column != "score"]
    return by_question or found


def _restored(text: str, edited: Sequence[Edit]) -> str:
    """The gradebook as it was before a person edited it."""
    scores = {(edit.student, edit.assignment): edit for edit in edited if edit.column == "score"}
    reader = _reader(text)
    made = io.StringIO()
    writer = csv.DictWriter(made, reader.fieldnames or (), lineterminator="\n")
    writer.writeheader()
    for line in reader:
        edit = scores.get((line["student"], line["assignment"]))
        writer.writerow({**line, "score": format_points(edit.stored)} if edit else line)
    return made.getvalue()


def gradebook_lines(folder: Path) -> dict[tuple[str, str], Line]:
    """The lines of the gradebook in a results folder, by student and assignment.

    Raises:
        GraderError: there is none, or a spreadsheet saved it in another form.
    """
    path = folder / FILE_NAME
    try:
        return read_gradebook(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise GraderError(f"{path} cannot be read ({error}): grade again, which writes it anew") from error


def still_handed_in(stored: Sequence[Result], results: Path) -> tuple[list[Result], list[str]]:
    """The results that the gradebook has too, and where the notebooks of the others were.

    A result outlives its notebook, in case that comes back; what is exported has to equal the gradebook. The
    gradebook of a run that was stopped is older than the results, and decides nothing.
    """
    try:
        lines = read_gradebook((results / FILE_NAME).read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return [*stored], []
    if was_stopped(results):
        return [*stored], []
    kept: list[Result] = []
    gone: list[str] = []
    for result in stored:
        line = lines.get(_key(result))
        if line is not None and line["status"] != _ABSENT:
            kept.append(result)
        else:
            gone.append(result.notebook)
    return kept, gone


def _key(result: Result) -> tuple[str, str]:
    """By what `read_gradebook` names the line of a result."""
    return without_formula(result.student), without_formula(result.what)


@dataclass(frozen=True)
class Change:
    """The lines of the old and the new gradebook of a result whose score, maximum or status has changed.

    Attributes:
        checks: the checks that end otherwise now, in words; empty where that is not known.
    """

    before: Line
    after: Line
    checks: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.student, self.assignment

    @property
    def student(self) -> str:
        return self.after["student"]

    @property
    def assignment(self) -> str:
        return self.after["assignment"]

    @property
    def why(self) -> str:
        """What the two lines tell about the reason."""
        if self.after["status"] in {_ABSENT, _GONE}:
            return "nothing handed in any more"
        if self.after["notebook_sha256"] != self.before["notebook_sha256"]:
            return "another notebook"
        found = [why for column, why in _WHY.items() if self._differs_in(column)]
        return " and ".join(dict.fromkeys(found)) or "checks or course changed"

    def _differs_in(self, column: str) -> bool:
        return self.after.get(column, "") != self.before.get(column, "")


def changes(before: str, after: str) -> list[Change]:
    """The lines where points or status differ, and those that are gone; a first submission is no change.

    Raises:
        ValueError: `before` is no gradebook, perhaps since a spreadsheet saved it in another form.
    """
    if before == after:
        return []
    lines = read_gradebook(after)
    return [
        Change(line, lines.get(key, {**line, "score": "0", "status": _GONE, "notebook_sha256": ""}))
        for key, line in read_gradebook(before).items()
        if line["status"] != _ABSENT and (key not in lines or _differ(line, lines[key]))
    ]


def changed_checks(before: Result, after: Result) -> str:
    """The checks that end otherwise, as ``q1: test_gradient passed -> failed``; of very many the first."""
    old, new = _outcomes(before), _outcomes(after)
    changed = [
        f"{question}: {check} {old.get((question, check), 'none')} -> {new.get((question, check), 'none')}"
        for question, check in {**old, **new}
        if old.get((question, check)) != new.get((question, check))
    ]
    return "; ".join(some(changed, _MOST_CHECKS))


def _outcomes(result: Result) -> dict[tuple[str, str], Outcome]:
    """How checks ended, by question and check."""
    return {
        (question.id, check.id): check.outcome
        for question in result.all_questions
        for check in question.checks
    }


def _differ(before: Line, after: Line) -> bool:
    return before["status"] != after["status"] or any(
        _number(before[column]) != _number(after[column]) for column in ("score", "max_score")
    )


def _number(text: str) -> float | str:
    """A score, however a spreadsheet may have written it."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return text


def score_text(line: Line) -> str:
    """What a line of a gradebook says of a result, as ``12 of 30`` or ``0 of 30, error``."""
    status = "" if line["status"] == "graded" else f", {line['status']}"
    return f"{line['score']} of {line['max_score']}{status}"


def write_gradebook(
    store: ResultsStore,
    text: str,
    replaced: Sequence[tuple[Result, Result]] = (),
    edited: Sequence[Edit] = (),
    *,
    same_class: bool,
) -> tuple[list[Change], list[str]]:
    """Write a gradebook, and before it add what it changes of the stored gradebook to the history.

    So a run that is killed in between is compared with the same gradebook again.

    Args:
        replaced: results of runs before, each with that which took its place in this run.
        edited: what a person wrote into the stored gradebook, which is kept beside the new one.
        same_class: whether both runs graded the same submissions; if not, no result counts as gone.

    Returns:
        The changes and, where the old gradebook cannot be compared or was edited, sentences about it.

    Raises:
        BrokenRunError: the gradebook or the history cannot be read or written.
    """
    path, notes = store.path / FILE_NAME, list[str]()
    changed: list[Change] = []
    try:
        before = path.read_text(encoding="utf-8-sig")
        if edited:
            kept = _free_path(store.path / EDITED_FILE_NAME)
            store.write(kept, before)
            before, notes = _restored(before, edited), _about_edits(path, kept, edited)
        found = changes(before, text)
        results = {_key(after): (before, after) for before, after in replaced}
        changed = [
            replace(change, checks=changed_checks(*results[change.key])) if change.key in results else change
            for change in found
            if same_class or change.after["status"] != _GONE
        ]
    except FileNotFoundError:
        pass  # the first run
    except (OSError, ValueError):
        notes = [f"{path} was saved in another form, so nobody can say which results have changed."]
    grown = history(store.path / CHANGES_FILE_NAME, changed) if changed else None
    if grown is not None:
        store.write(store.path / CHANGES_FILE_NAME, grown)
    store.write(path, text)
    return changed, notes


def _free_path(path: Path) -> Path:
    """The path or, where there is such a file, the same with a number."""
    numbered = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(2))
    return next(free for free in chain([path], numbered) if not free.exists())


def _about_edits(path: Path, kept: Path, edited: Sequence[Edit]) -> list[str]:
    said = (
        f"{path} was edited, and is written anew; what it held is kept as {kept.name}. Points that you give"
        " or take belong into adjustments.csv beside the submissions, as these lines below its headings"
        " (student,assignment,question,points,comment):"
    )
    return [said, *some(map(str, edited), _MOST_CHECKS)]


def history(path: Path, changed: Sequence[Change], at: datetime | None = None) -> str | None:
    """The history with some changes at its end; None where there is nothing to add.

    A killed run may have written its changes, and not its gradebook: such changes are not added again, though
    nobody knows their checks any more. The heading of a history without the last column gets it.

    Raises:
        BrokenRunError: there is a history that cannot be read.
    """
    text = _history_text(path)
    try:
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error:  # no CSV any more; it grows all the same
        rows = []
    last = {tuple(row[1:3]): row[1:_CHECKS] for row in rows}
    time = (at or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")
    added = [cells for cells in map(_cells, changed) if last.get(tuple(cells[:2])) != cells[:-1]]
    if not added:
        return None
    if rows[:1] == [[*_CHANGES_COLUMNS[:_CHECKS]]]:
        text = _csv([_CHANGES_COLUMNS]) + text.partition("\n")[2]
    elif not text:
        text = _csv([_CHANGES_COLUMNS])
    return text + ("" if text.endswith("\n") else "\n") + _csv([time, *cells] for cells in added)


def _csv(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue()


def _cells(change: Change) -> list[str]:
    """What is kept of a change; its texts are harmless, as those of a gradebook are."""
    figures = [
        line[column] for line in (change.before, change.after) for column in ("score", "max_score", "status")
    ]
    return [change.student, change.assignment, *figures, change.why, change.checks]


def _history_text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise BrokenRunError(
            f"{path} cannot be read ({error.strerror}): move it away and run the same again"
        ) from error
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:  # a spreadsheet saved it; this takes any byte, and none is lost
        return content.decode("latin-1")
