"""Outside: who handed in what, by the names that systems give to folders and files.

A name counts only where the system puts it, at the top: what is below was named by a student, who could
write another's name there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from grader.integrations.collect.clones import Prefixes, prefixes_of, unit_of
from grader.integrations.collect.gradescope import EXPORT, FOLDER, read_metadata
from grader.integrations.collect.lms_names import (
    canvas,
    gradescope,
    is_canvas,
    is_moodle,
    moodle,
    moodle_person,
    without_moodle,
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
    stem_of,
)
from grader.text import some


def find_owners(listing: Source, prefixes: Sequence[str] | None) -> Attribution:
    """Find out who handed in each notebook.

    Args:
        listing: the source.
        prefixes: what folders' names begin with that is no part of a student's name; None to find out.

    Raises:
        GraderError: what Gradescope says of the students cannot be read.
    """
    exported, doubt = _exported(listing)
    root = _wrapper(listing) if exported is None else exported
    depth = len(root)
    inner = replace(
        listing,
        items=[replace(item, place=item.place[depth:], above=root) for item in listing.items],
        repositories={unit[depth:] for unit in listing.repositories if len(unit) > depth},
        clones={unit[depth:] for unit in listing.clones if len(unit) > depth},
        dated={unit[depth:] for unit in listing.dated if len(unit) > depth},
        folders={folder[depth:] for folder in listing.folders if len(folder) > depth},
    )
    if exported is not None:
        return gradescope(inner, read_metadata(listing.metadata[exported]))
    flat = [item.place[-1] for item in inner.items if len(item.place) == 1]
    from_canvas = bool(flat) and all(map(is_canvas, flat))
    notebooks: list[OwnedNotebook] = []
    rest: list[SourceFile] = []
    for item in inner.items:
        found = moodle(item) or (canvas(item) if from_canvas and len(item.place) == 1 else None)
        if found is None:
            rest.append(item)
        else:
            notebooks.append(found)
    handed, units, begin = _folders(replace(inner, items=rest), prefixes)
    notebooks += handed.notebooks
    handed.notes.extend(doubt)
    if root:
        handed.guessed.update({one.owner: (*root, *one.item.place[:1]) for one in notebooks})
        if units:
            handed.notes.append(f"everything lies in {root[0]}, so the folders in it are the students.")
    return replace(handed, notebooks=notebooks, empty=_empty(inner, units, begin))


def _exported(listing: Source) -> tuple[Parts | None, list[str]]:
    """The folder that Gradescope exported, None where it is none, and why one is not believed.

    Whoever chose the name of a folder could have written the metadata in it, and others' names into that.
    """
    doubts = []
    beside = {place[:-1] for place in listing.folders if FOLDER.fullmatch(place[-1])}
    for root in sorted(beside & listing.metadata.keys()):
        if not root or (EXPORT.fullmatch(root[0]) and _tops(listing) == {root[0]}):
            return root, []
        doubts.append(
            f"{METADATA} in {root[0]} is not read: if Gradescope wrote it, unpack it and collect {root[0]}."
        )
    return None, some(sorted(doubts), 1)


def _tops(listing: Source) -> set[str]:
    return {item.place[0] for item in listing.items}


def _wrapper(listing: Source) -> Parts:
    """The one folder that a zip wraps around everything."""
    tops = _tops(listing)
    if len(tops) != 1 or any(len(item.place) == 1 for item in listing.items):
        return ()
    root: Parts = (tops.pop(),)
    if root in listing.repositories or is_moodle(root[0]):
        return ()
    seconds = {item.place[1] for item in listing.items}
    return root if listing.is_archive and len(seconds) > 1 and not root[0].endswith("-submissions") else ()


def _folders(
    listing: Source, given: Sequence[str] | None
) -> tuple[Attribution, set[Parts], Mapping[Parts, Prefixes]]:
    """A folder for each student, or for each student and assignment; or notebooks that name the students.

    Returns:
        What was handed in, the folders that stand for students, and their prefixes by where they lie.
    """
    units = unit_of(listing)
    beside: dict[Parts, dict[Parts, set[str]]] = defaultdict(lambda: defaultdict(set))
    for place, unit in units.items():
        beside[unit[:-1]][unit].add(place[-1])
    prefixes = {p: prefixes_of(found, listing, given) for p, found in beside.items()}
    owners = {unit: _owner(unit, prefixes[unit[:-1]]) for unit in set(units.values())}
    newest: dict[Parts, int] = defaultdict(int)
    for item in listing.items:
        if item.place in units:
            newest[units[item.place]] = max(newest[units[item.place]], item.modified)
    notebooks = []
    for item in listing.items:
        unit = units.get(item.place, ())
        owner = owners[unit] if unit else Owner(stem_of(item.place[0]), item.place[0], "file")
        modified = item.modified
        if unit in listing.repositories - listing.dated and newest[unit] - modified < 60 * 10**9:
            modified = newest[unit]  # these times say in which order they were cloned, no more
        notebooks.append(OwnedNotebook(item, owner, item.place[-1], modified))
    guessed = {owner: unit for unit, owner in owners.items() if prefixes[unit[:-1]].is_guess}
    return Attribution(notebooks, list(_notes(prefixes, given, owners)), [], guessed), set(owners), prefixes


def _owner(unit: Parts, prefixes: Prefixes) -> Owner:
    _, student = prefixes.split(unit[-1])
    return Owner(student, unit[-1], "/".join((*unit[:-1], prefixes.scope(unit[-1]))))


def _notes(
    prefixes: dict[Parts, Prefixes], given: Sequence[str] | None, owners: dict[Parts, Owner]
) -> Iterator[str]:
    known = sorted({prefix for found in prefixes.values() for prefix in found.known})
    if known and given is None:
        yield f"left out of the students' names: {', '.join(known)} (--prefix decides otherwise)."
    if given is not None:
        whole = sorted(unit[-1] for unit, owner in owners.items() if owner.name == unit[-1])
        if known and whole:
            yield f"no such prefix, so taken whole: {', '.join(some(whole, MOST_NAMED))}."
    likely = sorted({found.likely for found in prefixes.values() if found.likely})
    for prefix in likely:
        yield f"all folders begin with {prefix} (--prefix {prefix.rstrip('-')} leaves that out of the names)."


def _empty(listing: Source, units: set[Parts], prefixes: Mapping[Parts, Prefixes]) -> list[str]:
    """The students of folders beside those of others, in which there is no notebook."""
    depths = {unit[:-1] for unit in units} or {()}
    holding = units | {item.place[:1] for item in listing.items}
    persons = {moodle_person(folder[-1]) for folder in holding}  # who may have a folder of texts besides
    beside = {
        folder
        for folder in (listing.folders | listing.repositories) - holding
        if folder[:-1] in depths and moodle_person(folder[-1]) not in persons
    }
    named = {without_moodle(folder[-1]): folder[:-1] for folder in beside}
    return sorted(prefixes[at].split(name)[1] if at in prefixes else name for name, at in named.items())
