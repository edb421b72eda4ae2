"""Outside: how learning-management systems name what was handed in."""

from __future__ import annotations

import re

from grader.integrations.collect.gradescope import FOLDER, Entry, Submitter
from grader.integrations.collect.source import (
    METADATA,
    MOST_NAMED,
    NOTEBOOK,
    Attribution,
    OwnedNotebook,
    Owner,
    Source,
    SourceFile,
    stem_of,
)
from grader.text import some

_MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL)
_CANVAS = re.compile(
    r"(?P<name>[^_]+)(?:_LATE)?_(?P<id>\d+)_(?P<attachment>\d+)_(?P<file>.+)", re.DOTALL | re.IGNORECASE
)
_CANVAS_ANONYMOUS = re.compile(
    r"anon(?:_LATE)?_(?P<id>[A-Za-z0-9]{5})_\d+_(?P<file>.+)", re.DOTALL | re.IGNORECASE
)
_CANVAS_ATTEMPT = re.compile(r"(?P<stem>.+)-(?P<attempt>\d{1,3})", re.DOTALL)


def is_canvas(name: str) -> bool:
    """Whether Canvas gives such names to files."""
    return (_CANVAS_ANONYMOUS.fullmatch(name) or _CANVAS.fullmatch(name)) is not None


def is_moodle(name: str) -> bool:
    """Whether Moodle gives such names to folders and files."""
    return _MOODLE.fullmatch(name) is not None


def without_moodle(name: str) -> str:
    """A folder's name without what Moodle adds to the student's."""
    return _MOODLE.sub(lambda found: found["name"], name)


def moodle_person(name: str) -> tuple[str, str]:
    """What tells the person of a folder from others: the name and Moodle's number, or the folder's name."""
    found = _MOODLE.fullmatch(name)
    return (found["name"], found["id"]) if found else (name, "")


def moodle(item: SourceFile) -> OwnedNotebook | None:
    """``Full Name_123_assignsubmission_file_/name.ipynb``, or the same with ``_`` for the slash."""
    first = _MOODLE.fullmatch(item.place[0])
    if first is None:
        return None
    name = item.place[-1] if len(item.place) > 1 else first["file"] or item.place[0]
    owner = Owner(first["name"], first["id"], "moodle", first["id"])
    return OwnedNotebook(item, owner, name, item.modified)


def canvas(item: SourceFile) -> OwnedNotebook | None:
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
    return OwnedNotebook(item, owner, name, item.modified, attempt)


def gradescope(listing: Source, entries: dict[str, Entry]) -> Attribution:
    """``submission_123/name.ipynb``; what a group handed in is laid out for each of its members."""
    notebooks, notes, unknown = [], [], set()
    for item in listing.items:
        folder = item.place[0]
        entry = entries.get(folder)
        if entry is None or not entry.submitters or len(item.place) == 1:
            unknown.add(folder)
            entry = Entry((Submitter(stem_of(folder) if len(item.place) == 1 else folder, folder),), None)
        modified = item.modified if entry.modified is None else entry.modified
        for person in entry.submitters:
            owner = Owner(person.name, person.identity, "gradescope", person.identity)
            notebooks.append(OwnedNotebook(item, owner, item.place[-1], modified))
    if unknown:
        notes.append(
            f"{METADATA} does not say whose these are: {', '.join(some(sorted(unknown), MOST_NAMED))}."
        )
    holding = {item.place[0] for item in listing.items}
    folders = {folder[0] for folder in listing.folders if FOLDER.fullmatch(folder[0])}
    empty = [
        ", ".join(person.name for person in entries[folder].submitters) or folder
        if folder in entries
        else folder
        for folder in sorted(folders - holding)
    ]
    return Attribution(notebooks, notes, empty)
