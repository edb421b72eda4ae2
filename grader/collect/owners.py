"""Outside: who handed in what, by the names that systems give to folders and files.

A name counts only where the system puts it, at the top: what is below was named by a student, who could
write another's name there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader.collect.clones import Prefixes, prefixes_of, unit_of
from grader.collect.gradescope import FOLDER, Entry, Submitter, read_metadata
from grader.collect.listing import METADATA, NOTEBOOK, Item, Listing, Place

_MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL)
_CANVAS = re.compile(
    r"(?P<name>[^_]+)(?:_LATE)?_(?P<id>\d+)_(?P<attachment>\d+)_(?P<file>.+)", re.DOTALL | re.IGNORECASE
)
_CANVAS_ANONYMOUS = re.compile(
    r"anon(?:_LATE)?_(?P<id>[A-Za-z0-9]{5})_\d+_(?P<file>.+)", re.DOTALL | re.IGNORECASE
)
_CANVAS_ATTEMPT = re.compile(r"(?P<stem>.+)-(?P<attempt>\d{1,3})", re.DOTALL)


@dataclass(frozen=True)
class Owner:
    """A student, as a source names one.

    Attributes:
        name: how the student is called.
        identity: what tells the student from others of that name within `scope`.
        scope: what one system has named: a zip, or the clones of one assignment.
        id: the identity, where people know it.
    """

    name: str
    identity: str
    scope: str = ""
    id: str = ""


@dataclass(frozen=True)
class HandedIn:
    """A notebook and whose it is.

    Attributes:
        item: the notebook.
        owner: the student.
        name: what it is called.
        rank: which of several is the latest, where it was handed in several times under one name.
        modified: nanoseconds since 1970.
    """

    item: Item
    owner: Owner
    name: str
    modified: int
    attempt: int = 0

    @property
    def rank(self) -> tuple[int, int, int, Place]:
        """Orders versions of one notebook; the greatest is the latest."""
        return self.modified, self.attempt, -len(self.item.place), self.item.place


@dataclass
class Handed:
    """All that was handed in.

    Attributes:
        notebooks: whose they are.
        notes: what a person should know of how students were named.
        empty: folders of students that hold no notebook.
    """

    notebooks: list[HandedIn]
    notes: list[str]
    empty: list[str]


def assign(listing: Listing, prefixes: Sequence[str] | None) -> Handed:
    """Find out who handed in each notebook.

    Args:
        listing: the source.
        prefixes: what folders' names begin with that is no part of a student's name; None to find out.

    Raises:
        GraderError: what Gradescope says of the students cannot be read.
    """
    root = _wrapper(listing)
    depth = len(root)
    inner = replace(
        listing,
        items=[replace(item, place=item.place[depth:]) for item in listing.items],
        repositories={unit[depth:] for unit in listing.repositories if len(unit) > depth},
        folders={folder[depth:] for folder in listing.folders if len(folder) > depth},
    )
    if root in listing.metadata:
        return _gradescope(inner, read_metadata(listing.metadata[root]))
    flat = [item.place[-1] for item in inner.items if len(item.place) == 1]
    is_canvas = bool(flat) and all(
        _CANVAS.fullmatch(name) or _CANVAS_ANONYMOUS.fullmatch(name) for name in flat
    )
    notebooks: list[HandedIn] = []
    rest: list[Item] = []
    for item in inner.items:
        found = _moodle(item) or (_canvas(item) if is_canvas and len(item.place) == 1 else None)
        if found is None:
            rest.append(item)
        else:
            notebooks.append(found)
    handed, units = _folders(replace(inner, items=rest), prefixes)
    return replace(handed, notebooks=handed.notebooks + notebooks, empty=_empty(inner, units))


def _wrapper(listing: Listing) -> Place:
    """The one folder that a zip wraps around everything, or Gradescope around its folders."""
    tops = {item.place[0] for item in listing.items}
    if len(tops) != 1 or any(len(item.place) == 1 for item in listing.items):
        return ()
    root: Place = (tops.pop(),)
    if () in listing.metadata or root in listing.repositories or _MOODLE.fullmatch(root[0]):
        return ()
    if root in listing.metadata:
        return root
    seconds = {item.place[1] for item in listing.items}
    return root if listing.is_archive and len(seconds) > 1 and not root[0].endswith("-submissions") else ()


def _moodle(item: Item) -> HandedIn | None:
    """``Full Name_123_assignsubmission_file_/name.ipynb``, or the same with ``_`` for the slash."""
    first = _MOODLE.fullmatch(item.place[0])
    if first is None:
        return None
    name = item.place[-1] if len(item.place) > 1 else first["file"] or item.place[0]
    owner = Owner(first["name"], first["id"], "moodle", first["id"])
    return HandedIn(item, owner, name, item.modified)


def _canvas(item: Item) -> HandedIn | None:
    """``lastfirst_LATE_123_456_name-1.ipynb``, where ``-1`` counts the times it was handed in again."""
    text = item.place[0]
    anonymous = _CANVAS_ANONYMOUS.fullmatch(text)
    named = anonymous or _CANVAS.fullmatch(text)
    if named is None:
        return None
    student = f"anon_{named['id']}" if anonymous else named["name"]
    name, attempt, parts = named["file"], 0, NOTEBOOK.fullmatch(named["file"])
    again = _CANVAS_ATTEMPT.fullmatch(parts["stem"]) if parts else None
    if parts and again:
        name, attempt = again["stem"] + parts["suffix"], int(again["attempt"])
    owner = Owner(student, named["id"], "canvas", named["id"])
    return HandedIn(item, owner, name, item.modified, attempt)


def _gradescope(listing: Listing, entries: dict[str, Entry]) -> Handed:
    """``submission_123/name.ipynb``; what a group handed in is laid out for each of its members."""
    notebooks, notes, unknown = [], [], set()
    for item in listing.items:
        folder = item.place[0]
        entry = entries.get(folder)
        if entry is None or not entry.submitters or len(item.place) == 1:
            unknown.add(folder)
            entry = Entry((Submitter(_stem(folder) if len(item.place) == 1 else folder, folder),), None)
        modified = item.modified if entry.modified is None else entry.modified
        for person in entry.submitters:
            owner = Owner(person.name, person.identity, "gradescope", person.identity)
            notebooks.append(HandedIn(item, owner, item.place[-1], modified))
    if unknown:
        notes.append(f"{METADATA} does not say whose these are: {', '.join(sorted(unknown))}.")
    holding = {item.place[0] for item in listing.items}
    folders = {folder[0] for folder in listing.folders if FOLDER.fullmatch(folder[0])}
    empty = [
        ", ".join(person.name for person in entries[folder].submitters) or folder
        if folder in entries
        else folder
        for folder in sorted(folders - holding)
    ]
    return Handed(notebooks, notes, empty)


def _folders(listing: Listing, given: Sequence[str] | None) -> tuple[Handed, set[Place]]:
    """A folder for each student, or for each student and assignment; or notebooks that name the students.

    Returns:
        What was handed in, and the folders that stand for students.
    """
    units = unit_of(listing)
    beside: dict[Place, dict[Place, set[str]]] = defaultdict(lambda: defaultdict(set))
    for place, unit in units.items():
        beside[unit[:-1]][unit].add(place[-1])
    prefixes = {p: prefixes_of(found, listing.repositories, given) for p, found in beside.items()}
    owners = {unit: _owner(unit, prefixes[unit[:-1]]) for unit in set(units.values())}
    newest: dict[Place, int] = defaultdict(int)
    for item in listing.items:
        if item.place in units:
            newest[units[item.place]] = max(newest[units[item.place]], item.modified)
    notebooks = []
    for item in listing.items:
        unit = units.get(item.place, ())
        owner = owners[unit] if unit else Owner(_stem(item.place[0]), item.place[0], "file")
        modified = item.modified
        if unit in listing.repositories and newest[unit] - modified < 60 * 10**9:
            modified = newest[unit]  # these times say in which order they were cloned, no more
        notebooks.append(HandedIn(item, owner, item.place[-1], modified))
    return Handed(notebooks, list(_notes(prefixes, given, owners)), []), set(owners)


def _owner(unit: Place, prefixes: Prefixes) -> Owner:
    prefix, student = prefixes.split(unit[-1])
    return Owner(student, unit[-1], "/".join((*unit[:-1], prefix)))


def _notes(
    prefixes: dict[Place, Prefixes], given: Sequence[str] | None, owners: dict[Place, Owner]
) -> Iterator[str]:
    known = sorted({prefix for found in prefixes.values() for prefix in found.known})
    if known and given is None:
        yield f"left out of the students' names: {', '.join(known)} (--prefix decides otherwise)."
    if given is not None:
        whole = sorted(unit[-1] for unit, owner in owners.items() if owner.name == unit[-1])
        if known and whole:
            yield f"no such prefix, so taken whole: {', '.join(whole)}."
    likely = sorted({found.likely for found in prefixes.values() if found.likely})
    for prefix in likely:
        yield f"all folders begin with {prefix} (--prefix {prefix.rstrip('-')} leaves that out of the names)."


def _empty(listing: Listing, units: set[Place]) -> list[str]:
    """Folders beside those of students, in which there is no notebook."""
    depths = {unit[:-1] for unit in units} or {()}
    holding = units | {item.place[:1] for item in listing.items}
    beside = {folder for folder in listing.folders | listing.repositories if folder[:-1] in depths} - holding
    return sorted(_MOODLE.sub(lambda found: found["name"], folder[-1]) for folder in beside)


def _stem(name: str) -> str:
    parts = NOTEBOOK.fullmatch(name)
    return parts["stem"] if parts else name
