"""Outside: a folder of submissions; no link in it is followed."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from grader.errors import GraderError
from grader.integrations.collect.source import (
    A_LINK,
    MAX_NOTEBOOK_BYTES,
    NOT_ORDINARY,
    NOTEBOOK,
    SKIPPED,
    TOO_LARGE,
    Parts,
    Source,
    SourceFile,
    UnreadableError,
    shown,
)

_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")


def list_folder(folder: Path) -> Source:
    """What lies below a folder; not recursive, as a stranger decides how deep it is.

    Raises:
        GraderError: the folder itself cannot be listed.
    """
    listing = Source(is_archive=False)
    pending: list[Parts] = [()]
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
            listing.skipped.append((shown(place), f"cannot be listed ({error.strerror})"))
            continue
        for entry in entries:
            listing.mark(place, entry.name)
            if entry.name not in SKIPPED:
                inner = (*place, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(inner)
                else:
                    _add_file(listing, inner, Path(entry.path))
    for clone in listing.clones:
        _date(listing, clone, commit_times(folder.joinpath(*clone)))
    return listing


def _date(listing: Source, clone: Parts, times: Mapping[Parts, int]) -> None:
    """Give the notebooks of a clone the times of their last commits, where git knows any."""
    if times:
        listing.dated.add(clone)
    depth = len(clone)
    for at, item in enumerate(listing.items):
        if item.place[:depth] == clone:
            listing.items[at] = replace(item, modified=times.get(item.place[depth:], item.modified))


def _add_file(listing: Source, place: Parts, path: Path) -> None:
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
        listing.add(SourceFile(place, status.st_mtime_ns, status.st_size, partial(_read_file, path)))


def _read_file(path: Path) -> bytes:
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


_SECONDS = 30.0
_COMMIT_MARK = "\x01"  # begins the entry of a commit, which no path does

#: Nothing a clone's own configuration names may be run, and nothing is fetched.
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


def commit_times(clone: Path) -> dict[tuple[str, ...], int]:
    """The time of the last commit of each notebook.

    Args:
        clone: the folder that holds ``.git``.

    Returns:
        Nanoseconds since 1970 by the names of folders and file below the clone; empty where git is not
        installed or has nothing to say.
    """
    git = shutil.which("git")
    if git is None:
        return {}
    place = ["-C", str(clone), f"--git-dir={clone / '.git'}"]
    asked = [
        "log",
        "-z",
        f"--format=tformat:{_COMMIT_MARK}%ct",
        "--name-only",
        "--no-renames",
        "--no-ext-diff",
    ]
    try:
        said = subprocess.run(  # noqa: S603 - git itself; what a clone configures is switched off
            [git, *place, *_HARMLESS, *asked],
            env={"PATH": os.environ.get("PATH", ""), **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return _parse_log(said.stdout.decode("utf-8", "surrogateescape"))


def _parse_log(said: str) -> dict[tuple[str, ...], int]:
    """What git said, the newest commit first, so that the first time of a file is its last."""
    times: dict[tuple[str, ...], int] = {}
    time = 0
    for entry in said.split("\0"):
        if entry.startswith(_COMMIT_MARK):
            time = int(entry.removeprefix(_COMMIT_MARK)) * 10**9
        elif NOTEBOOK.fullmatch(path := entry.removeprefix("\n")):
            times.setdefault(tuple(path.split("/")), time)
    return times
