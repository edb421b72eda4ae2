"""A zip of submissions, read member by member; nothing is unpacked under a name that the zip gives."""

from __future__ import annotations

import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from grader.errors import GraderError
from grader.integrations.collect.source import Parts, Source, UnreadableError, not_ordinary
from grader.notebooks.files import SKIPPED_FOLDERS
from grader.text import inert

MAX_MEMBERS = 200_000
_UTF8 = 0x800
_EXTENDED_TIME = 0x5455
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # of others zipfile unpacks more than it is asked for
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(EOFError, OSError, RuntimeError, ValueError, NotImplementedError),
)


@contextmanager
def list_zip(path: Path) -> Iterator[Source]:
    """What a zip holds; its members can be read while the context lasts.

    Raises:
        GraderError: it is damaged, or has more members than a zip of submissions.
    """
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGE as error:
        raise GraderError(
            f"{path} cannot be read as a zip ({inert(str(error))}): download it again."
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
    is_folder = name.endswith("/")  # a name may be empty, over which zipfile's own is_dir() falls
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
    """Nanoseconds since 1970: exact where the zip says so, else its local time of two seconds' resolution."""
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
    """The member's bytes, of which no more are unpacked than it said that it has."""
    try:
        if member.compress_type not in _METHODS:
            raise NotImplementedError(f"compression {member.compress_type}")
        with archive.open(member) as file:
            content = file.read(member.file_size + 1)
        if len(content) != member.file_size:
            raise zipfile.BadZipFile("its size is not what the zip says")
    except _DAMAGE as error:
        raise UnreadableError(
            f"cannot be unpacked ({inert(str(error))}): download the zip again, or unpack it and collect the"
            " folder"
        ) from error
    return content
