"""Who handed in what, by the names that systems give to folders and files.

A name counts only where the system puts it, at the top: what is below was named by a student, who could
write another's name there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from grader.integrations.collect.clones import (
    CONTAINER,
    Prefixes,
    common_prefix,
    prefixes_of,
    scope_of,
    student_folder_of,
    without_prefix,
)
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
from grader.text import some


def find_owners(source: Source, prefixes: Sequence[str] | None) -> Attribution:
    """Find out who handed in each notebook.

    Raises:
        GraderError: what Gradescope says of the students cannot be read, or clones share no prefix.
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
    """The folder that Gradescope exported, or None, and why what looks like an export is not believed.

    A student who chose a folder's name could have written the metadata in it, with others' names.
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
    return (top,) if holds_several and not is_student and not top.endswith(CONTAINER) else ()


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
    """A folder for each student, or for each student and assignment; or notebooks that name the students."""
    folder_of = student_folder_of(replace(source, files=files))
    beside: dict[Parts, set[Parts]] = defaultdict(set)
    for folder in folder_of.values():
        beside[folder[:-1]].add(folder)
    prefixes = {parent: prefixes_of(sorted(folders), source, given) for parent, folders in beside.items()}
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
    return Owner(without_prefix(name, prefixes), name, "/".join((*parent, scope_of(name, prefixes))))


def _notes(
    beside: Mapping[Parts, Collection[Parts]],
    prefixes: Mapping[Parts, Prefixes],
    given: Sequence[str] | None,
) -> Iterator[str]:
    """What a person should know of prefixes."""
    left_out = sorted({prefix for group in prefixes.values() for prefix in group})
    if given is not None:
        names = {folder[-1]: prefixes[parent] for parent, folders in beside.items() for folder in folders}
        whole = sorted(name for name, group in names.items() if without_prefix(name, group) == name)
        if left_out and whole:
            yield f"no such prefix, so taken whole: {', '.join(some(whole, MOST_NAMED))}."
        return
    if left_out:
        yield f"left out of the students' names: {', '.join(left_out)} (--prefix decides otherwise)."
    for parent, folders in beside.items():
        shared = common_prefix([folder[-1] for folder in folders])
        if shared and not prefixes[parent]:
            yield f"all folders begin with {shared} (--prefix {shared[:-1]} leaves that out of the names)."


def _without_notebook(source: Source, folders: set[Parts], prefixes: Mapping[Parts, Prefixes]) -> list[str]:
    """The students of folders beside those of others, in which there is no notebook."""
    parents = {folder[:-1] for folder in folders} or {()}
    holding = folders | {file.parts[:1] for file in source.files}
    persons = {moodle_person(folder[-1]) for folder in holding}  # who may have a folder of texts besides
    empty = {
        folder
        for folder in (source.folders | source.repositories) - holding
        if folder[:-1] in parents and moodle_person(folder[-1]) not in persons
    }
    return sorted({_name_of(folder, prefixes.get(folder[:-1], ())) for folder in empty})


def _name_of(folder: Parts, prefixes: Prefixes) -> str:
    return without_prefix(moodle_person(folder[-1])[0], prefixes)
