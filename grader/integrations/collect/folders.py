"""Folders that are named after students, as ``grade`` reads them, and clones of repositories."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from grader.errors import GraderError
from grader.integrations.collect.model import Context, Listing, Student, Submitted
from grader.integrations.collect.source import MOST_NAMED, Source
from grader.notebooks.files import notebook_stem
from grader.text import some, terminal_text

_EMPTY = "empty folder"


def by_folders(
    source: Source, context: Context, downloads: Mapping[str, str] = MappingProxyType({})
) -> Listing:
    """A student for each folder at the top; below it, names mean nothing.

    Args:
        downloads: the names of the repositories that folders are downloads of.

    Raises:
        GraderError: it is not clear whose the notebooks are; the text says what to do.
    """
    _refuse_containers(source)
    names = {top: downloads.get(top, top) for (top, *inner) in source.folders if not inner}
    repositories = [names[top] for top in sorted(names) if (top,) in source.repositories or top in downloads]
    _refuse_unclear_prefix(repositories, context, are_downloads=bool(downloads))
    notebooks = []
    for file in source.files:
        top = file.parts[0]
        name = names[top] if len(file.parts) > 1 else notebook_stem(top)
        notebooks.append(Submitted(_student(name, context), file, file.parts[-1], file.modified))
    listing = Listing(notebooks)
    first: dict[str, str] = {}  # the names of other files, and of hidden ones only if there is nothing else
    for file in sorted(source.others, key=lambda file: (file.parts[-1].startswith("."), file.parts)):
        first.setdefault(file.parts[0], file.parts[-1])
    for top in sorted(names.keys() - source.tops):
        student = _student(names[top], context)
        if (top,) in source.repositories or top in downloads:  # it may get a notebook by the next push
            listing.empty.append(student)
        else:
            listing.others[student] = first.get(top, _EMPTY)
    whole = sorted(name for name in names.values() if context.without_prefix(name) == name)
    if any(context.prefixes or ()) and whole:
        listing.notes.append(f"no such prefix, so taken whole: {', '.join(some(whole, MOST_NAMED))}.")
    return listing


def _student(name: str, context: Context) -> Student:
    login = context.without_prefix(name)
    return Student(login, logins=(login,))


def _refuse_containers(source: Source) -> None:
    """Refuse folders that hold repositories, because each would be a student.

    Raises:
        GraderError: all notebooks lie in repositories, one folder below the top.
    """
    inner = {file.parts[:2] for file in source.files}
    if inner and inner <= source.repositories and not {parts[:1] for parts in inner} & source.repositories:
        holders = sorted({parts[0] for parts in inner})
        raise GraderError(
            f"{terminal_text(', '.join(some(holders, MOST_NAMED)))} contains repositories, and is not a"
            " student's folder: collect that folder."
        )


def _refuse_unclear_prefix(repositories: Sequence[str], context: Context, *, are_downloads: bool) -> None:
    """Refuse repositories whose names may begin with that of an assignment.

    Raises:
        GraderError: there is a hyphen in a name, and nobody said where the student's part begins.
    """
    unclear = [name for name in repositories if "-" in name]
    if context.prefixes is None and unclear:
        shared = os.path.commonprefix(unclear) if len(unclear) > 1 else ""  # noqa: RUF071 - of names
        begin = shared[: shared.rfind("-") + 1].rstrip("-") or unclear[0].partition("-")[0]
        named = " (GitHub names downloads <repository>-main or <repository>-master)" if are_downloads else ""
        raise GraderError(
            f"{terminal_text(', '.join(some(unclear, MOST_NAMED)))}{named}: where does a student's name begin"
            f" in these names of repositories? Say --prefix {terminal_text(begin)}, once for each assignment,"
            ' or --prefix "" if they are the students\' names.'
        )
