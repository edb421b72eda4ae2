"""``seen.csv``: the commits that each run of ``collect`` saw in clones, by repository.

A commit has the time that the student's computer gives it, and a push leaves no time in a clone. So the time
of a version is what its commit claims, if no earlier reading of the repository contradicts that; else it is
the time at which the version was seen first. No version was submitted later than now. Once seen, a version
keeps its time: a rename, a push that returns to it, and another name of the student change nothing.

The oldest commit of a shallow clone only gives the latest possible time, until a complete clone gives the
right one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from grader.people.files import Row, csv_content, read_rows, time_text

SEEN = "seen.csv"
MOST_VERSIONS = 2_000
"""The most versions of a repository that are remembered; a student decides how many there are."""
CUT = "^"
"""Begins the name of a commit before which the history of a clone is missing, as Git prints it."""
_COLUMNS = ("repository", "path", "blob", "commit", "claimed", "seen", "submitted")
_ADVICE = "; bring back an older copy. Without the file, only commits say when work was submitted"


def blob_of(content: bytes) -> str:
    """The id by which Git knows a file's content."""
    return hashlib.sha1(b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Committed:
    """A version of a notebook in the history of a repository.

    Attributes:
        path: in the repository.
        blob: the id of its content.
        claimed: when it was committed, as the commit says.
    """

    path: str
    blob: str
    commit: str
    claimed: datetime

    @property
    def may_be_older(self) -> bool:
        """Whether an earlier commit may have brought it, which a shallow clone does not have."""
        return self.commit.startswith(CUT)


@dataclass(frozen=True)
class Sighting:
    """When a version was seen first, and when it counts as submitted."""

    version: Committed
    seen: datetime
    submitted: datetime


def _sighting(row: Row) -> Sighting:
    """Raises GraderError if a time is none."""
    cells = row.cells
    version = Committed(cells["path"], cells["blob"], cells["commit"], row.time("claimed"))
    return Sighting(version, row.time("seen"), row.time("submitted"))


class Witness:
    """The commits that were seen in repositories.

    Args:
        last_read: when each repository was read before; one that never was is not in it.

    Raises:
        GraderError: the file cannot be read.
    """

    def __init__(self, submissions: Path, last_read: Mapping[str, datetime]) -> None:
        self._seen: dict[str, dict[str, Sighting]] = {}  # by repository and blob
        self._last_read = last_read
        for row in read_rows(submissions / SEEN, _COLUMNS, _COLUMNS, _ADVICE, strip=False):
            self._seen.setdefault(row.cells["repository"], {})[row.cells["blob"]] = _sighting(row)

    def see(self, repository: str, versions: Iterable[Committed], at: datetime, now: datetime) -> None:
        """Note which versions a repository has; those that were seen before keep their times.

        Args:
            versions: the oldest first.
            at: when it was read, as far as that is known.
            now: no version can be newer.
        """
        known = self._seen.setdefault(repository, {})
        before = self._last_read.get(repository)
        for version in versions:
            old = known.get(version.blob)
            if old and old.version.may_be_older and not version.may_be_older:
                is_plausible = old.submitted == old.version.claimed
                claimed = min(version.claimed, old.submitted)
                known[version.blob] = Sighting(version, old.seen, claimed if is_plausible else old.submitted)
            if old or len(known) >= MOST_VERSIONS:
                continue
            is_plausible = before is None or version.claimed > before
            known[version.blob] = Sighting(version, at, min(version.claimed, now) if is_plausible else at)

    def sighting(self, repositories: Collection[str], blob: str) -> Sighting | None:
        """When a version was seen in one of some repositories, the earliest."""
        found = (self._seen.get(repository, {}).get(blob) for repository in repositories)
        return min(filter(None, found), key=lambda sighting: sighting.submitted, default=None)

    def content(self) -> bytes:
        """The file."""
        rows = [
            (
                *(repository, each.version.path, blob, each.version.commit),
                *map(time_text, (each.version.claimed, each.seen, each.submitted)),
            )
            for repository, of_repository in self._seen.items()
            for blob, each in of_repository.items()
        ]
        return csv_content(_COLUMNS, sorted(rows))
