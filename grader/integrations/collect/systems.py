"""Who handed in what, and when: a function for each system, by the names that it gives to folders and files.

A source is one system's. A name counts only where the system puts it, at the top: a student named what is
below, and could write another student's name there.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import yaml  # type: ignore[import-untyped]

from grader.errors import GraderError
from grader.integrations.collect.source import (
    METADATA,
    MOST_NAMED,
    Parts,
    Source,
    SourceFile,
    UnreadableError,
)
from grader.notebooks.files import NOTEBOOK, notebook_stem
from grader.people.roster import Roster
from grader.text import some, terminal_text

_MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL)
_CANVAS = re.compile(
    r"(?P<name>[^_]+)(?P<late>_LATE)?_(?P<id>\d+)_(?P<attachment>\d+)_(?P<file>.+)", re.DOTALL | re.IGNORECASE
)
_CANVAS_ANONYMOUS = re.compile(
    r"(?P<name>anon)(?P<late>_LATE)?_(?P<id>[A-Za-z0-9]{5})_\d+_(?P<file>.+)", re.DOTALL | re.IGNORECASE
)
_CANVAS_ATTEMPT = re.compile(r"(?P<stem>.+)-(?P<attempt>\d{1,3})", re.DOTALL)
_GRADESCOPE = re.compile(r"submission_\d+")
_GRADESCOPE_EXPORT = re.compile(r"assignment_\d+_export(?: ?\(\d+\))?")  # a browser adds the number
_CONTAINER = "-submissions"  # `gh classroom clone` puts `leaves-ada` into `leaves-submissions`
MAX_METADATA_BYTES = 64 << 20
_MAX_DEPTH = 100


@dataclass(frozen=True)
class Student:
    """A student, as a system names them."""

    name: str
    identity: str  # tells students of one name apart
    system: str = ""  # where it knows people by an `id`
    id: str = ""
    logins: tuple[str, ...] = ()  # what may be a login, an address or a number of other systems


@dataclass(frozen=True)
class HandedIn:
    """A notebook, whose it is, and when it was handed in."""

    student: Student
    file: SourceFile
    name: str  # as the student called the file
    when: int  # nanoseconds since 1970
    attempt: int = 0  # where a system counts them
    is_marked_late: bool = False  # by the system

    @property
    def rank(self) -> tuple[int, bool, int, int, Parts]:
        """Orders the versions of a notebook; the greatest is the latest."""
        return self.when, self.is_marked_late, self.attempt, -len(self.file.parts), self.file.parts


@dataclass
class Listing:
    """What a system says of a source."""

    notebooks: list[HandedIn]
    notes: list[str] = field(default_factory=list)  # how students were named, for a person to check
    empty: list[str] = field(default_factory=list)  # students whose folders hold no notebook


def list_submissions(source: Source, prefixes: Sequence[str] | None, roster: Roster) -> Listing:
    """List what students handed in, by the system that the source comes from.

    Args:
        prefixes: of clones' names; None for what all share.
        roster: tells where a name behind a group's name begins.

    Raises:
        GraderError: it is not clear whose the notebooks are; the text says what to do.
    """
    source = source.below(_wrapper(source, prefixes))
    if () in source.metadata and any(_GRADESCOPE.fullmatch(folder[0]) for folder in source.folders):
        return gradescope(source)
    of_moodle = {top for top in source.tops if _MOODLE.fullmatch(top)}
    if of_moodle and (others := source.tops - of_moodle):
        named = terminal_text(", ".join(some(sorted(others), MOST_NAMED)))
        raise GraderError(
            f"Moodle gave the others their names, but not these: {named}. Move them away, and collect again."
        )
    if of_moodle:
        return moodle(source, roster)
    if all(len(file.parts) == 1 and _canvas_name(file.parts[0]) for file in source.files):
        return canvas(source)
    return folders(source, prefixes)


def _wrapper(source: Source, prefixes: Sequence[str] | None) -> Parts:
    """The folder around everything, if it is no student's: Gradescope's, or of a zip and called a class's.

    Raises:
        GraderError: a student may have packed and named it, and nobody said that it holds a class.
    """
    if len(source.tops) != 1 or any(len(file.parts) == 1 for file in source.files):
        return ()
    (top,) = source.tops
    if _GRADESCOPE_EXPORT.fullmatch(top):
        return (top,)
    holds_several = len({file.parts[1] for file in source.files}) > 1
    is_student = (top,) in source.repositories or _MOODLE.fullmatch(top) or top.endswith(_CONTAINER)
    is_student = is_student or any(top.startswith(begin) for begin in with_hyphen(prefixes or ()))
    if not source.is_archive or not holds_several or is_student:
        return ()
    if prefixes is None:
        raise GraderError(
            f"everything lies in {terminal_text(top)}, which a student may have packed. If the folders in it"
            ' are the students, say so by --prefix "" (or --prefix TEXT, if their names begin with that);'
            " if it is one student's work, unpack it and collect the folder that holds it."
        )
    return (top,)


def moodle(source: Source, roster: Roster) -> Listing:
    """``Full Name_123_assignsubmission_file_/name.ipynb``, or the same with ``_`` for the slash.

    Where students work in groups, the name of the group and a hyphen stand before the name.
    """
    tops = source.tops | {folder[0] for folder in source.folders}
    named = {top: match for top in tops if (match := _MOODLE.fullmatch(top))}
    groups = _groups({match["name"] for match in named.values()}, roster)
    students = {
        top: Student(m["name"].removeprefix(groups[m["name"]]), m["id"], "moodle", m["id"])
        for top, m in named.items()
    }
    notebooks = []
    for file in source.files:
        top = file.parts[0]
        name = file.parts[-1] if len(file.parts) > 1 else named[top]["file"] or top
        notebooks.append(HandedIn(students[top], file, name, file.modified))
    holding = {notebook.student for notebook in notebooks}  # who may have a second folder, of texts
    left_out = sorted({group for group in groups.values() if group})
    notes = (
        [f"left out of the names, as groups: {', '.join(some(left_out, MOST_NAMED))}."] if left_out else []
    )
    return Listing(notebooks, notes, sorted(student.name for student in {*students.values()} - holding))


def _groups(names: Collection[str], roster: Roster) -> dict[str, str]:
    """What stands before each name as its group's, with its hyphen; empty where nothing does.

    The roster decides where it knows what follows. Else all names have to begin with a group, and each group
    has several students: so the hyphen of Anne-Marie is none of a group.
    """
    beginnings = {name: [name[: at + 1] for at, sign in enumerate(name) if sign == "-"] for name in names}
    known: dict[str, str] = {}
    for name in names:
        if roster.people_called(name):
            known[name] = ""
        elif group := next((b for b in beginnings[name] if roster.people_called(name.removeprefix(b))), None):
            known[name] = group
    sizes = Counter(beginning for group in beginnings.values() for beginning in group)
    shared = {name: next((b for b in group if sizes[b] > 1), "") for name, group in beginnings.items()}
    if not all(shared.values()):
        return {name: known.get(name, "") for name in names}
    return {name: known.get(name, shared[name]) for name in names}


def canvas(source: Source) -> Listing:
    """``lastfirst_LATE_123_456_name-1.ipynb``, where ``-1`` counts the times it was handed in again."""
    notebooks = []
    for file in source.files:
        named = _canvas_name(file.parts[0])
        if named is None:
            continue
        is_anonymous = named.re is _CANVAS_ANONYMOUS
        student = f"anon_{named['id']}" if is_anonymous else named["name"]
        name, attempt, parts = named["file"], 0, NOTEBOOK.fullmatch(named["file"])
        again = _CANVAS_ATTEMPT.fullmatch(parts["stem"]) if parts else None
        if parts and again:
            name, attempt = again["stem"] + parts["suffix"], int(again["attempt"])
        person = Student(student, named["id"], "canvas", named["id"])
        is_late = named["late"] is not None
        notebooks.append(HandedIn(person, file, name, file.modified, attempt, is_late))
    return Listing(notebooks)


def _canvas_name(name: str) -> re.Match[str] | None:
    return _CANVAS_ANONYMOUS.fullmatch(name) or _CANVAS.fullmatch(name)


def folders(source: Source, given: Sequence[str] | None) -> Listing:
    """Clones, or other folders, one for each student; a notebook beside them is named after its file.

    Raises:
        GraderError: they are clones that share no prefix, or names that begin with two of those given.
    """
    depth = 2 if source.files and all(map(_is_in_container, source.files)) else 1
    students = {file.parts[:depth] for file in source.files if len(file.parts) > depth}
    beside: dict[Parts, set[Parts]] = defaultdict(set)
    for folder in students:
        beside[folder[:-1]].add(folder)
    prefixes = {parent: _prefixes(parent, group, source, given) for parent, group in beside.items()}
    notebooks = []
    for file in source.files:
        if len(file.parts) > depth:
            student = student_of(file.parts[depth - 1], prefixes[file.parts[: depth - 1]])
        else:
            student = student_of(notebook_stem(file.parts[0]), ())
        notebooks.append(HandedIn(student, file, file.parts[-1], file.modified))
    empty = {
        _without_prefix(folder[-1], prefixes.get(folder[:-1], ()))
        for folder in (source.folders | source.repositories) - students
        if folder[:-1] in (beside or {()})
    }
    return Listing(notebooks, list(_notes_of_prefixes(beside, prefixes, given)), sorted(empty))


def student_of(clone: str, prefixes: Sequence[str]) -> Student:
    """Whose a clone is, by its name behind the prefix.

    Args:
        prefixes: with their hyphens.

    Raises:
        GraderError: it begins with two of them.
    """
    name = _without_prefix(clone, prefixes)
    return Student(name, name, logins=(name,))


def _is_in_container(file: SourceFile) -> bool:
    begin = _prefix_of_container(file.parts[0])
    return begin is not None and len(file.parts) > 2 and file.parts[1].startswith(begin)


def _prefix_of_container(name: str) -> str | None:
    return name.removesuffix(_CONTAINER) + "-" if name.endswith(_CONTAINER) else None


def _prefixes(
    parent: Parts, beside: Iterable[Parts], source: Source, given: Sequence[str] | None
) -> tuple[str, ...]:
    """What begins the names of students' folders that lie beside each other, each with its hyphen.

    In a folder all of them count as clones, because a download has no mark of a clone; in a zip, which a
    learning-management system may have made, only what is a clone for certain.
    """
    if given is not None:
        return with_hyphen(given)
    if parent and (begin := _prefix_of_container(parent[-1])):
        return (begin,)
    names = sorted(folder[-1] for folder in beside)
    are_clones = all(folder in source.repositories for folder in beside)
    if source.is_archive and not are_clones:
        return ()
    shared = _common_prefix(names)
    if are_clones and not shared and all("-" in name for name in names):
        why = "these clones share no prefix" if len(names) > 1 else "a clone alone shares no prefix"
        raise GraderError(
            f"{terminal_text(', '.join(some(names, MOST_NAMED)))}: {why}, which would tell where a student's"
            f" name begins. Say --prefix {terminal_text(names[0].partition('-')[0])}, once for each"
            ' assignment (--prefix "" takes folders\' names whole).'
        )
    return (shared,) if shared else ()


def with_hyphen(prefixes: Iterable[str]) -> tuple[str, ...]:
    """The prefixes of clones' names with a hyphen each, however they were given; without empty ones."""
    return tuple(prefix.rstrip("-") + "-" for prefix in prefixes if prefix.rstrip("-"))


def _common_prefix(names: Sequence[str]) -> str:
    """What several names begin with, up to a hyphen."""
    shared = os.path.commonprefix(names) if len(names) > 1 else ""  # noqa: RUF071 - of names, not of paths
    return shared[: shared.rfind("-") + 1]


def _without_prefix(name: str, prefixes: Sequence[str]) -> str:
    """The student's part of a folder's name."""
    fitting = [prefix for prefix in prefixes if name.startswith(prefix) and name != prefix]
    if len(fitting) > 1:
        raise GraderError(
            f"{terminal_text(name)} begins with {' and '.join(fitting)}, so it is not clear whose it is:"
            " collect the assignments one after the other, each from a folder of its own."
        )
    return name.removeprefix(fitting[0]) if fitting else name


def _notes_of_prefixes(
    beside: Mapping[Parts, Iterable[Parts]],
    prefixes: Mapping[Parts, Sequence[str]],
    given: Sequence[str] | None,
) -> Iterator[str]:
    """What a person should know of prefixes."""
    left_out = sorted({prefix for group in prefixes.values() for prefix in group})
    if given is not None:
        names = {folder[-1]: prefixes[parent] for parent, group in beside.items() for folder in group}
        whole = sorted(name for name, group in names.items() if _without_prefix(name, group) == name)
        if left_out and whole:
            yield f"no such prefix, so taken whole: {', '.join(some(whole, MOST_NAMED))}."
        return
    if left_out:
        yield f"left out of the students' names: {', '.join(left_out)} (--prefix decides otherwise)."
    for parent, group in beside.items():
        shared = _common_prefix([folder[-1] for folder in group])
        if shared and not prefixes[parent]:
            yield f"all folders begin with {shared} (--prefix {shared[:-1]} leaves that out of the names)."


def gradescope(source: Source) -> Listing:
    """``submission_123/name.ipynb``; what a group handed in is laid out for each of its members.

    Raises:
        GraderError: the metadata are not what Gradescope writes.
    """
    groups, times = _read_metadata(source.metadata[()])
    notebooks, unknown = [], set()
    for file in source.files:
        top = file.parts[0]
        students = groups.get(top, []) if len(file.parts) > 1 else []
        if not students:
            unknown.add(top)
            name = notebook_stem(top) if len(file.parts) == 1 else top
            students = [Student(name, top, "gradescope", top)]
        when = times.get(top, file.modified)
        notebooks += [HandedIn(student, file, file.parts[-1], when) for student in students]
    named = ", ".join(some(sorted(unknown), MOST_NAMED))
    notes = [f"{METADATA} does not say whose these are: {named}."] if unknown else []
    empty = {folder[0] for folder in source.folders if _GRADESCOPE.fullmatch(folder[0])} - source.tops
    people = [", ".join(student.name for student in groups.get(top, [])) or top for top in sorted(empty)]
    return Listing(notebooks, notes, people)


#: By folder, who handed it in, and when.
Metadata = tuple[dict[str, list[Student]], dict[str, int]]


def _read_metadata(file: SourceFile) -> Metadata:
    try:
        return _parse_metadata(file.read())
    except (UnreadableError, yaml.YAMLError, ValueError) as error:
        reason = terminal_text(str(error).partition("\n")[0])
        raise GraderError(
            f"{METADATA} cannot be read ({reason}): download the export again, or collect without that file,"
            " which names the students by their folders."
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
        groups[folder].append(Student(named[0], named[-1], "gradescope", named[-1], tuple(named[1:])))
    return groups, times


def _values(content: bytes) -> Iterator[tuple[tuple[str | int | None, ...], str]]:
    """Each text of a YAML file, behind the keys and the numbers in lists that lead to it.

    Students' outputs stand in the file, so no object is made of it.

    Raises:
        ValueError: it would cost too much: it is too large or too deep, or repeats parts of itself.
    """
    if len(content) > MAX_METADATA_BYTES:
        raise ValueError(f"it is larger than {MAX_METADATA_BYTES >> 20} MiB")
    path: list[str | int | None] = []  # None where a key comes next
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
