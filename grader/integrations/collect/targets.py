"""Outside: a place for every notebook; no student can have so many that others bear the cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from grader.integrations.collect.handed import HandedIn, Owner
from grader.integrations.collect.listing import NOTEBOOK
from grader.integrations.collect.students import key_of
from grader.text import distinct_file_name

MAX_NOTEBOOKS = 200
"""The most notebooks of one student that are taken from one source."""
MAX_STUDENT_BYTES = 500 << 20
"""The most that these may be."""


@dataclass(frozen=True)
class Target:
    """Where a notebook goes: a student's folder, the name in it, and who that is."""

    student: str
    name: str
    handed: HandedIn


@dataclass
class Targets:
    """Where all of a source go.

    Attributes:
        taken: notebooks and their places, by the student's folder and the name.
        left: (place, why) of what is more than one student can need.
    """

    taken: list[Target] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of what is taken."""
        return sum(target.handed.item.size for target in self.taken)


def targets_of(notebooks: Collection[HandedIn], folders: Mapping[Owner, str]) -> Targets:
    """Give every notebook a place of its own, below the folder of its student.

    The latest of several versions of one name keeps the name, and the others get one which tells them apart.

    Args:
        notebooks: what was handed in.
        folders: the folder of each owner.
    """
    found = Targets()
    everyone: dict[str, list[HandedIn]] = defaultdict(list)
    for one in notebooks:
        everyone[folders[one.owner]].append(one)
    for student in sorted(everyone):
        kept = _affordable(student, _latest_first(everyone[student]), found.left)
        names: set[str] = set()
        own = [Target(student, _distinct(one, names), one) for one in kept]
        found.taken += sorted(own, key=lambda target: target.name)
    return found


def _latest_first(notebooks: Sequence[HandedIn]) -> list[HandedIn]:
    """The latest version of each name, then the others; of both the latest first."""
    ordered = sorted(notebooks, key=lambda one: one.rank, reverse=True)
    latest: dict[str, HandedIn] = {}
    older = [one for one in ordered if latest.setdefault(key_of(one.name), one) is not one]
    return [*latest.values(), *older]


def _affordable(student: str, notebooks: Sequence[HandedIn], left: list[tuple[str, str]]) -> list[HandedIn]:
    kept: list[HandedIn] = []
    size = 0
    for one in notebooks:
        if len(kept) >= MAX_NOTEBOOKS:
            left.append((one.item.path, f"is more than the {MAX_NOTEBOOKS} notebooks taken of {student}"))
        elif size + one.item.size > MAX_STUDENT_BYTES:
            limit = f"the {MAX_STUDENT_BYTES >> 20} MiB of notebooks taken of {student}"
            left.append((one.item.path, f"is more than {limit}"))
        else:
            kept.append(one)
            size += one.item.size
    return kept


def _distinct(one: HandedIn, keys: set[str]) -> str:
    """A notebook's name as one safe component of a path that still ends as notebooks do; `keys` gets it."""
    parts = NOTEBOOK.fullmatch(one.name)
    stem, suffix = (parts["stem"], parts["suffix"]) if parts else (one.name, ".ipynb")
    name = distinct_file_name(stem, "/".join(one.item.place), _Stems(keys, suffix)) + suffix
    keys.add(key_of(name))
    return name


@dataclass(frozen=True)
class _Stems:
    """The stems that are not free, for one suffix."""

    keys: set[str]
    suffix: str

    def __contains__(self, stem: object) -> bool:
        return key_of(f"{stem}{self.suffix}") in self.keys
