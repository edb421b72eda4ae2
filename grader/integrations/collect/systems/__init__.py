"""The systems that notebooks come back from: one module each, found by being here.

A module holds a `SYSTEM`, which says how that system names downloads. To add a system, add a module:
``collect --help``, the messages, the documentation and the tests of what every system must do read it from
there. A name counts only where the system puts it, at the top: a student named what is below, and could write
another student's name there.
"""

from __future__ import annotations

import pkgutil  # noqa: TID251 - for the modules of this package alone
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module  # noqa: TID251 - as above
from itertools import count

from grader.errors import GraderError
from grader.integrations.collect.folders import by_folders
from grader.integrations.collect.model import Context, Listing, Named, Student, Submitted, System
from grader.integrations.collect.source import MOST_FOLDERS, MOST_NAMED, Parts, Source, SourceFile, path_text
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


def notes() -> str:
    """A note on each system as a list in Markdown, for the documentation."""
    return "".join(f"* {system.title}: {system.about}\n" for system in all_systems())


def _wrapper(source: Source, context: Context) -> Parts:
    """The folders around everything, if they are no student's.

    Raises:
        GraderError: folders are downloads, or a student may have packed and named a folder around everything,
            and nobody said that it holds a class.
    """
    downloads = _downloads(source, context)
    around = next(iter(downloads)) if len(downloads) == 1 else (*sorted(source.tops)[:1],)
    is_all = all(file.parts[: len(around)] == around != file.parts for file in source.files)
    if downloads and not (source.is_archive and is_all and len(downloads) == 1):
        _refuse(downloads, source, context)
        return ()
    if not is_all or not source.is_archive or _is_students(around[0], source, context):
        return ()
    is_students = len({file.parts[1] for file in source.files}) < 2 or all(
        len(file.parts) == 2 for file in source.files
    )
    if is_students and not downloads:
        return ()
    if context.prefixes is None:
        is_class = (
            f"is a download from {downloads[around].title}" if downloads else "contains a folder per student"
        )
        raise GraderError(
            f"everything is in {path_text(around)}, which a student may have packed. If it {is_class},"
            ' add --prefix "" (or --prefix TEXT, if their names begin with TEXT);'
            " if it is one student's work, unpack it, and collect the folder that contains it."
        )
    return around


def _is_students(top: str, source: Source, context: Context) -> bool:
    """Whether a folder is known to be a student's: a repository, or one that a prefix names."""
    return (top,) in source.repositories or context.without_prefix(top) != top


def _downloads(source: Source, context: Context) -> dict[Parts, System]:
    """The folders that are downloads from a system, where names at the top are no system's.

    A student's folder does not contain two students' names, as a system writes them; a folder around
    everything does not contain such names alone. Names next to a notebook in a student's folder, or below it,
    mean nothing.
    """
    inside: dict[str, list[Parts]] = defaultdict(list)
    for file in source.files:
        inside[file.parts[0]].append(file.parts)
    found: dict[Parts, System] = {}
    for top, paths in sorted(inside.items()):
        if _is_students(top, source, context):
            continue
        for depth in range(1, min(MOST_FOLDERS + 1, *map(len, paths))):
            names: dict[Parts, set[str]] = defaultdict(set)
            for parts in paths:
                names[parts[:depth]].add(parts[depth])
            of_depth = {folder: _system_of(source, folder, inner, context) for folder, inner in names.items()}
            if any(of_depth.values()):
                found |= {folder: system for folder, system in of_depth.items() if system}
                break
    return found


def _system_of(source: Source, folder: Parts, names: Collection[str], context: Context) -> System | None:
    """The system that wrote the names in a folder; None if it is not clear that one did."""
    for system in all_systems():
        students = [student for name in names if (student := system.student_in(name, context))]
        is_whole = len(students) == len(names) and len(source.tops) == 1 and not system.folder
        if not is_whole and len({*students}) < 2:
            continue
        if not system.marker or any(file.parts == (*folder, system.marker) for file in source.others):
            return system
    return None


def _refuse(downloads: Mapping[Parts, System], source: Source, context: Context) -> None:
    """Refuse folders that are downloads, unless the instructor said that several are students' folders.

    Raises:
        GraderError: nobody did.
    """
    has_several = len(source.tops) > 1
    if has_several and "" in (context.prefixes or ()):
        return
    listed = terminal_text(", ".join(some(map(path_text, sorted(downloads)), MOST_NAMED)))
    titles = " and ".join(sorted({system.title for system in downloads.values()}))
    is_one = len(downloads) == 1
    what = (
        "is not a student's folder, but a download" if is_one else "are not students' folders, but downloads"
    )
    unpack = "unpack it, and " if source.is_archive else ""
    folders = "that folder" if is_one else "each of these folders"
    theirs = "it is a student's" if is_one else "they are students'"
    otherwise = f' If {theirs}, add --prefix "".' if has_several else ""
    raise GraderError(f"{listed} {what} from {titles}: {unpack}collect {folders}.{otherwise}")


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
