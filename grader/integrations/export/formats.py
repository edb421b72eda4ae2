"""List the export formats, and write one of them."""

from __future__ import annotations

import pkgutil  # noqa: TID251 - for the modules of this package alone
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module  # noqa: TID251 - as above
from pathlib import Path

import grader.integrations.export as package
from grader.course.assignment import STEM
from grader.errors import GraderError
from grader.files import write_atomic
from grader.integrations.export import Export, Format
from grader.results.store import read_run
from grader.text import did_you_mean


@cache
def all_formats() -> Mapping[str, Format]:
    """Every format by its name, in the order of the alphabet."""
    names = (module.name for module in pkgutil.iter_modules(package.__path__))
    modules = (import_module(f"{package.__name__}.{name}") for name in sorted(names))
    found = [module.FORMAT for module in modules if hasattr(module, "FORMAT")]
    return {form.name: form for form in found}


def uses() -> str:
    """The use of each format as a list in Markdown, for the documentation."""
    return "".join(f"* `{form.name}`: {form.advice}\n" for form in all_formats().values())


def columns_of(
    form: Format, stems: Collection[str], stem: str | None, gradebook: Path | None, columns: Sequence[str]
) -> dict[str, str]:
    """The column to fill for each assignment, from ``HEADING`` or ``STEM=HEADING``.

    Args:
        stems: of the course.

    Raises:
        GraderError: an option is missing, or would have no effect.
    """
    others = all_formats().values()
    if form.needs_gradebook and gradebook is None:
        raise GraderError(f"{form.name} needs --gradebook FILE: {form.gradebook}")
    if gradebook is not None and not form.gradebook:
        raise GraderError(f"--gradebook is for {', '.join(each.name for each in others if each.gradebook)}")
    if columns and not form.takes_columns:
        raise GraderError(
            f"--column is for {' and '.join(each.name for each in others if each.takes_columns)}"
        )
    if columns and gradebook is None:
        raise GraderError(f"--column names a column of a file: add --gradebook FILE, {form.gradebook}")
    found: dict[str, str] = {}
    for column in columns:
        asked, heading = _asked(column, stems, stem)
        if not heading.strip():
            raise GraderError(f"--column {column!r} names no column: write its heading")
        if asked in found:
            raise GraderError(
                f"--column {column}: {asked} has one column, and --column named {found[asked]} before"
            )
        if heading in found.values():
            raise GraderError(f"--column {column}: {heading} is the column of another assignment already")
        found[asked] = heading
    return found


def _asked(column: str, stems: Collection[str], stem: str | None) -> tuple[str, str]:
    """The assignment and the heading of ``HEADING`` or ``STEM=HEADING``.

    Args:
        stem: the only assignment that is exported; None for all.

    Raises:
        GraderError: it names no assignment, or one that is not exported.
    """
    first, sign, rest = column.partition("=")
    if sign and (first == stem or stem is None or STEM.fullmatch(first)):
        if first not in stems:
            raise GraderError(
                f"--column {column}: there is no assignment {first}; {did_you_mean(first, stems)}"
            )
        if stem not in {None, first}:
            raise GraderError(f"--column {column} is about {first}, and only {stem} is exported")
        return first, rest
    if stem is None:
        raise GraderError(f"--column {column} names no assignment: write --column STEM=HEADING")
    return stem, column


def write_export(form: Format, export: Export) -> None:
    """Write the files of one format.

    Raises:
        GraderError: there is nothing to export or a file cannot be read, and nothing was written; or a file
            cannot be written.
    """
    if read_run(export.folder).finished is False:
        export.note(
            f"The last run into {export.folder} was stopped: grade again, or some results are missing."
        )
    for stem in sorted(export.columns.keys() - export.results.keys()) if export.columns else ():
        raise GraderError(f"--column {stem}={export.columns[stem]}: there is no result of {stem}")
    form.write(export)
    for path, content in export.contents.items():
        try:
            write_atomic(path, content)
        except OSError as error:
            raise GraderError(
                f"{path} cannot be written ({error.strerror}): make room there or choose another --out"
            ) from error
