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

from grader.collect.listing import (
    MAX_NOTEBOOK_BYTES,
    REPOSITORY,
    SKIPPED,
    Item,
    Listing,
    Place,
    UnreadableError,
)
from grader.errors import GraderError
from grader.text import inert

MAX_MEMBERS = 200_000
MAX_BYTES = 8 << 30
"""The most that all notebooks of one zip may be, unpacked."""
_MAX_RATIO = 250  # notebooks reach 20; a bomb of zeros reaches a thousand
_SMALL = 8 << 20  # of which any ratio does no harm
_ENCRYPTED, _UTF8 = 0x1, 0x800
_EXTENDED_TIME = 0x5455
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_DRIVE = re.compile(r"[A-Za-z]:")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, struct.error)


@contextmanager
def list_zip(path: Path) -> Iterator[Listing]:
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
        listing = Listing(is_archive=True)
        budget = [MAX_BYTES]
        for member in members:
            _take(listing, archive, member, budget)
        yield listing


def _take(listing: Listing, archive: zipfile.ZipFile, member: zipfile.ZipInfo, budget: list[int]) -> None:
    name = _name(member)
    place: Place = tuple(part for part in name.split("/") if part not in {"", "."})
    listing.repositories |= {place[:at] for at, part in enumerate(place) if at and part in REPOSITORY}
    is_folder = name.endswith("/")  # a name may be empty, over which zipfile's own is_dir() falls
    if is_folder or not place or not SKIPPED.isdisjoint(place):
        return
    problem = _problem(name, place, member)
    if problem:
        listing.leave(place, problem)
    else:
        listing.add(Item(place, _modified(member), partial(_read, archive, member, budget)))


def _name(member: zipfile.ZipInfo) -> str:
    """The member's name; macOS writes UTF-8 without saying so, and old Windows tools write backslashes."""
    name = member.orig_filename
    if not member.flag_bits & _UTF8:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")


def _problem(name: str, place: Place, member: zipfile.ZipInfo) -> str | None:
    """Why a member is not taken, before anything of it is read."""
    kind = stat.S_IFMT(member.external_attr >> 16)
    size, packed = member.file_size, member.compress_size
    reasons = {
        "has a path that leads out of the zip": name.startswith("/") or ".." in place or _DRIVE.match(name),
        "has a NUL in its name": "\0" in name,
        "is a link, and links are not followed": kind == stat.S_IFLNK,
        "is not an ordinary file": kind not in {0, stat.S_IFREG, stat.S_IFLNK},
        "is encrypted: unpack the zip with its password, and collect the folder": member.flag_bits
        & _ENCRYPTED,
        "is packed in an unusual way: unpack the zip, and collect the folder": member.compress_type
        not in _METHODS,
        f"is larger than {MAX_NOTEBOOK_BYTES >> 20} MiB": size > MAX_NOTEBOOK_BYTES,
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


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo, budget: list[int]) -> bytes:
    """The member's bytes, of which no more are unpacked than it said that it has."""
    try:
        with archive.open(member) as file:
            content = file.read(member.file_size + 1)
    except NotImplementedError as error:
        raise UnreadableError(
            "is packed in an unusual way: unpack the zip, and collect the folder"
        ) from error
    except _DAMAGE as error:
        raise UnreadableError("is damaged: download the zip again") from error
    if len(content) != member.file_size:
        raise UnreadableError("is damaged: download the zip again")
    budget[0] -= len(content)
    if budget[0] < 0:
        raise GraderError(
            f"the notebooks of {archive.filename} are more than {MAX_BYTES >> 30} GiB: is it a bomb?"
        )
    return content
