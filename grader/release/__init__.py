"""Outside: the student repository, which is what students get and nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.build import outdated
from grader.course import Course
from grader.errors import CourseError, GraderError
from grader.release.contents import contents
from grader.release.folder import Changes, write_release
from grader.wheel import SOURCES, build_wheel

__all__ = ["Released", "release"]


@dataclass(frozen=True)
class Released:
    """A release: the assignments in it, and what it changed in its folder."""

    stems: tuple[str, ...]
    changes: Changes


def release(course: Course, folder: Path, wanted: Sequence[str] = (), *, overwrite: bool = False) -> Released:
    """Write the student repository into a folder that is empty or an earlier release.

    Args:
        course: what is released.
        folder: where it goes; made where it is missing. Files that no release wrote are left alone.
        wanted: the stems of the assignments; all where it is empty.
        overwrite: also replace files of an earlier release that somebody has changed since.

    Raises:
        GraderError: ``assignments/`` is outdated, an assignment is unknown, or the folder cannot be written.
        CourseError: a file of the course is wrong.
    """
    stems = course.select(wanted)
    _require_current(course, stems)
    with tempfile.TemporaryDirectory() as temporary:
        wheel = build_wheel(SOURCES, Path(temporary))
        files = contents(course, stems, wheel)
    return Released(stems, write_release(folder, files, overwrite=overwrite))


def _require_current(course: Course, stems: Sequence[str]) -> None:
    folder = course.root / "assignments"
    masters = [course.assignments[stem] for stem in stems]
    points = {stem: course.points(stem) for stem in stems}
    try:
        old = [path for path in outdated(masters, folder, points) if _stem_of(path) in stems]
    except OSError as error:
        raise CourseError(f"{error.filename} cannot be read ({error.strerror}): make it readable.") from error
    if old:
        names = ", ".join(str(path.relative_to(course.root)) for path in old[:3])
        more = f" and {len(old) - 3} more" if len(old) > 3 else ""
        raise GraderError(
            f"{names}{more}: not what the masters in solutions/ say. Run `make build`, look at what changed,"
            " and release again."
        )


def _stem_of(path: Path) -> str:
    return path.stem if path.suffix == ".ipynb" else path.parent.name
