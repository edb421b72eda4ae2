"""Outside: notebooks, and whose they are."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.integrations.collect.listing import Item, Place


@dataclass(frozen=True)
class Owner:
    """A student, as a source names one.

    Attributes:
        name: how the student is called.
        identity: what tells the student from others of that name within `scope`.
        scope: what one system has named: a zip, or the clones of one assignment.
        id: the identity, where people know it.
    """

    name: str
    identity: str
    scope: str = ""
    id: str = ""


@dataclass(frozen=True)
class HandedIn:
    """A notebook and whose it is.

    Attributes:
        item: the notebook.
        owner: the student.
        name: what it is called.
        rank: which of several is the latest, where it was handed in several times under one name.
        modified: nanoseconds since 1970.
    """

    item: Item
    owner: Owner
    name: str
    modified: int
    attempt: int = 0

    @property
    def rank(self) -> tuple[int, int, int, Place]:
        """Orders versions of one notebook; the greatest is the latest."""
        return self.modified, self.attempt, -len(self.item.place), self.item.place


@dataclass
class Handed:
    """All that was handed in.

    Attributes:
        notebooks: whose they are.
        notes: what a person should know of how students were named.
        empty: folders of students that hold no notebook.
        guessed: owners whose names a student may have chosen, and where theirs lies below the source.
    """

    notebooks: list[HandedIn]
    notes: list[str]
    empty: list[str]
    guessed: dict[Owner, Place] = field(default_factory=dict)
