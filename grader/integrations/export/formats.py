"""The table of formats, and ``write_export``, which writes one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from grader.errors import GraderError
from grader.integrations.export import (
    MAX_NAMES,
    Export,
    canvas,
    classroom50,
    github,
    gradescope,
    junit,
    moodle,
)
from grader.results.model import Result
from grader.results.reader import read_results, still_handed_in, was_stopped
from grader.text import some

FORMATS: Mapping[str, Callable[[Export], None]] = {
    "canvas": canvas.write_files,
    "classroom50": classroom50.write_files,
    "github": github.write_files,
    "gradescope": gradescope.write_files,
    "junit": junit.write_files,
    "moodle": moodle.write_files,
}
_FILLED = ("canvas", "moodle")  # a gradebook that was exported there


def require_fitting_options(form: str, stem: str | None, gradebook: Path | None, column: str | None) -> None:
    """Refuse options of ``export`` that its format does not have, or that it needs and are not there."""
    if form in _FILLED and gradebook is None:
        raise GraderError(f"{form} needs --gradebook FILE: the gradebook that you exported there, as CSV")
    if gradebook is not None and form not in _FILLED:
        raise GraderError(f"--gradebook is for {' and '.join(_FILLED)}")
    if column is not None and (form != "canvas" or stem is None):
        raise GraderError("--column is for canvas, and with it the assignment STEM has to be named")


def write_export(form: str, export: Export) -> None:
    """Write the files of one format.

    Raises:
        GraderError: there is nothing to export, or it cannot be written.
    """
    if form != "gradescope" or _has_results(export):
        _read_results(export)
    else:  # the zips can be made before grading
        export.note(f"{export.folder} has no results of {', '.join(export.stems)}: there is no results.json.")
    if was_stopped(export.folder):
        export.note(
            f"The last run into {export.folder} was stopped: grade again, or some results are missing."
        )
    FORMATS[form](export)


def _has_results(export: Export) -> bool:
    stored = read_results(export.folder) if (export.folder / "submissions").is_dir() else []
    return any(result.assignment in export.stems for result in stored)


def _read_results(export: Export) -> None:
    """Add the results that are asked for, and notes about results that are left out."""
    stored, gone = still_handed_in(read_results(export.folder), export.folder)
    chosen, notes = _by_assignment(stored, export.stem)
    export.results.update(chosen)
    export.notes.extend(notes)
    if gone:
        names = ", ".join(some(gone, MAX_NAMES))
        export.note(f"Left out, because they are no longer in the gradebook: {names}.")


def _by_assignment(results: Sequence[Result], stem: str | None) -> tuple[dict[str, list[Result]], list[str]]:
    """The results to export by stem, and notes about the others.

    Raises:
        GraderError: none is left.
    """
    stems = sorted({result.assignment for result in results if result.assignment})
    chosen = {each: [result for result in results if result.assignment == each] for each in stems}
    if stem is not None:
        if stem not in chosen:
            raise GraderError(f"there is no result of {stem}; there are some of {', '.join(stems) or 'none'}")
        chosen = {stem: chosen[stem]}
    if not chosen:
        raise GraderError("no result belongs to an assignment of the course, so there is nothing to export")
    others = [] if stem else [result.notebook for result in results if not result.assignment]
    failed = [result.notebook for group in chosen.values() for result in group if result.error]
    notes = [
        f"{sentence}: {', '.join(some(names, MAX_NAMES))}."
        for sentence, names in (
            ("Left out, because they belong to no assignment", others),
            ("These could not be graded and are exported with 0 points", failed),
        )
        if names
    ]
    return chosen, notes
