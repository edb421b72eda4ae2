"""Outside: one folder for each student, however many sources and systems name them."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from grader.collect.handed import HandedIn, Owner
from grader.collect.listing import NOTEBOOK, SKIPPED
from grader.roster import ROSTER
from grader.text import distinct_file_name, file_name

RECORD = "collected.csv"


@dataclass(frozen=True)
class Target:
    """Where a notebook goes: a student's folder, the name in it, and who that is."""

    student: str
    name: str
    handed: HandedIn


def key_of(name: str) -> str:
    """Equal for names which some file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def targets(notebooks: Collection[HandedIn], existing: Collection[str]) -> list[Target]:
    """Give every notebook a place of its own, below the folder of its student.

    The latest of several versions of one name keeps the name, and the others get one which tells them apart.

    Args:
        notebooks: what was handed in.
        existing: folders of students that are there already, whose spelling is kept.
    """
    folders = _folders({one.owner for one in notebooks}, existing)
    versions: dict[tuple[str, str], list[HandedIn]] = defaultdict(list)
    for one in notebooks:
        versions[folders[one.owner], key_of(one.name)].append(one)
    taken: dict[str, set[str]] = defaultdict(set)
    for student, name in versions:
        taken[student].add(name)
    found = []
    for (student, _), same in versions.items():
        best, *older = sorted(same, key=lambda one: one.rank, reverse=True)
        found.append(Target(student, _safe(best.name), best))
        for one in older:
            name = _safe(one.name, "/".join(one.item.place), taken[student])
            taken[student].add(key_of(name))
            found.append(Target(student, name, one))
    return sorted(found, key=lambda target: (target.student, target.name))


def homonyms(owners: Collection[Owner]) -> list[str]:
    """The names that several students have, as far as one source tells."""
    named: dict[str, list[Owner]] = defaultdict(list)
    for owner in owners:
        named[key_of(owner.name)].append(owner)
    return sorted(min(owner.name for owner in same) for same in named.values() if _are_several(same))


def _are_several(same: Collection[Owner]) -> bool:
    """Whether owners of one name are several people: one source tells them apart."""
    identities = defaultdict(set)
    for owner in same:
        identities[owner.scope].add(owner.identity)
    return any(len(found) > 1 for found in identities.values())


def _safe(name: str, origin: str | None = None, taken: Collection[str] = ()) -> str:
    """A notebook's name as one safe component of a path that still ends as notebooks do."""
    parts = NOTEBOOK.fullmatch(name)
    stem, suffix = (parts["stem"], parts["suffix"]) if parts else (name, ".ipynb")
    if origin is None:
        return file_name(stem) + suffix
    keys = {key.removesuffix(suffix.casefold()) for key in taken if key.endswith(suffix.casefold())}
    return distinct_file_name(stem, origin, {file_name(stem), *keys}) + suffix


def _folders(owners: Collection[Owner], existing: Collection[str]) -> Mapping[Owner, str]:
    """The folder of every owner: one for equal names, unless one source knows several people of that name."""
    named: dict[str, list[Owner]] = defaultdict(list)
    for owner in sorted(owners, key=lambda owner: (owner.name, owner.scope, owner.identity)):
        named[key_of(owner.name)].append(owner)
    spelt = {key_of(name): name for name in sorted(existing)}
    reserved = {RECORD, ROSTER, *SKIPPED}
    folders: dict[Owner, str] = {}
    for _, same in sorted(named.items()):
        for owner in same:
            name = same[0].name
            if _are_several(same):
                name = (
                    f"{name}-{owner.id}"
                    if owner.id
                    else distinct_file_name(name, owner.identity, {file_name(name)})
                )
            safe = distinct_file_name(name, name, reserved)
            folders[owner] = spelt.get(key_of(safe), safe) if key_of(safe) not in reserved else safe
    return folders
