"""Outside: what the record of earlier collecting tells of the students whose folders are there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from grader.integrations.collect.handed import Owner
from grader.integrations.collect.listing import Place, shown
from grader.results.gradebook import harmless
from grader.text import printable

# Moodle numbers the students of each assignment anew; other systems number people.
_NUMBERS_ANEW = frozenset({"moodle"})


def recorded(text: str) -> str:
    """A stranger's text as the record holds it."""
    return harmless(printable(text))


class Known:
    """The folders of students that are there, and whose they are as far as a system told.

    Args:
        folders: their names.
        rows: the record's.
    """

    def __init__(self, folders: Iterable[str], rows: Iterable[Mapping[str, str]]) -> None:
        self.folders = sorted(folders)
        self._rows: dict[str, list[Mapping[str, str]]] = defaultdict(list)
        self._folder: dict[tuple[str, str], str] = {}
        spelt = {recorded(folder): folder for folder in self.folders}
        for row in rows:
            folder = spelt.get(row["student"])
            if folder is not None:
                self._rows[folder].append(row)
                if row["id"]:
                    self._folder.setdefault((row["system"], row["id"]), folder)

    def folder_of(self, owner: Owner) -> str | None:
        """The folder of the one whom a system knows by the same number."""
        return self._folder.get((owner.scope, recorded(owner.id))) if owner.id else None

    def is_another(self, folder: str, owner: Owner, notebooks: Collection[str]) -> bool:
        """Whether a folder is somebody else's, whom the same system knows by another number.

        Args:
            folder: a folder of the student's name.
            owner: the student.
            notebooks: what the student's are called.
        """
        if not self.is_numbered_otherwise(folder, owner):
            return False
        there = {row["notebook"] for row in self._of(folder, owner)}
        return owner.scope not in _NUMBERS_ANEW or not there.isdisjoint(map(recorded, notebooks))

    def is_numbered_otherwise(self, folder: str, owner: Owner) -> bool:
        """Whether a system has given other numbers than this to whose folder it is."""
        numbers = {row["id"] for row in self._of(folder, owner)}
        return bool(owner.id and numbers) and recorded(owner.id) not in numbers

    def _of(self, folder: str, owner: Owner) -> list[Mapping[str, str]]:
        """What was collected into a folder from an owner's system."""
        return [row for row in self._rows.get(folder, []) if row["system"] == owner.scope and row["id"]]

    def came_from(self, folder: str, place: Place) -> bool:
        """Whether something in a folder was collected from this place before."""
        source = recorded(shown(place))
        return any(f"{row['from']}/".startswith(f"{source}/") for row in self._rows.get(folder, []))
