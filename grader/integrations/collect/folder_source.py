"""A folder of submissions; no link in it is followed. A clone's notebooks have the times of their commits."""

from __future__ import annotations

import os
import shutil
import subprocess
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
from grader.notebooks.files import MAX_FILE_BYTES, SKIPPED_FOLDERS, is_notebook

_OPEN_FLAGS = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")  # not every system has them all
_GIT_SECONDS = 30.0
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


def list_folder(folder: Path) -> Source:
    """What lies below a folder.

    Raises:
        GraderError: the folder itself cannot be listed.
    """
    source = Source(is_archive=False)
    pending: list[Parts] = [()]  # not recursive, as a stranger decides how deep it is
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
    source.date_clones(lambda at: commit_times(folder.joinpath(*at)) if at in source.clones else {})
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
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in _OPEN_FLAGS)
    try:
        with open(path, "rb", opener=lambda file, _: os.open(file, flags)) as file:
            if reason := not_ordinary(os.fstat(file.fileno()).st_mode):
                raise UnreadableError(reason)
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UnreadableError(f"cannot be read ({error.strerror})") from error
    if len(content) > MAX_FILE_BYTES:
        raise UnreadableError(TOO_LARGE)
    return content


def commit_times(clone: Path) -> dict[Parts, int]:
    """When each notebook of a clone was last committed; the files' own times say when it was cloned.

    In nanoseconds since 1970, by where the notebook lies in the clone; empty where git is not installed or
    has nothing to say.
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
    """Read the log, the newest commit first, so that the first time of a file is its last."""
    times: dict[Parts, int] = {}
    time = 0
    for entry in log.split("\0"):
        if entry.startswith(_COMMIT_MARK):
            time = int(entry.removeprefix(_COMMIT_MARK)) * 10**9
        elif is_notebook((path := entry.removeprefix("\n")).rpartition("/")[2]):
            times.setdefault(tuple(path.split("/")), time)
    return times
