"""Outside: ``collected.csv``, which remembers what was collected, whose it is and from where."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from grader.errors import GraderError
from grader.integrations.collect.known import Known, recorded
from grader.integrations.collect.handed import Owner
from grader.text import encodable

_COLUMNS = ("student", "notebook", "system", "id", "modified", "sha256", "from")


class Record:
    """What is remembered of each notebook in a folder of submissions.

    Args:
        path: its file; there need not be one.

    Raises:
        GraderError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._rows: dict[tuple[str, str], dict[str, str]] = {}
        try:
            text = path.read_text(encoding="utf-8-sig")
            for row in csv.DictReader(io.StringIO(text)):
                self._add({column: row[column] or "" for column in _COLUMNS})
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, csv.Error) as error:
            raise GraderError(
                f"{path} cannot be read ({error}): move it away; what was collected before is kept then."
            ) from error

    def known(self, folders: Iterable[str]) -> Known:
        """Whose the folders that are there are, as far as a system told."""
        return Known(folders, self._rows.values())

    def sha256_of(self, student: str, name: str) -> str | None:
        """The hash of what was laid out under a name in a student's folder."""
        row: Mapping[str, str] = self._rows.get((recorded(student), recorded(name)), {})
        return row.get("sha256")

    def remember(self, student: str, name: str, owner: Owner, origin: str, sha256: str, modified: float) -> None:
        """Note what lies under a name in a student's folder now; `modified` is in seconds since 1970."""
        when = datetime.fromtimestamp(modified, UTC).isoformat(timespec="seconds")
        known = (owner.scope, owner.id) if owner.id else ("", "")
        values = (student, name, *known, when, sha256, origin)
        self._add({column: recorded(value) for column, value in zip(_COLUMNS, values, strict=True)})

    def content(self) -> bytes:
        """The file."""
        text = io.StringIO()
        writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(self._rows[key] for key in sorted(self._rows))
        return encodable(text.getvalue()).encode()

    def _add(self, row: dict[str, str]) -> None:
        self._rows[row["student"], row["notebook"]] = row
