"""Outside: a zip of submissions, read member by member; nothing is unpacked under a name that it gives."""

from __future__ import annotations

import re
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
from grader.integrations.collect.source import (
    A_LINK,
    MAX_NOTEBOOK_BYTES,
    NOT_ORDINARY,
    SKIPPED,
    TOO_LARGE,
    Parts,
    Source,
    SourceFile,
    UnreadableError,
)
from grader.text import inert

MAX_MEMBERS = 200_000
_MAX_RATIO = 250  # notebooks reach 20; a bomb of zeros reaches a thousand
_SMALL = 8 << 20  # of which any ratio does no harm
_UNUSUAL = "is packed in an unusual way: unpack the zip, and collect the folder"
_DAMAGED = "is damaged: download the zip again"
_ENCRYPTED, _UTF8 = 0x1, 0x800
_EXTENDED_TIME = 0x5455
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_DRIVE = re.compile(r"[A-Za-z]:")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, struct.error)


@contextmanager
def list_zip(path: Path) -> Iterator[Source]:
    """What a zip holds; its members can be read while the context lasts.

    Raises:
        GraderError: it is damaged, or too large to be what it should be.
    """
    try:
        archive = zipfile.ZipFile(path)
    except (*_DAMAGE, NotImplementedError) as error:
        raise GraderError(
            f"{path} cannot be read as a zip ({inert(str(error))}): download it again."
        ) from error
    with archive:
        members = archive.infolist()
        if len(members) > MAX_MEMBERS:
            raise GraderError(f"{path} has {len(members)} members: is it a zip of submissions?")
        listing = Source(is_archive=True)
        for member in members:
            _add_member(listing, archive, member)
        yield listing


def _add_member(listing: Source, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    name = _name(member)
    place: Parts = tuple(part for part in name.split("/") if part not in {"", "."})
    for at, part in enumerate(place):
        listing.mark(place[:at], part)
    is_folder = name.endswith("/")  # a name may be empty, over which zipfile's own is_dir() falls
    if is_folder or not place or not SKIPPED.isdisjoint(place):
        return
    problem = _problem(name, place, member)
    if problem:
        listing.leave(place, problem)
    else:
        listing.add(
            SourceFile(place, _modified(member), member.file_size, partial(_read_member, archive, member))
        )


def _name(member: zipfile.ZipInfo) -> str:
    """The member's name; macOS writes UTF-8 without saying so, and old Windows tools write backslashes."""
    name = member.orig_filename
    if not member.flag_bits & _UTF8:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _problem(name: str, place: Parts, member: zipfile.ZipInfo) -> str | None:
    """Why a member is not taken, before anything of it is read."""
    kind = stat.S_IFMT(member.external_attr >> 16)
    size, packed = member.file_size, member.compress_size
    reasons = {
        "has a path that leads out of the zip": name.startswith("/") or ".." in place or _DRIVE.match(name),
        "has a NUL in its name": "\0" in name,
        A_LINK: kind == stat.S_IFLNK,
        NOT_ORDINARY: kind not in {0, stat.S_IFREG, stat.S_IFLNK},
        "is encrypted: unpack the zip with its password, and collect the folder": member.flag_bits
        & _ENCRYPTED,
        _UNUSUAL: member.compress_type not in _METHODS,
        TOO_LARGE: size > MAX_NOTEBOOK_BYTES,
        "unpacks to so much more than it is that it looks like a bomb": size
        > max(_SMALL, _MAX_RATIO * packed),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


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
        with archive.open(member) as file:
            content = file.read(member.file_size + 1)
    except NotImplementedError as error:
        raise UnreadableError(_UNUSUAL) from error
    except _DAMAGE as error:
        raise UnreadableError(_DAMAGED) from error
    if len(content) != member.file_size:
        raise UnreadableError(_DAMAGED)
    return content
