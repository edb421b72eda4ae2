"""`collected.csv`: what was collected into a folder of submissions, of which student, from where and when."""

from __future__ import annotations

import csv
import io
import os
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import GraderError
from grader.integrations.collect.systems import Student
from grader.results.store import read_run
from grader.text import printable, utf8_text, without_formula

RECORD = "collected.csv"
_COLUMNS = ("student", "notebook", "system", "id", "modified", "sha256", "from")


def collision_key(name: str) -> str:
    """Equal for names that some file system takes for the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _recorded(text: str) -> str:
    """A stranger's text as the record holds it."""
    return without_formula(printable(text))


class Record:
    """What was collected into a folder of submissions, and the students' folders that are there.

    Raises:
        GraderError: the record cannot be read.
    """

    def __init__(self, submissions: Path) -> None:
        names = sorted(entry.name for entry in os.scandir(submissions) if entry.is_dir())
        self.folders = {collision_key(name): name for name in names}
        self._rows: dict[tuple[str, str], dict[str, str]] = {}
        path = submissions / RECORD
        try:
            for row in csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))):
                self._rows[row["student"], row["notebook"]] = {name: row[name] or "" for name in _COLUMNS}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, csv.Error) as error:
            raise GraderError(
                f"{path} cannot be read ({error}): move it away; what was collected before is kept then."
            ) from error
        self._folder_of_id: dict[tuple[str, str], str] = {}
        self._notebooks: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        there = {_recorded(name): name for name in names}
        for row in self._rows.values():
            if row["id"] and row["student"] in there:
                folder = there[row["student"]]
                self._folder_of_id.setdefault((row["system"], row["id"]), folder)
                self._notebooks[folder, row["system"]][row["id"]].add(row["notebook"])

    def folder_of(self, student: Student) -> str | None:
        """The folder of the student whom the system knows by that id, if there is one."""
        return self._folder_of_id.get((student.system, _recorded(student.id))) if student.id else None

    def ids(self, folder: str, system: str) -> dict[str, set[str]]:
        """By which ids a system knows whose folder it is, and the notebooks that came with each."""
        return self._notebooks.get((folder, system), {})

    def sha256_of(self, folder: str, notebook: str) -> str | None:
        """The hash of what was laid out in a student's folder under a name."""
        row = self._rows.get((_recorded(folder), _recorded(notebook)))
        return row["sha256"] if row else None

    def remember(  # noqa: PLR0913, PLR0917 - the columns
        self, folder: str, notebook: str, student: Student, origin: str, sha256: str, modified: float
    ) -> None:
        """Note what lies there now; `modified` is in seconds since 1970."""
        when = datetime.fromtimestamp(modified, UTC).isoformat(timespec="seconds")
        identity = (student.system, student.id) if student.id else ("", "")
        values = [_recorded(value) for value in (folder, notebook, *identity, when, sha256, origin)]
        self._rows[values[0], values[1]] = dict(zip(_COLUMNS, values, strict=True))

    def content(self) -> bytes:
        """The file."""
        text = io.StringIO()
        writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(self._rows[key] for key in sorted(self._rows))
        return utf8_text(text.getvalue()).encode()


def student_ids(results: Path, system: str, students: Iterable[str]) -> dict[str, str]:
    """The id of each student in a system such as ``canvas``, as far as it was collected.

    The `results` of ``grade`` say where the submissions are, and the record lies there.
    """
    try:
        record = Record(Path(read_run(results)["submissions"]))
    except (OSError, KeyError, TypeError, GraderError):
        return {}
    ids = {student: [*record.ids(student, system)] for student in students}
    return {student: known[0] for student, known in ids.items() if len(known) == 1}
