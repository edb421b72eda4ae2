"""Gradescope: an export of folders, and a file with their owners and times of submission."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime

import yaml  # type: ignore[import-untyped]

from grader.errors import GraderError
from grader.integrations.collect.model import Context, Listing, Student, Submitted, System
from grader.integrations.collect.source import MOST_NAMED, Source, SourceFile, UnreadableError
from grader.notebooks.files import notebook_stem
from grader.text import some, terminal_text

METADATA = "submission_metadata.yml"
_FOLDER = re.compile(r"submission_\d+")
_EXPORT = re.compile(r"assignment_\d+_export(?: ?\(\d+\))?")  # a browser adds the number
MAX_METADATA_BYTES = 64 << 20
_MAX_DEPTH = 100


def read(source: Source, _: Context) -> Listing | None:
    """The folders of an export; what a group submitted is listed for each of its members.

    Raises:
        GraderError: the metadata are not what Gradescope writes.
    """
    tops = {folder[0] for folder in source.folders}
    if len(tops) == 1 and _EXPORT.fullmatch(next(iter(tops))):
        source = source.below((tops.pop(),))
    is_there = any(file.parts == (METADATA,) for file in source.others)
    if not is_there or not any(_FOLDER.fullmatch(folder[0]) for folder in source.folders):
        return None
    groups, times = _read_metadata(source.take(METADATA)[()])
    notebooks, unknown = [], set()
    for file in source.files:
        top = file.parts[0]
        students = groups.get(top, []) if len(file.parts) > 1 else []
        if not students:
            unknown.add(top)
            name = notebook_stem(top) if len(file.parts) == 1 else top
            students = [Student(name, "gradescope", top)]
        when = times.get(top, file.modified)
        notebooks += [Submitted(student, file, file.parts[-1], when) for student in students]
    listing = Listing(notebooks)
    if unknown:
        named = ", ".join(some(sorted(unknown), MOST_NAMED))
        listing.notes.append(f"{METADATA} does not say whose these are: {named}.")
    for other in sorted(source.others, key=lambda file: file.parts):
        for student in groups.get(other.parts[0], []) if other.parts[0] not in source.tops else ():
            listing.others.setdefault(student, other.parts[-1])
    return listing


#: By folder, who submitted it, and when.
Metadata = tuple[dict[str, list[Student]], dict[str, int]]


def _read_metadata(file: SourceFile) -> Metadata:
    try:
        return _parse_metadata(file.read())
    except (UnreadableError, yaml.YAMLError, ValueError) as error:
        reason, mark = terminal_text(str(error).partition("\n")[0]), getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise GraderError(
            f"{METADATA}{line} cannot be read ({reason}): download the export again, or collect without"
            " that file, which names the students by their folders."
        ) from error


def _parse_metadata(content: bytes) -> Metadata:
    people: dict[tuple[str, int], dict[str, str]] = defaultdict(dict)
    times: dict[str, int] = {}
    for path, value in _values(content):
        match path:
            case str(folder), ":submitters", int(number), (":name" | ":email" | ":sid") as key:
                if value not in {"", "~", "null"}:
                    people[folder, number][str(key)] = value.strip()
            case str(folder), ":created_at":
                with suppress(ValueError):  # then the file's own time counts
                    when = datetime.fromisoformat(re.sub(r" (?=Z|[+-]\d)", "", value.strip()))
                    when = when if when.tzinfo else when.replace(tzinfo=UTC)
                    times[folder] = max(int(when.timestamp()), 0) * 10**9
    if not people and not times:
        raise ValueError("it names no submission")
    groups: dict[str, list[Student]] = defaultdict(list)
    for (folder, _), known in people.items():
        named = [known[key] for key in (":name", ":email", ":sid") if key in known]
        groups[folder].append(Student(named[0], "gradescope", named[-1], tuple(named[1:])))
    return groups, times


def _values(content: bytes) -> Iterator[tuple[tuple[str | int | None, ...], str]]:
    """Each text of a YAML file, behind the keys and the numbers in lists that lead to it.

    Students' outputs stand in the file, so no object is made of it.

    Raises:
        ValueError: it would cost too much: it is too large or too deep, or repeats parts of itself.
    """
    if len(content) > MAX_METADATA_BYTES:
        raise ValueError(f"it is larger than {MAX_METADATA_BYTES >> 20} MiB")
    path: list[str | int | None] = []  # None if a key comes next
    for event in yaml.parse(content, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("it repeats parts of itself by aliases")
        if isinstance(event, yaml.CollectionStartEvent):
            path.append(None if isinstance(event, yaml.MappingStartEvent) else 0)
            if len(path) > _MAX_DEPTH:
                raise ValueError(f"it is nested more than {_MAX_DEPTH} deep")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            path.pop()
        elif not isinstance(event, yaml.ScalarEvent):
            continue  # where the file begins and ends
        elif path and path[-1] is None:
            path[-1] = event.value
            continue
        else:
            yield tuple(path), event.value
        if path:
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None


SYSTEM = System(
    key="gradescope",
    title="Gradescope",
    pattern="submission_<number>/<file>, beside submission_metadata.yml",
    example=("submission_123/01_leaves.ipynb", "Ada Lovelace"),
    about="the metadata name the student and the time. A group's notebook counts for each member",
    read=read,
    folder=_FOLDER,
    marker=METADATA,
)
