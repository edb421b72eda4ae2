"""How Canvas and Moodle name what was handed in."""

from __future__ import annotations

import re

from grader.integrations.collect.source import OwnedNotebook, Owner, SourceFile
from grader.notebooks.discover import NOTEBOOK

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


def moodle_person(folder: str) -> tuple[str, str]:
    """What tells the person of a folder from others: the name and Moodle's number, or the folder's name."""
    found = _MOODLE.fullmatch(folder)
    return (found["name"], found["id"]) if found else (folder, "")


def moodle(file: SourceFile) -> OwnedNotebook | None:
    """``Full Name_123_assignsubmission_file_/name.ipynb``, or the same with ``_`` for the slash."""
    first = _MOODLE.fullmatch(file.parts[0])
    if first is None:
        return None
    name = file.parts[-1] if len(file.parts) > 1 else first["file"] or file.parts[0]
    owner = Owner(first["name"], first["id"], "moodle", first["id"])
    return OwnedNotebook(file, owner, name, file.modified)


def canvas(file: SourceFile) -> OwnedNotebook | None:
    """``lastfirst_LATE_123_456_name-1.ipynb``, where ``-1`` counts the times it was handed in again."""
    text = file.parts[0]
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
    return OwnedNotebook(file, owner, name, file.modified, attempt)
