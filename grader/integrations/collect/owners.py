"""Who handed in what, by the names that systems give to folders and files.

A name counts only where the system puts it, at the top: a student named what is below, and could write
another student's name there. GitHub Classroom and its successors call a repository ``assignment-student``,
and ``gh classroom clone`` puts them into ``assignment-submissions/``. Both names may contain hyphens.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from grader.errors import GraderError
from grader.integrations.collect.lms_names import (
    EXPORT,
    FOLDER,
    canvas,
    gradescope,
    is_canvas,
    moodle,
    moodle_person,
)
from grader.integrations.collect.source import (
    METADATA,
    MOST_NAMED,
    Attribution,
    OwnedNotebook,
    Owner,
    Parts,
    Source,
    SourceFile,
)
from grader.notebooks.files import notebook_stem
from grader.text import some, terminal_text

_CONTAINER = "-submissions"

Prefixes = tuple[str, ...]
"""The beginnings of folders' names that belong to no student's name, each with its hyphen."""


def find_owners(source: Source, prefixes: Sequence[str] | None) -> Attribution:
    """Find out who handed in each notebook.

    Raises:
        GraderError: Gradescope's metadata cannot be read, or clones share no prefix.
    """
    exported, doubts = _exported(source)
    if exported is not None:
        return gradescope(source.below(exported), source.metadata[exported])
    wrapper = _wrapper(source)
    inner = source.below(wrapper)
    notebooks, rest = _of_systems(inner)
    of_folders = _of_folders(inner, rest, prefixes)
    notes = [*of_folders.notes, *doubts]
    if wrapper and any(len(file.parts) > 1 for file in rest):
        notes.append(f"everything lies in {wrapper[0]}, so the folders in it are the students.")
    return replace(of_folders, notebooks=notebooks + of_folders.notebooks, notes=notes, wrapper=wrapper)


def _exported(source: Source) -> tuple[Parts | None, list[str]]:
    """The folder that Gradescope exported, or None; and why what looks like an export is not believed.

    A student who chose a folder's name could have written metadata into it, with other students' names.
    """
    doubts = []
    beside = {parts[:-1] for parts in source.folders if FOLDER.fullmatch(parts[-1])}
    for root in sorted(beside & source.metadata.keys()):
        if not root or (EXPORT.fullmatch(root[0]) and _tops(source) == {root[0]}):
            return root, []
        doubts.append(
            f"{METADATA} in {root[0]} is not read: if Gradescope wrote it, unpack it and collect {root[0]}."
        )
    return None, some(doubts, 1)


def _tops(source: Source) -> set[str]:
    return {file.parts[0] for file in source.files}


def _wrapper(source: Source) -> Parts:
    """The one folder that a zip wraps around everything."""
    tops = _tops(source)
    if not source.is_archive or len(tops) != 1 or any(len(file.parts) == 1 for file in source.files):
        return ()
    (top,) = tops
    is_student = (top,) in source.repositories or moodle_person(top)[1]
    holds_several = len({file.parts[1] for file in source.files}) > 1
    return (top,) if holds_several and not is_student and not top.endswith(_CONTAINER) else ()


def _of_systems(source: Source) -> tuple[list[OwnedNotebook], list[SourceFile]]:
    """The notebooks that Moodle or Canvas named, and the others; Canvas names all, or none."""
    flat = [file.parts[0] for file in source.files if len(file.parts) == 1]
    from_canvas = bool(flat) and all(map(is_canvas, flat))
    notebooks: list[OwnedNotebook] = []
    rest: list[SourceFile] = []
    for file in source.files:
        notebook = moodle(file) or (canvas(file) if from_canvas and len(file.parts) == 1 else None)
        if notebook is None:
            rest.append(file)
        else:
            notebooks.append(notebook)
    return notebooks, rest


def _of_folders(source: Source, files: list[SourceFile], given: Sequence[str] | None) -> Attribution:
    """The owners by folders, one for each student, or for each student and assignment; or by files' names."""
    folder_of = _student_folder_of(replace(source, files=files))
    beside: dict[Parts, set[Parts]] = defaultdict(set)
    for folder in folder_of.values():
        beside[folder[:-1]].add(folder)
    prefixes = {parent: _prefixes_of(sorted(folders), source, given) for parent, folders in beside.items()}
    notebooks = []
    for file in files:
        if file.parts in folder_of:
            folder = folder_of[file.parts]
            owner = _owner(folder, prefixes[folder[:-1]])
        else:
            owner = Owner(notebook_stem(file.parts[0]), file.parts[0], "file")
        notebooks.append(OwnedNotebook(file, owner, file.parts[-1], file.modified))
    notes = list(_notes(beside, prefixes, given))
    return Attribution(notebooks, notes, _without_notebook(source, set(folder_of.values()), prefixes))


def _owner(folder: Parts, prefixes: Prefixes) -> Owner:
    *parent, name = folder
    return Owner(_without_prefix(name, prefixes), name, "/".join((*parent, _scope_of(name, prefixes))))


def _notes(
    beside: Mapping[Parts, Collection[Parts]],
    prefixes: Mapping[Parts, Prefixes],
    given: Sequence[str] | None,
) -> Iterator[str]:
    """What a person should know of prefixes."""
    left_out = sorted({prefix for group in prefixes.values() for prefix in group})
    if given is not None:
        names = {folder[-1]: prefixes[parent] for parent, folders in beside.items() for folder in folders}
        whole = sorted(name for name, group in names.items() if _without_prefix(name, group) == name)
        if left_out and whole:
            yield f"no such prefix, so taken whole: {', '.join(some(whole, MOST_NAMED))}."
        return
    if left_out:
        yield f"left out of the students' names: {', '.join(left_out)} (--prefix decides otherwise)."
    for parent, folders in beside.items():
        shared = _common_prefix([folder[-1] for folder in folders])
        if shared and not prefixes[parent]:
            yield f"all folders begin with {shared} (--prefix {shared[:-1]} leaves that out of the names)."


def _without_notebook(source: Source, folders: set[Parts], prefixes: Mapping[Parts, Prefixes]) -> list[str]:
    """The students whose folders lie beside others' and hold no notebook."""
    parents = {folder[:-1] for folder in folders} or {()}
    holding = folders | {file.parts[:1] for file in source.files}
    persons = {moodle_person(folder[-1]) for folder in holding}  # who may have a second folder, of texts
    empty = {
        folder
        for folder in (source.folders | source.repositories) - holding
        if folder[:-1] in parents and moodle_person(folder[-1]) not in persons
    }
    return sorted({_name_of(folder, prefixes.get(folder[:-1], ())) for folder in empty})


def _name_of(folder: Parts, prefixes: Prefixes) -> str:
    return _without_prefix(moodle_person(folder[-1])[0], prefixes)


def _student_folder_of(source: Source) -> dict[Parts, Parts]:
    """The folder that stands for a student, for each notebook that lies in a folder.

    It is the outermost, or the second where all the outermost are containers of clones: beside ordinary
    folders a student could have made what looks like another student's clone.
    """
    notebooks = [file.parts for file in source.files if len(file.parts) > 1]
    students = {parts[0] for parts in notebooks if len(parts) == 2}
    students |= {parts[0] for parts in source.repositories if len(parts) == 1}
    inner: dict[str, set[Parts]] = defaultdict(set)
    for parts in [*notebooks, *source.repositories]:
        inner[parts[0]].add(parts[:2])
    in_containers = not students and all(
        _is_container(top, folders, source.clones) for top, folders in inner.items()
    )
    return {parts: parts[: 2 if in_containers else 1] for parts in notebooks}


def _is_container(name: str, inner: set[Parts], clones: set[Parts]) -> bool:
    """Whether a folder holds only clones, as git or the names of ``gh classroom clone`` tell."""
    begin = _prefix_of_container(name)
    is_named = begin is not None and all(parts[1].startswith(begin) for parts in inner)
    return is_named or inner <= clones


def _prefix_of_container(name: str) -> str | None:
    return name.removesuffix(_CONTAINER) + "-" if name.endswith(_CONTAINER) else None


def _prefixes_of(folders: Sequence[Parts], source: Source, given: Sequence[str] | None) -> Prefixes:
    """The prefixes of students' folders that lie beside each other; `given` is what ``--prefix`` says.

    In a folder all of them count as clones, because a download has no mark of a clone; in a zip, which a
    learning-management system may have made, only what is a clone for certain.

    Raises:
        GraderError: they are clones that share no prefix, though their names look as if they had one.
    """
    if given is not None:
        return tuple(prefix.rstrip("-") + "-" for prefix in given if prefix.rstrip("-"))
    names = sorted(folder[-1] for folder in folders)
    begin = _prefix_of_container("/".join(folders[0][:-1]))
    if begin and all(name.startswith(begin) for name in names):
        return (begin,)
    are_clones = all(folder in source.repositories for folder in folders)
    if source.is_archive and not are_clones:
        return ()
    shared = _common_prefix(names)
    if are_clones and not shared and all("-" in name for name in names):
        why = "these clones share no prefix" if len(names) > 1 else "a clone alone shares no prefix"
        raise GraderError(
            f"{terminal_text(', '.join(some(names, MOST_NAMED)))}: {why}, which would tell where a student's"
            f" name begins. Say --prefix {terminal_text(names[0].partition('-')[0])}, once for each"
            ' assignment (--prefix "" takes folders\' names whole).'
        )
    return (shared,) if shared else ()


def _common_prefix(names: Sequence[str]) -> str:
    """What several names begin with, up to a hyphen."""
    shared = os.path.commonprefix(names) if len(names) > 1 else ""  # noqa: RUF071 - of names, not of paths
    return shared[: shared.rfind("-") + 1]


def _without_prefix(name: str, prefixes: Prefixes) -> str:
    """The student's part of a folder's name."""
    return name.removeprefix(max(_fitting(name, prefixes), key=len, default=""))


def _scope_of(name: str, prefixes: Prefixes) -> str:
    """The assignment; where two prefixes fit, the longer may begin another student's name."""
    return min(_fitting(name, prefixes), key=len, default="")


def _fitting(name: str, prefixes: Prefixes) -> list[str]:
    return [prefix for prefix in prefixes if name.startswith(prefix) and name != prefix]
