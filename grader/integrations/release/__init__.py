"""Outside: the student repository, which is what students get and nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.build import outdated, stem_of
from grader.course.course import Course
from grader.course.unfinished import without_unfinished
from grader.errors import CourseError, GraderError
from grader.integrations.release.contents import contents
from grader.integrations.release.folder import Changes, write_release
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
    course = without_unfinished(course, wanted)
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
