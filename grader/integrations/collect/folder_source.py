"""Outside: a folder of submissions; no link in it is followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from grader.errors import GraderError
from grader.integrations.collect.commit_times import commit_times
from grader.integrations.collect.listing import (
    A_LINK,
    MAX_NOTEBOOK_BYTES,
    NOT_ORDINARY,
    SKIPPED,
    TOO_LARGE,
    Item,
    Listing,
    Place,
    UnreadableError,
    shown,
)

_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")


def list_folder(folder: Path) -> Listing:
    """What lies below a folder; not recursive, as a stranger decides how deep it is.

    Raises:
        GraderError: the folder itself cannot be listed.
    """
    listing = Listing(is_archive=False)
    pending: list[Place] = [()]
    while pending:
        place = pending.pop()
        try:
            with os.scandir(folder.joinpath(*place)) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            if not place:
                raise GraderError(
                    f"{folder} cannot be read ({error.strerror}): name another folder."
                ) from error
            listing.left.append((shown(place), f"cannot be listed ({error.strerror})"))
            continue
        for entry in entries:
            listing.mark(place, entry.name)
            if entry.name not in SKIPPED:
                inner = (*place, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(inner)
                else:
                    _take(listing, inner, Path(entry.path))
    for clone in listing.clones:
        _date(listing, clone, commit_times(folder.joinpath(*clone)))
    return listing


def _date(listing: Listing, clone: Place, times: Mapping[Place, int]) -> None:
    """Give the notebooks of a clone the times of their last commits, where git knows any."""
    if times:
        listing.dated.add(clone)
    depth = len(clone)
    for at, item in enumerate(listing.items):
        if item.place[:depth] == clone:
            listing.items[at] = replace(item, modified=times.get(item.place[depth:], item.modified))


def _take(listing: Listing, place: Place, path: Path) -> None:
    try:
        status = path.lstat()
    except OSError as error:
        listing.leave(place, f"cannot be read ({error.strerror})")
        return
    if stat.S_ISLNK(status.st_mode):
        listing.leave(place, A_LINK)
    elif not stat.S_ISREG(status.st_mode):
        listing.leave(place, NOT_ORDINARY)
    elif status.st_nlink > 1:
        listing.leave(place, "is a hard link to a file that may lie elsewhere: collect a real copy of it")
    else:
        listing.add(Item(place, status.st_mtime_ns, status.st_size, partial(_read, path)))


def _read(path: Path) -> bytes:
    flags = os.O_RDONLY
    for name in _FLAGS:  # not every system has them all
        flags |= getattr(os, name, 0)
    try:
        with open(path, "rb", opener=lambda file, _: os.open(file, flags)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UnreadableError(NOT_ORDINARY)
            content = file.read(MAX_NOTEBOOK_BYTES + 1)
    except OSError as error:
        raise UnreadableError(f"cannot be read ({error.strerror})") from error
    if len(content) > MAX_NOTEBOOK_BYTES:
        raise UnreadableError(TOO_LARGE)
    return content
