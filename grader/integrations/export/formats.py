"""The formats that there are, and ``write_export``, which writes one of them."""

from __future__ import annotations

import pkgutil  # noqa: TID251 - for the modules of this package alone
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module  # noqa: TID251 - as above
from pathlib import Path

import grader.integrations.export as package
from grader.errors import GraderError
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


def table() -> str:
    """The formats as a table in Markdown, for the documentation."""
    lines = ["| format | writes | say |", "|---|---|---|"]
    for form in all_formats().values():
        named = f"`--gradebook`: {form.gradebook}{'' if form.needs_gradebook else ', if you have it'}"
        options = [named] if form.gradebook else []
        options += [f"`--column`: {form.columns}"] if form.columns else []
        writes = " ".join(filter(None, [f"{'; '.join(form.help.splitlines())}.", form.advice]))
        lines.append(f"| `{form.name}` | {writes} | {'. '.join(options)} |")
    return "\n".join(lines)


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
    if columns and not form.columns:
        raise GraderError(f"--column is for {' and '.join(each.name for each in others if each.columns)}")
    if columns and gradebook is None:
        raise GraderError(f"--column names a column of a file: add --gradebook FILE, {form.gradebook}")
    if stem is not None:
        named = [column.removeprefix(f"{stem}=") for column in columns]
        if len(named) > 1:
            raise GraderError(f"--column was given {len(named)} times, but {stem} has one column")
        return dict.fromkeys([stem] if named else [], "".join(named))
    for column in columns:
        if "=" not in column:
            raise GraderError(f"--column {column} names no assignment: write --column STEM=HEADING")
        if (asked := column.partition("=")[0]) not in stems:
            raise GraderError(
                f"--column {column}: there is no assignment {asked}; {did_you_mean(asked, stems)}"
            )
    return dict(column.split("=", 1) for column in columns)


def write_export(form: Format, export: Export) -> None:
    """Write the files of one format.

    Raises:
        GraderError: there is nothing to export, or it cannot be written.
    """
    if read_run(export.folder).finished is False:
        export.note(
            f"The last run into {export.folder} was stopped: grade again, or some results are missing."
        )
    form.write(export)
