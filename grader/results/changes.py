"""Changes, the results that differ from those of the run before, and the history of all of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import BrokenRunError
from grader.results.store import ResultsStore

FILE_NAME = "changes.csv"

_ABSENT = "absent"
_GONE = "gone"  # in no gradebook: the row is not there any more
_NEEDED = ("student", "assignment", "score", "max_score", "status", "notebook_sha256")
_HEADING = (
    *("time", "student", "assignment"),
    *("score_before", "max_score_before", "status_before", "score", "max_score", "status", "why"),
)

#: A line of a gradebook by its columns.
Line = Mapping[str, str]


@dataclass(frozen=True)
class Change:
    """A result whose score, maximum or status is another than before.

    Attributes:
        before: the line of the gradebook of the run before.
        after: the line of the new one, of the same student and assignment.
    """

    before: Line
    after: Line

    @property
    def student(self) -> str:
        return self.after["student"]

    @property
    def assignment(self) -> str:
        return self.after["assignment"]

    @property
    def why(self) -> str:
        """What the two gradebooks tell about the reason."""
        if self.after["status"] in {_ABSENT, _GONE}:
            return "nothing handed in any more"
        if self.after["notebook_sha256"] != self.before["notebook_sha256"]:
            return "another notebook"
        return "checks or course changed"


def changes(before: str, after: str) -> list[Change]:
    """The rows where points or status differ, and those that are gone; who hands in at last is new.

    Args:
        before: the gradebook of the run before, as CSV; empty where there was none.
        after: the new one.

    Raises:
        ValueError: `before` is no gradebook, perhaps since a spreadsheet saved it in another form.
    """
    if before == after:
        return []
    lines = _lines(after)
    return [
        Change(line, lines.get(key, {**line, "score": "0", "status": _GONE, "notebook_sha256": ""}))
        for key, line in (_lines(before) if before else {}).items()
        if line["status"] != _ABSENT and (key not in lines or _differ(line, lines[key]))
    ]


def _lines(text: str) -> dict[tuple[str, str], Line]:
    """The lines of a gradebook, by student and assignment."""
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        lines = [line for line in reader if any(line.values())]
    except csv.Error as error:
        raise ValueError(str(error)) from error
    if not {*_NEEDED} <= {*(reader.fieldnames or ())} or any(
        line[c] is None for line in lines for c in _NEEDED
    ):
        raise ValueError("columns are missing")
    return {(line["student"], line["assignment"]): line for line in lines}


def _differ(one: Line, other: Line) -> bool:
    figures = ((_number(one[column]), _number(other[column])) for column in ("score", "max_score"))
    return one["status"] != other["status"] or any(before != after for before, after in figures)


def _number(text: str) -> float | str:
    """A score, however a spreadsheet may have written it."""
    try:
        return float(text)
    except ValueError:
        return text


def standing(line: Line) -> str:
    """What a line of a gradebook says of a result, as ``12 of 30`` or ``0 of 30, error``."""
    status = "" if line["status"] == "graded" else f", {line['status']}"
    return f"{line['score']} of {line['max_score']}{status}"


def record(folder: ResultsStore, gradebook: str, *, same_class: bool) -> tuple[list[Change], str | None]:
    """Find what a new gradebook changes of the one in the folder, and add it to the folder's history.

    To be called before the new one is written: a run that is killed in between is compared again.

    Args:
        folder: of the results, with the gradebook of the last run that came to its end.
        gradebook: the new one.
        same_class: whether it is of the same submissions; of others nobody is gone.

    Returns:
        The changes and, where the old gradebook cannot be compared, a sentence about it.

    Raises:
        BrokenRunError: the history cannot be read or written.
    """
    former = folder.path / "gradebook.csv"
    try:
        before = former.read_text(encoding="utf-8-sig")
        found = [c for c in changes(before, gradebook) if same_class or c.after["status"] != _GONE]
    except FileNotFoundError:
        return [], None
    except (OSError, ValueError):
        return [], f"{former} was saved in another form, so nobody can say which results have changed."
    text = history(folder.path / FILE_NAME, found) if found else None
    if text is not None:
        folder.write(folder.path / FILE_NAME, text)
    return found, None


def history(path: Path, found: Sequence[Change], at: datetime | None = None) -> str | None:
    """The history of changes with these at its end, or None where there is nothing to add.

    What was written for a run that was killed before its gradebook was there is not added again.

    Args:
        path: the history, which need not exist; nothing of what it says is lost.
        found: what to add.
        at: when it was found; now, if nothing is said.

    Raises:
        BrokenRunError: there is a history that cannot be read.
    """
    text = _read(path)
    last = {tuple(line[1:3]): line[1:] for line in _known(text)}
    time = (at or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")
    added = [cells for cells in map(_cells, found) if last.get(tuple(cells[:2])) != cells]
    if not added:
        return None
    end = io.StringIO()
    writer = csv.writer(end, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([] if text else [_HEADING])
    writer.writerows([time, *cells] for cells in added)
    return text + ("\n" if text and not text.endswith("\n") else "") + end.getvalue()


def _cells(change: Change) -> list[str]:
    """What is kept of a change; its texts are harmless, as those of a gradebook are."""
    figures = [
        line[column] for line in (change.before, change.after) for column in ("score", "max_score", "status")
    ]
    return [change.student, change.assignment, *figures, change.why]


def _read(path: Path) -> str:
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


def _known(text: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error:
        return []
