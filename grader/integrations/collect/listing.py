"""Lists what a source holds: a folder, in which no link is followed, or a zip, read member by member.

A clone's notebooks have the times of their commits. Nothing is unpacked under a name that a zip gives.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
import subprocess
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from grader.errors import GraderError
from grader.integrations.collect.source import (
    TOO_LARGE,
    Parts,
    Source,
    UnreadableError,
    not_ordinary,
    path_text,
)
from grader.notebooks.files import MAX_FILE_BYTES, SKIPPED_FOLDERS, is_notebook, open_without_following
from grader.text import terminal_text

MAX_MEMBERS = 200_000

_GIT_SECONDS = 30.0
_COMMIT_MARK = "\x01"  # begins the entry of a commit, which no path does
#: Nothing that a clone's configuration names is run, and nothing is fetched.
_HARMLESS = (
    *("-c", "core.sshCommand=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "protocol.allow=never"),
)
_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_UTF8 = 0x800
_EXTENDED_TIME = 0x5455
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # by others zipfile unpacks more than it is asked for
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(EOFError, OSError, RuntimeError, ValueError, NotImplementedError),
)


def list_folder(folder: Path) -> Source:
    """What lies below a folder.

    Raises:
        GraderError: the folder itself cannot be listed.
    """
    source = Source(is_archive=False)
    pending: list[Parts] = [()]  # not recursive, because a stranger decides how deep it is
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
        for entry in entries:
            source.mark(parts, entry.name)
            inner = (*parts, entry.name)
            if entry.name not in SKIPPED_FOLDERS and entry.is_dir(follow_symlinks=False):
                pending.append(inner)
            elif entry.name not in SKIPPED_FOLDERS:
                _add_file(source, inner, Path(entry.path))
    source.date_clones(lambda at: _commit_times(folder.joinpath(*at)) if at in source.clones else {})
    return source


def _add_file(source: Source, parts: Parts, path: Path) -> None:
    try:
        status = path.lstat()
    except OSError as error:
        source.skip(parts, f"cannot be read ({error.strerror})")
        return
    if reason := not_ordinary(status.st_mode):
        source.skip(parts, reason)
    elif status.st_nlink > 1:
        source.skip(parts, "is a hard link to a file that may lie elsewhere: collect a real copy of it")
    else:
        source.add(parts, status.st_mtime_ns, status.st_size, partial(_read_file, path))


def _read_file(path: Path) -> bytes:
    try:
        with open(path, "rb", opener=open_without_following) as file:
            if reason := not_ordinary(os.fstat(file.fileno()).st_mode):
                raise UnreadableError(reason)
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UnreadableError(f"cannot be read ({error.strerror})") from error
    if len(content) > MAX_FILE_BYTES:
        raise UnreadableError(TOO_LARGE)
    return content


def _commit_times(clone: Path) -> dict[Parts, int]:
    """When each notebook of a clone was last committed; the files' own times say when it was cloned.

    Nanoseconds since 1970, by the notebook's path in the clone; empty where git is missing or fails.
    """
    git = shutil.which("git")
    if git is None:
        return {}
    repository = ["-C", str(clone), f"--git-dir={clone / '.git'}"]
    log = ["log", "-z", f"--format=tformat:{_COMMIT_MARK}%ct", "--name-only", "--no-renames", "--no-ext-diff"]
    try:
        done = subprocess.run(  # noqa: S603 - git itself; what a clone configures is switched off
            [git, *repository, *_HARMLESS, *log],
            env={"PATH": os.environ.get("PATH", ""), **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return _parse_log(done.stdout.decode("utf-8", "surrogateescape"))


def _parse_log(log: str) -> dict[Parts, int]:
    """Read the log; its newest commit comes first, so the first time of a file is its last."""
    times: dict[Parts, int] = {}
    committed = 0
    for entry in log.split("\0"):
        if entry.startswith(_COMMIT_MARK):
            committed = int(entry.removeprefix(_COMMIT_MARK)) * 10**9
        elif is_notebook((path := entry.removeprefix("\n")).rpartition("/")[2]):
            times.setdefault(tuple(path.split("/")), committed)
    return times


@contextmanager
def list_zip(path: Path) -> Iterator[Source]:
    """What a zip holds; its members can be read while the context lasts.

    Raises:
        GraderError: it is damaged, or has too many members.
    """
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGE as error:
        raise GraderError(
            f"{path} cannot be read as a zip ({terminal_text(str(error))}): download it again."
        ) from error
    with archive:
        members = archive.infolist()
        if len(members) > MAX_MEMBERS:
            raise GraderError(f"{path} has {len(members)} members: is it a zip of submissions?")
        source = Source(is_archive=True)
        for member in members:
            _add_member(source, archive, member)
        source.date_clones(lambda _: {})
        yield source


def _add_member(source: Source, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    name = _name(member)
    parts: Parts = tuple(part for part in name.split("/") if part not in {"", "."})
    for depth, part in enumerate(parts):
        source.mark(parts[:depth], part)
    is_folder = name.endswith("/")  # zipfile's own is_dir() raises where a name is empty
    if is_folder or not parts or not SKIPPED_FOLDERS.isdisjoint(parts):
        return
    mode = member.external_attr >> 16
    reason = not_ordinary(mode) if stat.S_IFMT(mode) else None  # most systems say nothing
    if ".." in parts:
        source.skip(parts, "has a path that leads out of the zip")
    elif reason:
        source.skip(parts, reason)
    else:
        source.add(parts, _modified(member), member.file_size, partial(_read_member, archive, member))


def _name(member: zipfile.ZipInfo) -> str:
    """The member's name; macOS writes UTF-8 without saying so, and old Windows tools write backslashes."""
    name = member.orig_filename
    if not member.flag_bits & _UTF8:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _modified(member: zipfile.ZipInfo) -> int:
    """Nanoseconds since 1970: exact where the zip says so, else its local time in steps of two seconds."""
    extra = member.extra
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == _EXTENDED_TIME and size >= 5 and len(extra) >= 9 and extra[4] & 1:
            seconds: int = struct.unpack_from("<i", extra, 5)[0]
            return max(seconds, 0) * 10**9
        extra = extra[4 + size :]
    try:
        return int(time.mktime((*member.date_time, 0, 0, -1))) * 10**9
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
