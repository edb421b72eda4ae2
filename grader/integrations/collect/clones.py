"""The history of clones: the commit times of versions, and the last version before the deadline.

A clone is a stranger's: nothing that its configuration names is run, nothing is fetched, and what it makes
Git print is bounded. What its commits claim is compared with what was seen before (`grader.people.witness`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Timer

from grader.integrations.collect.model import Context
from grader.integrations.collect.source import (
    TOO_LARGE,
    Parts,
    Source,
    SourceFile,
    UnreadableError,
    path_text,
)
from grader.notebooks.files import MAX_FILE_BYTES, NotebookError, is_notebook, notebook_stem, read_file
from grader.people.record import HISTORY
from grader.people.witness import CUT, Committed, Witness

_GIT_SECONDS = 30.0
_MOST_PRINTED = 64 << 20  # bytes; a few bytes of Git can stand for very many files
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


def add_history(source: Source, folder: Path, context: Context, witness: Witness) -> dict[str, datetime]:
    """Give the files of clones the times of their commits, and add the versions in time.

    Args:
        folder: the source.
        witness: gets to know what is seen.

    Returns:
        By the name of each repository, when it was as it is here.
    """
    files: list[SourceFile] = []
    read_at: dict[str, datetime] = {}
    outermost = [c for c in source.clones if not any(c[:depth] in source.clones for depth in range(len(c)))]
    of_clone: dict[Parts, list[SourceFile]] = {clone: [] for clone in sorted(outermost)}
    for file in source.files:
        clone = next((file.parts[:at] for at in range(len(file.parts)) if file.parts[:at] in of_clone), None)
        if clone is None:
            files.append(file)
        else:
            of_clone[clone].append(replace(file, repository=clone[-1]))
    for clone, its_files in of_clone.items():
        place = folder.joinpath(*clone)
        history = _history(place)
        at = context.at if context.is_night else _made_at(place, context.at)
        witness.see(clone[-1], reversed(history), at, context.at)
        read_at[clone[-1]] = at
        of_path: dict[str, list[Committed]] = {}
        for version in history:
            of_path.setdefault(version.path, []).append(version)
        for file in its_files:
            known = of_path.get("/".join(file.parts[len(clone) :]), []) if file.copy is None else []
            if not known:
                files.append(file)
                continue
            newest = replace(
                file,
                modified=_nanoseconds(min(known[0].claimed, context.at)),
                may_be_older=known[0].may_be_older,
                replaced=frozenset(version.blob for version in known[1:]),
            )
            files.append(newest)
            files += _in_time(file, place, clone, known, context, witness)
    source.files = files
    return read_at


def _in_time(  # noqa: PLR0913, PLR0917 - a file, where it lies, and what is known of it
    file: SourceFile,
    place: Path,
    clone: Parts,
    known: Sequence[Committed],
    context: Context,
    witness: Witness,
) -> Iterator[SourceFile]:
    """The versions of a file that were the last in time and hold an answer, but for the newest.

    Args:
        known: all versions, the newest first.
    """
    times = {
        version.blob: sighting.submitted
        for version in known
        if (sighting := witness.sighting([clone[-1]], version.blob))
    }
    chosen: dict[str, Committed] = {}
    for closes in context.closing_of(file.parts[-1]):
        last = next((v for v in known if v.blob in times and times[v.blob] <= closes), known[0])
        chosen[last.blob] = last
    chosen.pop(known[0].blob, None)
    for blob, version in chosen.items():
        content = partial(_read_committed, place, blob)
        try:
            if not context.is_answered(file.parts[-1], content()):
                continue
        except UnreadableError:
            continue
        parts = (*clone, HISTORY + version.commit, version_name(file.parts[-1], times[blob]))
        when = _nanoseconds(times[blob])
        yield SourceFile(
            parts, path_text(parts), when, file.size, content, repository=clone[-1], commit=version.commit
        )


def version_name(name: str, submitted: datetime) -> str:
    """The name of an earlier version of a notebook in its student's folder."""
    return f"{notebook_stem(name)} of {submitted.astimezone(UTC):%Y-%m-%d %H.%M.%S} UTC.ipynb"


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp()) * 10**9


def _made_at(clone: Path, now: datetime) -> datetime:
    """When a clone was fetched last; now for a repository that was not fetched: it is the one to read."""
    times = []
    for name in ("FETCH_HEAD", "HEAD"):
        try:
            times.append(datetime.fromtimestamp((clone / ".git" / name).lstat().st_mtime, UTC))
        except OSError:
            continue
    is_fetched = b"remote" in _git(clone, ["config", "--local", "--get-regexp", r"^remote\."])
    return min(now, max(times)) if times and is_fetched else now


def _history(clone: Path) -> list[Committed]:
    """The versions of a clone's notebooks on the branch, the newest first.

    The oldest commit of a shallow clone seems to add all files, also those that earlier commits brought. What
    came to the branch by a merge has the time of the merge. Empty where git is missing or fails.
    """
    if not _holds_itself(clone):
        return []
    log = ["log", "-z", f"--format=tformat:{_COMMIT_MARK}%ct %H", "--raw", "--no-abbrev", "--no-renames"]
    branch = ["--first-parent", "-m", "--no-ext-diff", "--diff-filter=d"]
    listed = iter(_git(clone, [*log, *branch]).decode("utf-8", "surrogateescape").split("\0"))
    commit, claimed = "", datetime.fromtimestamp(0, UTC)
    oldest = _oldest_of_shallow(clone)
    versions = []
    for entry in listed:
        if entry.startswith(_COMMIT_MARK):
            seconds, _, commit = entry.removeprefix(_COMMIT_MARK).partition(" ")
            claimed = _claimed(seconds)
            commit = CUT + commit if commit in oldest else commit
        elif (fields := entry.removeprefix("\n").split()) and fields[0].startswith(":"):
            path = next(listed, "")
            if is_notebook(path.rpartition("/")[2]):
                versions.append(Committed(path, fields[3], commit, claimed))
    return versions


def _oldest_of_shallow(clone: Path) -> Collection[str]:
    """The commits before which the history of a shallow clone is missing."""
    try:
        return {*read_file(clone / ".git" / "shallow").content.decode("ascii", "replace").split()}
    except NotebookError:
        return ()


def _claimed(seconds: str) -> datetime:
    """The time of a commit, which its author may have put anywhere."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _read_committed(clone: Path, name: str) -> bytes:
    """The bytes of a file in a commit, by ``COMMIT:PATH``."""
    size = _git(clone, ["cat-file", "-s", name])
    if not size.strip().isdigit() or int(size) > MAX_FILE_BYTES:
        raise UnreadableError(TOO_LARGE if size else "cannot be read from the repository's history")
    return _git(clone, ["cat-file", "blob", name])


def _holds_itself(clone: Path) -> bool:
    """Whether all that git would read lies in the clone: a student may have handed it in, and led out of it.

    Then a version of a notebook could be a file of another repository of this machine, such as a solution.
    """
    repository = clone / ".git"
    ways_out = (repository / "commondir", repository / "objects" / "info" / "alternates")
    if repository.is_symlink() or not repository.is_dir() or any(map(os.path.lexists, ways_out)):
        return False
    walked = os.walk(repository)  # follows no link
    return not any(Path(folder, name).is_symlink() for folder, *names in walked for name in chain(*names))


def _git(clone: Path, arguments: Sequence[str]) -> bytes:
    """The output of git; empty if it fails, is missing, or prints very much."""
    git = shutil.which("git")
    if git is None:
        return b""
    repository = ["-C", str(clone), f"--git-dir={clone / '.git'}"]
    with subprocess.Popen(  # noqa: S603 - git itself; what a clone configures is switched off
        [git, *repository, *_HARMLESS, *arguments],
        env={"PATH": os.environ.get("PATH", ""), **_ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        clock = Timer(_GIT_SECONDS, process.kill)
        clock.start()
        printed = b""
        try:
            printed = process.stdout.read(_MOST_PRINTED + 1) if process.stdout else b""
        finally:
            clock.cancel()
            if len(printed) > _MOST_PRINTED:
                process.kill()
    return printed if process.returncode == 0 else b""
