"""The results that differ from those of the run before, and the history of all such changes."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import BrokenRunError
from grader.results.gradebook import Line, read_gradebook
from grader.results.store import ResultsStore

FILE_NAME = "changes.csv"

_ABSENT = "absent"
_GONE = "gone"  # in no gradebook: the line is not there any more
_HEADING = (
    *("time", "student", "assignment"),
    *("score_before", "max_score_before", "status_before", "score", "max_score", "status", "why"),
)


@dataclass(frozen=True)
class Change:
    """The lines of the old and the new gradebook of a result whose score, maximum or status has changed."""

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
        """What the two lines tell about the reason."""
        if self.after["status"] in {_ABSENT, _GONE}:
            return "nothing handed in any more"
        if self.after["notebook_sha256"] != self.before["notebook_sha256"]:
            return "another notebook"
        return "checks or course changed"


def changes(before: str, after: str) -> list[Change]:
    """The lines where points or status differ, and those that are gone; a first submission is no change.

    Args:
        before: the gradebook of the run before; empty where there was none.

    Raises:
        ValueError: `before` is no gradebook, perhaps since a spreadsheet saved it in another form.
    """
    if before == after:
        return []
    lines = read_gradebook(after)
    return [
        Change(line, lines.get(key, {**line, "score": "0", "status": _GONE, "notebook_sha256": ""}))
        for key, line in (read_gradebook(before) if before else {}).items()
        if line["status"] != _ABSENT and (key not in lines or _differ(line, lines[key]))
    ]


def _differ(before: Line, after: Line) -> bool:
    return before["status"] != after["status"] or any(
        _number(before[column]) != _number(after[column]) for column in ("score", "max_score")
    )


def _number(text: str) -> float | str:
    """A score, however a spreadsheet may have written it."""
    try:
        return float(text)
    except ValueError:
        return text


def score_text(line: Line) -> str:
    """What a line of a gradebook says of a result, as ``12 of 30`` or ``0 of 30, error``."""
    status = "" if line["status"] == "graded" else f", {line['status']}"
    return f"{line['score']} of {line['max_score']}{status}"


def record_changes(
    store: ResultsStore, gradebook: str, *, same_class: bool
) -> tuple[list[Change], str | None]:
    """Find what a new gradebook changes of the stored gradebook, and add it to the history.

    Call it before the new gradebook is written: then a run that is killed in between is compared again.

    Args:
        same_class: whether both runs graded the same submissions; if not, no result counts as gone.

    Returns:
        The changes and, where the old gradebook cannot be compared, a sentence about it.

    Raises:
        BrokenRunError: the history cannot be read or written.
    """
    former = store.path / "gradebook.csv"
    try:
        before = former.read_text(encoding="utf-8-sig")
        changed = [c for c in changes(before, gradebook) if same_class or c.after["status"] != _GONE]
    except FileNotFoundError:
        return [], None
    except (OSError, ValueError):
        return [], f"{former} was saved in another form, so nobody can say which results have changed."
    text = history(store.path / FILE_NAME, changed) if changed else None
    if text is not None:
        store.write(store.path / FILE_NAME, text)
    return changed, None


def history(path: Path, changed: Sequence[Change], at: datetime | None = None) -> str | None:
    """The history with some changes at its end; None where there is nothing to add.

    A killed run may have written its changes, and not its gradebook: such changes are not added again.

    Raises:
        BrokenRunError: there is a history that cannot be read.
    """
    text = _read(path)
    last = {tuple(row[1:3]): row[1:] for row in _rows(text)}
    time = (at or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")
    added = [cells for cells in map(_cells, changed) if last.get(tuple(cells[:2])) != cells]
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


def _rows(text: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error:
        return []
