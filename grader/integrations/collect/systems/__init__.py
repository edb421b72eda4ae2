"""The systems that notebooks come back from: one module each, found by being here.

A module holds a `SYSTEM`, which says how that system names downloads. To add a system, add a module:
``collect --help``, the messages, the documentation and the tests of what every system must do read it from
there. A name counts only where the system puts it, at the top: a student named what is below, and could write
another student's name there.
"""

from __future__ import annotations

import pkgutil  # noqa: TID251 - for the modules of this package alone
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module  # noqa: TID251 - as above
from itertools import count

from grader.errors import GraderError
from grader.integrations.collect.folders import by_folders
from grader.integrations.collect.model import Context, Listing, Named, Student, Submitted, System
from grader.integrations.collect.source import MOST_NAMED, Parts, Source, SourceFile
from grader.text import some, terminal_text


@cache
def all_systems() -> tuple[System, ...]:
    """Every system, in the order in which they are asked."""
    modules = (import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    found = [module.SYSTEM for module in modules]
    return tuple(sorted(found, key=lambda system: (system.is_loose, system.title)))


def list_submissions(source: Source, context: Context) -> Listing:
    """The submissions in a source: by the system that the source comes from, or otherwise by folders.

    Raises:
        GraderError: it is not clear whose the notebooks are; the text says what to do.
    """
    listing = _of_system(source, context)
    if listing is None and (around := _wrapper(source, context)):
        source = source.below(around)
        listing = _of_system(source, context)
    if listing is not None:
        return listing
    loose = sorted(file.parts[0] for file in source.files if len(file.parts) == 1)
    if loose and context.prefixes is None:
        listed = terminal_text(", ".join(some(loose, MOST_NAMED)))
        known = "; ".join(f"{system.title}: {system.pattern}" for system in all_systems())
        raise GraderError(
            f"{listed}: not in a student's folder, and not named as any known system does ({known})."
            " Put each into a folder with the student's name, or add"
            ' --prefix "" if the files are named after students.'
        )
    return by_folders(source, context)


def _of_system(source: Source, context: Context) -> Listing | None:
    """The submissions in a source, by the names of a system; None if the source is no system's.

    Raises:
        GraderError: some names are the system's and others are not, or it is not clear whose they are.
    """
    for system in all_systems():
        if (listing := system.read(source, context)) is not None:
            return listing
        views = [source]
        if system.is_wrapped and source.is_archive and len(source.tops) == 1:
            views.append(source.below((*source.tops,)))
        for view in views:
            named = {top: found for top in view.tops if (found := system.parse(top, context))}
            if named:
                return _by_names(system, view, named, context)
    return None


def table() -> str:
    """The systems as the rows of a table in Markdown, for the documentation."""
    return "".join(f"| {system.title} | {system.about} |\n" for system in all_systems())


def _wrapper(source: Source, context: Context) -> Parts:
    """The folder around everything, if it is no student's.

    Raises:
        GraderError: a student may have packed and named it, and nobody said that it holds a class.
    """
    if len(source.tops) != 1 or any(len(file.parts) == 1 for file in source.files):
        return ()
    (top,) = source.tops
    is_student = (top,) in source.repositories or context.without_prefix(top) != top
    inner = {file.parts[1] for file in source.files}
    if is_student or len(inner) < 2:
        return ()
    if not source.is_archive:
        for system in all_systems():
            if all(system.parse(name, context) for name in inner):
                raise GraderError(
                    f"{terminal_text(top)} is not a student's folder, but a download from {system.title}:"
                    " collect that folder."
                )
        return ()
    if all(len(file.parts) == 2 for file in source.files):
        return ()
    if context.prefixes is None:
        raise GraderError(
            f"everything is in {terminal_text(top)}, which a student may have packed. If it contains a folder"
            ' per student, add --prefix "" (or --prefix TEXT, if their names begin with TEXT);'
            " if it is one student's work, unpack it, and collect the folder that contains it."
        )
    return (top,)


def _by_names(system: System, source: Source, named: Mapping[str, Named], context: Context) -> Listing:
    """Read each file by the name at its top.

    Raises:
        GraderError: a name is not the system's.
    """
    if others := sorted(source.tops - named.keys()):
        listed = terminal_text(", ".join(some(others, MOST_NAMED)))
        raise GraderError(
            f"these names don't match {system.title}'s pattern {system.pattern}: {listed}. Remove"
            f" {'it' if len(others) == 1 else 'them'} from the source, and collect again."
        )
    system.check(named, context)
    times = system.times(source)
    named = {top: replace(each, when=times.get(top, each.when)) for top, each in named.items()}
    notebooks = []
    for file in source.files:
        top = file.parts[0]
        if system.of_teachers in file.parts[1:-1]:
            source.skipped.append((file.path, "is an instructor's"))
            continue
        name = named[top].file if len(file.parts) == 1 else file.parts[-1]
        notebooks.append((_student(system, named[top]), named[top], file, name or top))
    submitted = [*_in_order(notebooks, context)]
    holding = {notebook.student for notebook in submitted}
    listing = Listing(submitted)
    plain = replace(context, prefixes=())
    if any(context.prefixes or ()) and all(
        (again := system.parse(top, plain)) and again.student == each.student for top, each in named.items()
    ):
        listing.notes.append(
            f"--prefix did nothing: no student's name in this download from {system.title} begins with it."
        )
    for parts in sorted(file.parts for file in source.others if file.path not in source.systems):
        if system.of_teachers in parts[1:-1]:
            continue
        found = named.get(parts[0]) or system.parse(parts[0], context)
        if found and (student := _student(system, found)) not in holding:
            listing.others.setdefault(student, found.file if len(parts) == 1 and found.file else parts[-1])
    return listing


def _student(system: System, named: Named) -> Student:
    return Student(named.student, system.key if named.id else "", named.id, named.logins)


def _in_order(
    notebooks: Sequence[tuple[Student, Named, SourceFile, str]], context: Context
) -> Iterator[Submitted]:
    """The notebooks with their times; where a system gives an order and no times, a second apart."""
    latest: dict[tuple[Student, str], int] = defaultdict(int)
    for student, named, _, _ in notebooks:
        latest[student, named.file] = max(latest[student, named.file], named.order or 0)

    def place(student: Student, named: Named) -> tuple[bool, int, str, int, int]:
        of_file = latest[student, named.file], named.file
        return named.is_late, *of_file, named.attempt, named.order or 0

    downloaded = max((file.modified for _, _, file, _ in notebooks), default=0)
    places: dict[Student, Iterator[int]] = defaultdict(count)
    for student, named, file, name in sorted(notebooks, key=lambda each: place(each[0], each[1])):
        when = file.modified
        if named.when is not None:
            when = context.nanoseconds(named.when)
        elif named.order is not None:
            when = downloaded + next(places[student]) * 10**9
        yield Submitted(student, file, name, when, named.is_late)
