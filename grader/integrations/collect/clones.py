"""Outside: what is not a student's in the name of a clone: the assignment's prefix.

GitHub Classroom and its successors call a repository ``assignment-student``, and ``gh classroom clone`` puts
them into ``assignment-submissions/``. Both names may contain hyphens.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from grader.integrations.collect.source import Parts, Source

_CONTAINER = "-submissions"


@dataclass(frozen=True)
class Prefixes:
    """How names of folders become students.

    Attributes:
        known: what is left out, each with its hyphen.
        likely: what all folders begin with though nothing says that it is no part of a name.
        is_guess: whether the name of a notebook told, which a student chooses.
    """

    known: tuple[str, ...]
    likely: str = ""
    is_guess: bool = False

    def split(self, name: str) -> tuple[str, str]:
        """The prefix of a folder's name, empty where there is none, and the student."""
        prefix = max(self._fitting(name), key=len, default="")
        return prefix, name.removeprefix(prefix)

    def scope(self, name: str) -> str:
        """The shortest prefix: of two that fit, the longer may be the beginning of another student's name."""
        return min(self._fitting(name), key=len, default="")

    def _fitting(self, name: str) -> list[str]:
        return [prefix for prefix in self.known if name.startswith(prefix) and name != prefix]


def unit_of(listing: Source) -> dict[Parts, Parts]:
    """The folder that stands for a student, for each place of a notebook that lies in a folder."""
    places = [item.place for item in listing.items if len(item.place) > 1]
    tops = {place[0] for place in places} | {unit[0] for unit in listing.repositories}
    inner: dict[str, set[Parts]] = defaultdict(set)
    for place in places:
        inner[place[0]].add(place[:2])
    # A clone is no container, nor is a folder in which notebooks lie.
    folders = {item.place[0] for item in listing.items if len(item.place) == 2}
    folders |= {top for top in tops if (top,) in listing.repositories}
    possible = {top: inner[top] for top in inner.keys() - folders}
    # Only git tells for certain what is a clone: a student may write everything else.
    containers = {top for top, found in possible.items() if found <= listing.clones}
    named = {top for top, found in possible.items() if _is_named_container(top, found)}
    if containers | named == tops:
        containers = tops
    # Beside ordinary folders a student could have made what looks like somebody else's clone.
    elif not all(top in containers or (top,) in listing.clones for top in tops):
        containers = {top for top in containers if top.endswith(_CONTAINER)}
    return {place: place[:2] if place[0] in containers else place[:1] for place in places}


def _is_named_container(top: str, inner: Collection[Parts]) -> bool:
    """Whether a folder and all in it are called as ``gh classroom clone`` calls them."""
    begin = top.removesuffix(_CONTAINER) + "-"
    return top.endswith(_CONTAINER) and all(place[1].startswith(begin) for place in inner)


def prefixes_of(
    units: Mapping[Parts, Collection[str]], listing: Source, given: Sequence[str] | None
) -> Prefixes:
    """The prefixes of folders which lie beside each other.

    In a folder all that lie beside each other are taken for clones, which a download has no mark of; in a
    zip, which a learning-management system may have made, only what is one for certain.

    Args:
        units: the folders, and the names of the notebooks in each.
        listing: what they are of.
        given: what the person at the keyboard says, with or without hyphen; None where nothing is said.
    """
    if given is not None:
        return Prefixes(tuple(prefix.rstrip("-") + "-" for prefix in given if prefix.rstrip("-")))
    parent = next(iter(units))[:-1]
    names = [unit[-1] for unit in units]
    if parent and parent[-1].endswith(_CONTAINER):
        begin = parent[-1].removesuffix(_CONTAINER) + "-"
        if all(name.startswith(begin) for name in names):
            return Prefixes((begin,))
    everywhere = _common(names)
    if listing.is_archive and not all(unit in listing.repositories for unit in units):
        return Prefixes((), everywhere)
    if len(units) > 1:
        return Prefixes(_by_notebooks(units) or ((everywhere,) if everywhere else ()))
    # Of several one could name its notebook so that another student's name is left of its own.
    ((unit, notebooks),) = units.items()
    named = _named_after(unit[-1], notebooks)
    return Prefixes((named,), is_guess=True) if named else Prefixes(())


def _named_after(name: str, notebooks: Collection[str]) -> str:
    """What a clone's name begins with, if that is how one of its notebooks is called: ``01-leaves-``."""
    called = {_letters(notebook.partition(".")[0]) for notebook in notebooks}
    called |= {stem.lstrip("0123456789") for stem in called}
    ends = [at for at, letter in enumerate(name[:-1], start=1) if letter == "-"]
    return next((name[:end] for end in reversed(ends) if _letters(name[:end]) in called - {""}), "")


def _letters(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _by_notebooks(units: Mapping[Parts, Collection[str]]) -> tuple[str, ...]:
    """Prefixes of several assignments, cloned side by side, that have no notebook in common.

    A prefix has two clones at least, and none begins as another does: nobody makes one alone.
    """
    groups: list[tuple[set[str], list[str]]] = []
    for unit, notebooks in units.items():
        called, names = {_assignment(notebook) for notebook in notebooks}, [unit[-1]]
        for group in [group for group in groups if called & group[0]]:
            groups.remove(group)
            called |= group[0]
            names += group[1]
        groups.append((called, names))
    prefixes = [_common(names) for _, names in groups if len(names) > 1]
    alone = [name for _, names in groups if len(names) == 1 for name in names]
    nested = any(one.startswith(other) for one, other in permutations(prefixes, 2))
    fitting = all(any(name.startswith(prefix) for prefix in prefixes) for name in alone)
    return tuple(prefixes) if len(prefixes) > 1 and all(prefixes) and fitting and not nested else ()


def _assignment(notebook: str) -> str:
    """What a notebook is called, however it is spelled: equal for what looks like one assignment."""
    return _letters(notebook.partition(".")[0]).lstrip("0123456789") or notebook


def _common(names: Sequence[str]) -> str:
    """What several names begin with, up to a hyphen."""
    if len(names) < 2:
        return ""
    first, last = min(names), max(names)  # what these two share, all between them share
    length = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[: first.rfind("-", 0, length) + 1]
