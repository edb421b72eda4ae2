"""How learning-management systems name what was handed in: Canvas, Moodle and Gradescope.

Gradescope's `submission_metadata.yml` is believed only where Gradescope put it (see `owners`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import yaml  # type: ignore[import-untyped]

from grader.errors import GraderError
from grader.integrations.collect.source import (
    METADATA,
    MOST_NAMED,
    Attribution,
    OwnedNotebook,
    Owner,
    Source,
    SourceFile,
    UnreadableError,
)
from grader.notebooks.files import NOTEBOOK, notebook_stem
from grader.text import some, terminal_text

_MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL)
_CANVAS = re.compile(
    r"(?P<name>[^_]+)(?:_LATE)?_(?P<id>\d+)_(?P<attachment>\d+)_(?P<file>.+)", re.DOTALL | re.IGNORECASE
)
_CANVAS_ANONYMOUS = re.compile(
    r"anon(?:_LATE)?_(?P<id>[A-Za-z0-9]{5})_\d+_(?P<file>.+)", re.DOTALL | re.IGNORECASE
)
_CANVAS_ATTEMPT = re.compile(r"(?P<stem>.+)-(?P<attempt>\d{1,3})", re.DOTALL)

MAX_METADATA_BYTES = 64 << 20
_MAX_DEPTH = 100


def is_canvas(name: str) -> bool:
    """Whether Canvas gives such names to files."""
    return (_CANVAS_ANONYMOUS.fullmatch(name) or _CANVAS.fullmatch(name)) is not None


def moodle_person(folder: str) -> tuple[str, str]:
    """The name and Moodle's number of a folder's person; without a number, the folder's name."""
    named = _MOODLE.fullmatch(folder)
    return (named["name"], named["id"]) if named else (folder, "")


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


FOLDER = re.compile(r"submission_\d+")
EXPORT = re.compile(r"assignment_\d+_export(?: ?\(\d+\))?")
"""Gradescope's name for the folder around them; a browser adds the number of a second download."""


@dataclass(frozen=True)
class Entry:
    """A submission."""

    submitters: tuple[tuple[str, str], ...]  # name and identity of all who handed it in
    modified: int | None  # nanoseconds since 1970, where that is said


def gradescope(source: Source, metadata: SourceFile) -> Attribution:
    """``submission_123/name.ipynb``; what a group handed in is laid out for each of its members.

    Raises:
        GraderError: the metadata are not what Gradescope writes.
    """
    entries = _read_metadata(metadata)
    notebooks, unknown = [], set()
    for file in source.files:
        folder = file.parts[0]
        entry = entries.get(folder)
        if entry is None or not entry.submitters or len(file.parts) == 1:
            unknown.add(folder)
            entry = Entry(((notebook_stem(folder) if len(file.parts) == 1 else folder, folder),), None)
        modified = file.modified if entry.modified is None else entry.modified
        for name, identity in entry.submitters:
            owner = Owner(name, identity, "gradescope", identity)
            notebooks.append(OwnedNotebook(file, owner, file.parts[-1], modified))
    named = ", ".join(some(sorted(unknown), MOST_NAMED))
    notes = [f"{METADATA} does not say whose these are: {named}."] if unknown else []
    holding = {file.parts[0] for file in source.files}
    empty = sorted({folder[0] for folder in source.folders if FOLDER.fullmatch(folder[0])} - holding)
    return Attribution(notebooks, notes, [_submitters_of(folder, entries) for folder in empty])


def _submitters_of(folder: str, entries: Mapping[str, Entry]) -> str:
    submitters = entries[folder].submitters if folder in entries else ()
    return ", ".join(name for name, _ in submitters) or folder


def _read_metadata(file: SourceFile) -> dict[str, Entry]:
    """Who handed in each folder, by the folder's name."""
    try:
        return _entries(file.read())
    except (UnreadableError, yaml.YAMLError, ValueError) as error:
        reason = terminal_text(str(error).partition("\n")[0])
        raise GraderError(
            f"{METADATA} cannot be read ({reason}): download the export again, or collect without that file,"
            " which names the students by their folders."
        ) from error


def _entries(content: bytes) -> dict[str, Entry]:
    people: dict[str, dict[int, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    times: dict[str, int | None] = {}
    for path, value in _values(content):
        match path:
            case str(folder), ":submitters", int(number), (":name" | ":email" | ":sid") as key:
                people[folder][number][str(key)] = value.strip()
            case str(folder), ":created_at":
                times[folder] = _nanoseconds(value)
    folders = {**people, **times}
    if not folders:
        raise ValueError("it names no submission")
    return {
        folder: Entry(tuple(_submitters(people[folder].values())), times.get(folder)) for folder in folders
    }


def _values(content: bytes) -> Iterator[tuple[tuple[str | int | None, ...], str]]:
    """Each text of a YAML file, behind the keys and the numbers in lists that lead to it."""
    path: list[str | int | None] = []  # None where a key comes next
    for event in _events(content):
        if isinstance(event, yaml.CollectionStartEvent):
            path.append(None if isinstance(event, yaml.MappingStartEvent) else 0)
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            path.pop()
        elif path and path[-1] is None:
            path[-1] = event.value
            continue
        else:
            yield tuple(path), event.value
        if path:
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None


def _events(content: bytes) -> Iterator[Any]:
    """What a YAML file holds, in its order; students' outputs stand in it, so no object is made of it.

    Raises:
        ValueError: it would cost too much: it is too large or too deep, or repeats parts of itself.
    """
    if len(content) > MAX_METADATA_BYTES:
        raise ValueError(f"it is larger than {MAX_METADATA_BYTES >> 20} MiB")
    depth = 0
    for event in yaml.parse(content, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("it repeats parts of itself by aliases")
        if isinstance(event, (yaml.CollectionStartEvent, yaml.CollectionEndEvent)):
            depth += 1 if isinstance(event, yaml.CollectionStartEvent) else -1
        elif not isinstance(event, yaml.ScalarEvent):
            continue  # where the file begins and ends
        if depth > _MAX_DEPTH:
            raise ValueError(f"it is nested more than {_MAX_DEPTH} deep")
        yield event


def _submitters(people: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Each person's name, or what else is known, and what tells them from others of that name."""
    for person in people:
        named = (person.get(key, "") for key in (":name", ":email", ":sid"))
        if names := [text for text in named if text not in {"", "~", "null"}]:
            yield names[0], names[-1]


def _nanoseconds(text: str) -> int | None:
    try:
        when = datetime.fromisoformat(text.strip().replace(" Z", "Z").replace(" +", "+").replace(" -", "-"))
    except ValueError:
        return None
    seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    return max(int(seconds), 0) * 10**9
