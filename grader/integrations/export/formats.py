"""The table of formats, and ``write_export``, which writes one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from grader.errors import GraderError
from grader.integrations.export import Export, classroom50, feedback, github, gradebooks, gradescope, junit
from grader.results.store import read_current, read_results, was_stopped

FORMATS: Mapping[str, Callable[[Export], None]] = {
    "canvas": gradebooks.write_canvas,
    "classroom50": classroom50.write_files,
    "feedback": feedback.write_files,
    "github": github.write_files,
    "gradescope": gradescope.write_files,
    "junit": junit.write_files,
    "moodle": gradebooks.write_moodle,
    "wide": gradebooks.write_wide,
}
_OF_ALL = ("feedback",)  # also of what belongs to no assignment
#: Those that fill in the teacher's own file, and what that is; which go without; whose columns can be named.
_FILLED = {
    "canvas": "the gradebook that you exported there, as CSV",
    "classroom50": "the scores.json of the classroom, in a clone of the repository classroom50",
    "moodle": "the gradebook that you exported there, as CSV",
}
_ALSO_WITHOUT = ("classroom50",)
_WITH_COLUMNS = ("canvas", "classroom50")


def columns_of(form: str, stem: str | None, gradebook: Path | None, columns: Sequence[str]) -> dict[str, str]:
    """The column to fill for each assignment, from ``HEADING`` or ``STEM=HEADING``.

    Raises:
        GraderError: the format does not have such options, or needs some that are not there.
    """
    if form in _FILLED and form not in _ALSO_WITHOUT and gradebook is None:
        raise GraderError(f"{form} needs --gradebook FILE: {_FILLED[form]}")
    if gradebook is not None and form not in _FILLED:
        raise GraderError(f"--gradebook is for {', '.join(_FILLED)}")
    if columns and form not in _WITH_COLUMNS:
        raise GraderError(f"--column is for {' and '.join(_WITH_COLUMNS)}")
    if stem is not None:
        named = [column.removeprefix(f"{stem}=") for column in columns]
        if len(named) > 1:
            raise GraderError(f"--column was given {len(named)} times, but {stem} has one column")
        return dict.fromkeys([stem] if named else [], "".join(named))
    for column in columns:
        if "=" not in column:
            raise GraderError(f"--column {column} names no assignment: write --column STEM=HEADING")
    return dict(column.split("=", 1) for column in columns)


def write_export(form: str, export: Export) -> None:
    """Write the files of one format.

    Raises:
        GraderError: there is nothing to export, or it cannot be written.
    """
    if form == "gradescope" and not _is_graded(export):  # the zips can be made before
        export.note(f"{export.folder} has no results of {', '.join(export.stems)}: there is no results.json.")
    elif form not in _OF_ALL:
        _read_results(export)
    if was_stopped(export.folder):
        export.note(
            f"The last run into {export.folder} was stopped: grade again, or some results are missing."
        )
    FORMATS[form](export)


def _is_graded(export: Export) -> bool:
    """Whether there is a result of an assignment that was asked for."""
    is_there = (export.folder / "submissions").is_dir()
    return is_there and any(result.assignment in export.stems for result in read_results(export.folder))


def _read_results(export: Export) -> None:
    """Add the results that are asked for, and notes about results that are left out.

    Raises:
        GraderError: none is left.
    """
    results, gone = read_current(export.folder)
    stems = sorted({result.assignment for result in results if result.assignment})
    if export.stem is not None and export.stem not in stems:
        known = ", ".join(stems) or "none"
        raise GraderError(f"there is no result of {export.stem}; there are some of {known}")
    if not stems:
        raise GraderError("no result belongs to an assignment of the course, so there is nothing to export")
    if export.stem is None:
        others = [result.notebook for result in results if not result.assignment]
        export.note("Left out, because they belong to no assignment", others)
    for stem in [export.stem] if export.stem else stems:
        export.results[stem] = [result for result in results if result.assignment == stem]
    failed = [result.notebook for group in export.results.values() for result in group if result.error]
    export.note("These could not be graded and are exported with 0 points", failed)
    export.note("Left out, because they are no longer in the gradebook", gone)
    every = (result for group in export.results.values() for result in group)
    missing = [f"{result.notebook} ({result.missing.text})" for result in every if result.missing]
    export.note("Exported as they were, because the clones of now do not have them", missing)
