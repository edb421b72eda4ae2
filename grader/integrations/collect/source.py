"""The content of a source: a folder, in which no link is followed, or a zip, read member by member.

No file is read before it is asked for, and nothing is unpacked under a name that a zip gives.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from pathlib import Path

from grader.errors import GraderError
from grader.notebooks.files import (
    MAX_FILE_BYTES,
    NEVER_SUBMITTED,
    NO_STUDENTS,
    NotebookError,
    copy_in,
    copy_in_environment,
    is_environment,
    is_notebook,
    read_file,
)
from grader.text import terminal_text

REPOSITORY = frozenset({".git", ".handout"})
"""At the top of a student's repository; a download has no `.git`, and a student cannot commit one."""
MAX_MEMBERS = 200_000
MOST_NAMED = 20  # in one sentence
MOST_FOLDERS = 4
"""The most folders around a download in which it is still found."""

_OF_MOODLE = "_assignsubmission_"  # in the name of a folder that begins with what a student is called
_ARCHIVE = re.compile(r".*\.(?:zip|tar|tgz|gz|bz2|xz|7z|rar)", re.DOTALL | re.IGNORECASE)
_LONGEST_SHOWN = 200
TOO_LARGE = f"is larger than {MAX_FILE_BYTES >> 20} MiB"

_UTF8 = 0x800
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # by others zipfile unpacks more than it is asked for
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(EOFError, OSError, RuntimeError, ValueError, NotImplementedError),
)

Parts = tuple[str, ...]
"""The names of folders, then of the file, below the source."""

Skipped = tuple[str, str]
"""A path in a source, and why it was not taken, as the end of a sentence."""


class UnreadableError(Exception):
    """A file cannot be read; the text says why, as the end of a sentence."""


@dataclass(frozen=True)
class SourceFile:
    """A file in a source; `read` raises UnreadableError if it cannot be read."""

    parts: Parts  # below the folder that wraps everything
    path: str  # below the source, fit to be shown
    modified: int  # nanoseconds since 1970
    size: int  # bytes, as the source says before it is read
    read: Callable[[], bytes]
    repository: str = ""  # the name of the clone that it is in
    commit: str = ""  # that brought it, where it is an earlier version
    may_be_older: bool = False  # than `modified`, because the clone is shallow
    replaced: frozenset[str] = frozenset()  # Git's ids of the versions before it in its repository
    copy: str | None = None  # why it is a copy made by a tool, as the end of a sentence


@dataclass
class Source:
    """Everything in a zip or a folder that matters."""

    is_archive: bool
    files: list[SourceFile] = field(default_factory=list)  # the notebooks
    repositories: set[Parts] = field(default_factory=set)  # folders that are clones, or copies of clones
    clones: set[Parts] = field(default_factory=set)  # folders of a folder that Git has made
    others: list[SourceFile] = field(default_factory=list)  # files that are not taken as notebooks
    systems: set[str] = field(default_factory=set)  # the paths of those that a system wrote
    folders: set[Parts] = field(default_factory=set)  # not very deep
    skipped: list[Skipped] = field(default_factory=list)  # look submitted, and are not taken

    @property
    def tops(self) -> set[str]:
        """The first names of the notebooks' paths."""
        return {file.parts[0] for file in self.files}

    def skip(self, parts: Parts, reason: str) -> None:
        """Note a file that is not taken, if it looks submitted."""
        if is_notebook(parts[-1]) or _ARCHIVE.fullmatch(parts[-1]):
            self.skipped.append((path_text(parts), reason))
            self.others.append(SourceFile(parts, path_text(parts), 0, 0, partial(_refuse_to_read, reason)))

    def add_folder(self, parts: Parts) -> None:
        """Note a folder, which may be empty."""
        self.folders.update(parts[:depth] for depth in range(1, min(len(parts), MOST_FOLDERS + 1) + 1))

    def add(self, parts: Parts, modified: int, size: int, read: Callable[[], bytes]) -> None:
        """Take a regular file, as a notebook or another file by its name."""
        self.add_folder(parts[:-1])
        file = SourceFile(parts, path_text(parts), modified, size, read)
        if _ARCHIVE.fullmatch(parts[-1]):
            self.skip(parts, "is an archive: unpack it, and collect what was in it")
        elif not is_notebook(parts[-1]):
            self.others.append(file)
        elif size > MAX_FILE_BYTES:
            self.skip(parts, TOO_LARGE)
        else:
            self.files.append(file)

    def take(self, name: str) -> dict[Parts, SourceFile]:
        """The files of that name by their folder; a system wrote them, so they are nobody's submission."""
        files = {file.parts[:-1]: file for file in self.others if file.parts[-1] == name}
        self.systems.update(file.path for file in files.values())
        return files

    def about_others(self) -> list[Skipped]:
        """Files that are not notebooks, outside of repositories, where other files are expected."""
        named = {path for path, _ in self.skipped} | self.systems
        others = [file.path for file in self.others if file.parts[:1] not in self.repositories]
        return [(path, "is not a notebook") for path in others if path not in named]

    def below(self, root: Parts) -> Source:
        """The same source, seen from a folder that holds everything in it."""
        depth = len(root)

        def inside(files: Collection[SourceFile]) -> list[SourceFile]:
            return [replace(each, parts=each.parts[depth:]) for each in files if len(each.parts) > depth]

        return replace(
            self,
            files=inside(self.files),
            others=inside(self.others),
            clones={at[depth:] for at in self.clones if len(at) > depth},
            repositories={at[depth:] for at in self.repositories if len(at) > depth},
            folders={at[depth:] for at in self.folders if len(at) > depth},
        )


def _refuse_to_read(reason: str) -> bytes:
    raise UnreadableError(reason)


def path_text(parts: Parts) -> str:
    """A path below a source, fit to be shown."""
    path = terminal_text("/".join(parts))
    return path if len(path) <= _LONGEST_SHOWN else f"{path[:_LONGEST_SHOWN]}..."


def _not_regular(mode: int) -> str | None:
    """Why a file of this mode is not a regular file, as the end of a sentence; None if it is one."""
    if stat.S_ISLNK(mode):
        return "is a link, and links are not followed"
    return None if stat.S_ISREG(mode) else "is not a regular file"


@contextmanager
def open_source(path: Path, zone: tzinfo = UTC) -> Iterator[Source]:
    """The content of a folder or a zip; its files can be read while the context lasts.

    Args:
        zone: in which a zip's times are.

    Raises:
        GraderError: there is none, it is neither, or it cannot be listed.
    """
    if path.is_dir():
        yield _list_folder(path)
    elif path.is_file() and zipfile.is_zipfile(path):
        try:
            archive = zipfile.ZipFile(path)
        except _DAMAGE as error:
            raise GraderError(
                f"{path} cannot be read as a zip ({terminal_text(str(error))}): download it again."
            ) from error
        with archive:
            yield _list_zip(path, archive, zone)
    elif path.exists():
        with path.open("rb") as file:
            is_cut = file.read(2) == b"PK"
        if is_cut:
            raise GraderError(f"{path} looks like an incomplete zip: download it again.")
        raise GraderError(f"{path} is not a folder or a zip: name the folder or zip that you downloaded.")
    else:
        raise GraderError(f"{path} does not exist: name a folder of clones, or a zip that you downloaded.")


def _list_folder(folder: Path) -> Source:
    source = Source(is_archive=False)
    pending: list[Parts] = [()]  # not recursive, because a stranger decides how deep it is
    environments: set[Parts] = set()
    while pending:
        parts = pending.pop()
        try:
            with os.scandir(folder.joinpath(*parts)) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            if not parts:
                raise GraderError(
                    f"{folder} cannot be read ({error.strerror}): name another folder."
                ) from error
            source.skipped.append((path_text(parts), f"cannot be listed ({error.strerror})"))
            continue
        names = {entry.name for entry in entries}
        source.add_folder(parts)
        source.repositories |= {parts} if parts and names & REPOSITORY else set()
        source.clones |= {parts} if parts and ".git" in names else set()
        environments |= {parts} if is_environment(names) else set()
        for entry in entries:
            inner = (*parts, entry.name)
            if not entry.is_dir(follow_symlinks=False):
                _add_file(source, inner, Path(entry.path))
            elif not _is_left_out(inner):
                pending.append(inner)
    source.files = [_as_copy(file, environments) for file in source.files]
    return source


def _is_left_out(folders: Parts) -> bool:
    """Whether nothing in a folder is a student's, by its path below the source."""
    is_tools = bool(folders) and folders[0].startswith(NO_STUDENTS) and _OF_MOODLE not in folders[0]
    return is_tools or not NEVER_SUBMITTED.isdisjoint(folders)


def _as_copy(file: SourceFile, environments: Collection[Parts]) -> SourceFile:
    """A file; one in a folder in which a tool keeps copies as it would lie beside that folder.

    Args:
        environments: the folders that are virtual environments.
    """
    folders = file.parts[:-1]
    for depth, name in enumerate(folders[1:], 1):
        copy = copy_in(name)
        if copy is None and folders[: depth + 1] in environments:
            copy = copy_in_environment("", is_students=False)
        if copy is None and folders[:depth] in environments:
            copy = copy_in_environment(name, is_students=depth == 1)
        if copy:
            return replace(file, parts=(*folders[:depth], file.parts[-1]), copy=copy)
    return file


def _add_file(source: Source, parts: Parts, path: Path) -> None:
    try:
        status = path.lstat()
    except OSError as error:
        source.skip(parts, f"cannot be read ({error.strerror})")
        return
    if reason := _not_regular(status.st_mode):
        source.skip(parts, reason)
    elif status.st_nlink > 1:
        source.skip(parts, "is a hard link to a file that may lie elsewhere: collect a real copy of it")
    else:
        source.add(parts, status.st_mtime_ns, status.st_size, partial(_read_file, path))


def _read_file(path: Path) -> bytes:
    try:
        return read_file(path).content
    except NotebookError as error:
        raise UnreadableError(f"cannot be taken: {error.problem}") from error


def _list_zip(path: Path, archive: zipfile.ZipFile, zone: tzinfo) -> Source:
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise GraderError(f"{path} has {len(members)} members: is it a zip of submissions?")
    source = Source(is_archive=True)
    environments: set[Parts] = set()
    for member in members:
        name = _name(member)
        parts: Parts = tuple(part for part in name.split("/") if part not in {"", "."})
        source.repositories.update(parts[:at] for at, part in enumerate(parts) if at and part in REPOSITORY)
        is_folder = name.endswith("/")  # zipfile's own is_dir() raises where a name is empty
        environments.update(parts[:at] for at, part in enumerate(parts) if is_environment([part]))
        if is_folder and ".." not in parts and not _is_left_out(parts):
            source.add_folder(parts)
        if is_folder or not parts or (".." not in parts and _is_left_out(parts[:-1])):
            continue
        mode = member.external_attr >> 16
        reason = _not_regular(mode) if stat.S_IFMT(mode) else None  # most systems say nothing
        if ".." in parts:
            source.skipped.append((path_text(parts), "has a path that leads out of the zip"))
        elif reason:
            source.skip(parts, reason)
        else:
            content = partial(_read_member, archive, member)
            source.add(parts, _modified(member, zone), member.file_size, content)
    source.files = [_as_copy(file, environments) for file in source.files]
    return source


def _name(member: zipfile.ZipInfo) -> str:
    """The member's name; macOS writes UTF-8 without saying so, and old Windows tools write backslashes."""
    name = member.orig_filename
    if not member.flag_bits & _UTF8:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _modified(member: zipfile.ZipInfo, zone: tzinfo) -> int:
    """Nanoseconds since 1970; a zip has local times without their zone, in steps of two seconds."""
    try:
        return max(int(datetime(*member.date_time, tzinfo=zone).timestamp()), 0) * 10**9
    except (OverflowError, ValueError):
        return 0


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """The member's bytes; no more are unpacked than it says that it has."""
    try:
        if member.compress_type not in _METHODS:
            raise NotImplementedError(f"compression {member.compress_type}")
        with archive.open(member) as file:
            content = file.read(member.file_size + 1)
        if len(content) != member.file_size:
            raise zipfile.BadZipFile("its size is not what the zip says")
    except _DAMAGE as error:
        raise UnreadableError(
            f"cannot be unpacked ({terminal_text(str(error))}): download the zip again, or unpack it and"
            " collect the folder"
        ) from error
    return content
