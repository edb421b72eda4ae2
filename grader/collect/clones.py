"""Outside: what is not a student's in the name of a clone: the assignment's prefix.

GitHub Classroom and its successors call a repository ``assignment-student``, and ``gh classroom clone`` puts
them into ``assignment-submissions/``. Both names may contain hyphens.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from grader.collect.listing import Listing, Place

_CONTAINER = "-submissions"


@dataclass(frozen=True)
class Prefixes:
    """How names of folders become students.

    Attributes:
        known: what is left out, each with its hyphen.
        likely: what all folders begin with though nothing says that it is no part of a name.
    """

    known: tuple[str, ...]
    likely: str = ""

    def split(self, name: str) -> tuple[str, str]:
        """The prefix of a folder's name, empty where there is none, and the student."""
        fitting = [prefix for prefix in self.known if name.startswith(prefix) and name != prefix]
        prefix = max(fitting, key=len, default="")
        return prefix, name.removeprefix(prefix)


def unit_of(listing: Listing) -> dict[Place, Place]:
    """The folder that stands for a student, for each place of a notebook that lies in a folder."""
    places = [item.place for item in listing.items if len(item.place) > 1]
    tops = {place[0] for place in places} | {unit[0] for unit in listing.repositories}
    containers = {top for top in tops if _is_container(top, places, listing)}
    # Beside ordinary folders a student could have made what looks like somebody else's clone.
    if not all(top in containers or (top,) in listing.repositories for top in tops):
        containers = {top for top in containers if top.endswith(_CONTAINER)}
    return {place: place[:2] if place[0] in containers else place[:1] for place in places}


def _is_container(top: str, places: Sequence[Place], listing: Listing) -> bool:
    """Whether a folder holds clones and nothing else."""
    own = [place for place in places if place[0] == top]
    if (top,) in listing.repositories or any(len(place) == 2 for place in own):
        return False
    inner = {place[:2] for place in own}
    begin = top.removesuffix(_CONTAINER) + "-"
    named = top.endswith(_CONTAINER) and all(place[1].startswith(begin) for place in inner)
    return bool(inner) and (named or inner <= listing.repositories)


def prefixes_of(
    units: Mapping[Place, Collection[str]], listing: Listing, given: Sequence[str] | None
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
    named = {_named_after(unit[-1], notebooks) for unit, notebooks in units.items()}
    if all(named):
        return Prefixes(tuple(sorted(named)))
    return Prefixes(_by_notebooks(units) or ((everywhere,) if everywhere else ()))


def _named_after(name: str, notebooks: Collection[str]) -> str:
    """What a clone's name begins with, if that is how one of its notebooks is called: ``01-leaves-``."""
    called = {_letters(notebook.partition(".")[0]) for notebook in notebooks}
    called |= {stem.lstrip("0123456789") for stem in called}
    ends = [at for at, letter in enumerate(name[:-1], start=1) if letter == "-"]
    return next((name[:end] for end in reversed(ends) if _letters(name[:end]) in called - {""}), "")


def _letters(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _by_notebooks(units: Mapping[Place, Collection[str]]) -> tuple[str, ...]:
    """Prefixes of several assignments, cloned side by side, that have no notebook in common."""
    groups: dict[frozenset[str], list[str]] = defaultdict(list)
    for unit, notebooks in units.items():
        groups[frozenset(notebooks)].append(unit[-1])
    prefixes = [_common(names) for names in groups.values()]
    notebooks = [name for group in groups for name in group]
    apart = len(notebooks) == len(set(notebooks))
    nested = any(one != other and one.startswith(other) for one in prefixes for other in prefixes)
    return tuple(prefixes) if len(prefixes) > 1 and apart and all(prefixes) and not nested else ()


def _common(names: Sequence[str]) -> str:
    """What several names begin with, up to a hyphen."""
    if len(names) < 2:
        return ""
    first, last = min(names), max(names)  # what these two share, all between them share
    length = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[: first.rfind("-", 0, length) + 1]
