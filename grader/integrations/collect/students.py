"""Outside: one folder for each student, however many sources and systems name them."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from grader.grading.roster import ROSTER
from grader.integrations.collect.handed import Owner
from grader.integrations.collect.known import Known
from grader.integrations.collect.listing import MOST_NAMED, SKIPPED
from grader.text import distinct_file_name, file_name, some

RECORD = "collected.csv"
_RESERVED = frozenset({RECORD, ROSTER, *SKIPPED})


def key_of(name: str) -> str:
    """Equal for names which some file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


@dataclass(frozen=True)
class Students:
    """Who is in a source.

    Attributes:
        folders: the folder of every owner.
        notes: what a person should know of people of one name.
    """

    folders: Mapping[Owner, str]
    notes: list[str]


def students_of(handed: Mapping[Owner, Collection[str]], known: Known) -> Students:
    """Name a folder for each owner: one for equal names, unless a system knows several people of that name.

    Args:
        handed: what the notebooks of each owner are called.
        known: the folders that are there already, which are kept.
    """
    named: dict[str, list[Owner]] = defaultdict(list)
    for owner in sorted(handed, key=lambda owner: (owner.name, owner.scope, owner.identity)):
        named[key_of(owner.name)].append(owner)
    naming = _Naming(known)
    for _, same in sorted(named.items()):
        if _are_several(same):
            name = same[0].name
            naming.notes.append(
                f"several students are called {name}: their folders' names say which is which."
            )
        # Whoever is known keeps the folder, whatever others of that name come now.
        for owner in sorted(same, key=lambda owner: known.folder_of(owner) is None):
            naming.add(owner, same, handed[owner])
    if naming.by_name:
        names = ", ".join(some(naming.by_name, MOST_NAMED))
        naming.notes.append(f"recognised by name, as Moodle numbers people anew in each assignment: {names}.")
    return Students(naming.folders, naming.notes)


def _are_several(same: Collection[Owner]) -> bool:
    """Whether owners of one name are several people: one source tells them apart."""
    identities = defaultdict(set)
    for owner in same:
        identities[owner.scope].add(owner.identity)
    return any(len(found) > 1 for found in identities.values())


@dataclass
class _Naming:
    """Folders, while owners are added one by one."""

    known: Known
    folders: dict[Owner, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    by_name: list[str] = field(default_factory=list)
    identities: dict[tuple[str, str], str] = field(default_factory=dict)
    there: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.there = {key_of(folder): folder for folder in self.known.folders}

    def add(self, owner: Owner, same: list[Owner], notebooks: Collection[str]) -> None:
        """Name the folder of an owner; `same` are all of that name."""
        folder = self.known.folder_of(owner)
        if folder is None:
            folder = self._new(owner, same, notebooks)
        if self.identities.setdefault((key_of(folder), owner.scope), owner.identity) != owner.identity:
            # Somebody is called as another's folder had to be.
            taken = {folder, *self.folders.values(), *_RESERVED}
            folder = distinct_file_name(folder, f"{owner.scope} {owner.identity}", taken)
            self.identities[key_of(folder), owner.scope] = owner.identity
        self.folders[owner] = folder

    def _new(self, owner: Owner, same: list[Owner], notebooks: Collection[str]) -> str:
        name = same[0].name
        if _are_several(same):
            return self._spelt(_told_apart(name, owner))
        folder = self._spelt(name)
        if self.known.is_another(folder, owner, notebooks):
            other, folder = folder, self._spelt(_told_apart(name, owner))
            self.notes.append(f"{owner.scope} knows {other} by another number than {owner.id}: see {folder}.")
        elif self.known.is_numbered_otherwise(folder, owner):
            self.by_name.append(folder)
        return folder

    def _spelt(self, name: str) -> str:
        """A name as a folder's, spelt like the one that is there."""
        safe = distinct_file_name(name, name, _RESERVED)
        return self.there.get(key_of(safe), safe) if key_of(safe) not in _RESERVED else safe


def _told_apart(name: str, owner: Owner) -> str:
    if owner.id:
        return f"{name}-{owner.id}"
    return distinct_file_name(name, owner.identity, {file_name(name)})
