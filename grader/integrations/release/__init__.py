"""Outside: the student repository, which is what students get and nothing else."""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from grader.course.build import outdated, stem_of
from grader.course.course import Course
from grader.errors import CourseError, GraderError
from grader.files import write_atomic
from grader.integrations.release.contents import contents
from grader.integrations.release.wheel import SOURCES, build_wheel
from grader.text import some

__all__ = ["Released", "release"]


@dataclass(frozen=True)
class Released:
    """A release: the assignments in it, what it changed in its folder, and who is not written yet."""

    stems: tuple[str, ...]
    changes: Changes
    unfinished: tuple[str, ...] = ()


def release(course: Course, folder: Path, wanted: Sequence[str] = (), *, overwrite: bool = False) -> Released:
    """Write the student repository into a folder that is empty or an earlier release.

    Args:
        course: what is released.
        folder: where it goes; made where it is missing. Files that no release wrote are left alone.
        wanted: the stems of the assignments; all that are written where it is empty.
        overwrite: also replace files of an earlier release that somebody has changed since.

    Raises:
        GraderError: ``assignments/`` is outdated, an assignment is unknown, or the folder cannot be written.
        CourseError: a file of the course is wrong.
    """
    unfinished = course.stems
    course = course.finished(wanted)
    unfinished = tuple(stem for stem in unfinished if stem not in course.stems and not wanted)
    stems = course.select(wanted)
    _require_current(course, stems)
    with tempfile.TemporaryDirectory() as temporary:
        wheel = build_wheel(SOURCES, Path(temporary))
        files = contents(course, stems, wheel)
    return Released(stems, write_release(folder, files, overwrite=overwrite), unfinished)


def _require_current(course: Course, stems: Sequence[str]) -> None:
    folder = course.root / "assignments"
    masters = [course.assignment(stem) for stem in stems]
    points = {stem: course.points(stem) for stem in stems}
    try:
        old = [path for path in outdated(masters, folder, points) if stem_of(path) in stems]
    except OSError as error:
        raise CourseError(f"{error.filename} cannot be read ({error.strerror}): make it readable.") from error
    if old:
        names = ", ".join(some((str(path.relative_to(course.root)) for path in old), 3))
        raise GraderError(
            f"{names}: not what the masters in solutions/ say. Run `make build`, look at what changed,"
            " and release again."
        )


MANIFEST = ".handout/release.json"
_SCHEMA = "autograd-grader/release/v1"
_NOBODYS = {".git"}  # a repository that was made for the first release

Hashes = dict[str, set[str]]


@dataclass(frozen=True)
class Changes:
    """What a release changed: paths below its folder, sorted.

    Attributes:
        written: new, or different from before.
        removed: of the release before, and not of this one.
        kept: not written or removed, because somebody has changed them.
    """

    written: tuple[str, ...]
    removed: tuple[str, ...]
    kept: tuple[str, ...]


def write_release(folder: Path, files: Mapping[str, bytes], *, overwrite: bool) -> Changes:
    """Make a folder hold these files, each complete or not at all.

    Args:
        folder: empty, missing, or an earlier release.
        files: by their path below the folder, with ``/``.
        overwrite: also replace or remove what somebody has changed.

    Raises:
        GraderError: the folder is neither, a link leads out of it, or it cannot be written; where that is
            known before, nothing has been changed.
    """
    try:
        return _write(folder, files, overwrite=overwrite)
    except OSError as error:
        raise GraderError(
            f"{error.filename or folder} cannot be written ({error.strerror}): mend that, or choose another"
            " folder; the same command goes on."
        ) from error


def _write(folder: Path, files: Mapping[str, bytes], *, overwrite: bool) -> Changes:
    known = _earlier(folder)
    for path in {*files, *known, MANIFEST}:
        _require_plain(folder, path)
    new = {path: {_sha256(content)} for path, content in files.items()}
    found = {path: _sha256_of(folder / path) for path in {*files, *known}}
    different = sorted(path for path in files if found[path] not in new[path])
    obsolete = sorted(path for path in known if path not in files and found[path])
    foreign = {path for path in [*different, *obsolete] if found[path] not in {None, *known.get(path, ())}}
    kept = () if overwrite else tuple(sorted(foreign))
    written = tuple(path for path in different if path not in kept)
    removed = tuple(path for path in obsolete if path not in kept)
    if written or removed or known != new:
        # Until all is done, both the old and the new files are ours.
        either = {path: known.get(path, set()) | new.get(path, set()) for path in {*known, *new}}
        write_atomic(folder / MANIFEST, _manifest(either))
        for path in written:
            write_atomic(folder / path, files[path])
        for path in removed:
            _remove(folder, path)
        write_atomic(folder / MANIFEST, _manifest(new))
    return Changes(written, removed, kept)


def _earlier(folder: Path) -> Hashes:
    """What the release before wrote; nothing in an empty folder."""
    if folder.exists() and not folder.is_dir():
        raise GraderError(f"{folder} is a file: name a folder for the student repository.")
    if not folder.is_dir() or all(entry.name in _NOBODYS for entry in folder.iterdir()):
        return {}
    path = folder / MANIFEST
    if path.is_symlink() or not path.is_file():
        raise GraderError(
            f"{folder} is neither empty nor an earlier release (it has no {MANIFEST}): choose another folder."
        )
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        files: dict[str, list[str]] = {_SCHEMA: said["files"]}[said["schema"]]
        return {str(name): {str(sha256) for sha256 in hashes} for name, hashes in files.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise GraderError(
            f"{path} is broken, so nobody knows which files are the release's: release into an empty folder."
        ) from error


def _require_plain(folder: Path, path: str) -> None:
    """Refuse a path by which something outside of the folder would be written or removed."""
    posix, windows = PurePosixPath(path), PureWindowsPath(path)
    parts = posix.parts
    if (
        posix.is_absolute()
        or windows.anchor
        or "\\" in path
        or ".." in parts
        or not parts
        or ".git" in path.casefold().split("/")
    ):
        raise GraderError(f"{folder / MANIFEST} names {path!r}, which no release has: use an empty folder.")
    for parent in [folder / Path(*parts[: length + 1]) for length in range(len(parts))]:
        if parent.is_symlink():
            raise GraderError(f"{parent} is a link, and nothing is written through one: remove it.")
    if (folder / path).is_dir():
        raise GraderError(f"{folder / path} is a folder, where the release has a file: move it away.")


def _remove(folder: Path, path: str) -> None:
    """Remove a file, and the folders that are empty then."""
    (folder / path).unlink()
    with contextlib.suppress(OSError):
        for parent in PurePosixPath(path).parents[:-1]:
            (folder / parent).rmdir()


def _manifest(files: Mapping[str, Iterable[str]]) -> bytes:
    said = {"schema": _SCHEMA, "files": {path: sorted(files[path]) for path in sorted(files)}}
    return (json.dumps(said, indent=1, ensure_ascii=False) + "\n").encode()


def _sha256_of(path: Path) -> str | None:
    try:
        return _sha256(path.read_bytes())
    except FileNotFoundError:
        return None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
