"""The only lookup of people, for ``collect``, ``grade``, ``explain`` and every export.

A directory is made of the roster, or of the rows of a teacher's gradebook. It finds nobody, one person, or
several; it never guesses. In this order decide:

1. a folder's own name, where one person has that folder, also as ``Kim Lee-13``, with any of the ids;
2. an id of the same kind (Canvas's number against Canvas's numbers);
3. an id against all kinds of ids that no two systems give to different people: logins, addresses, numbers;
4. the name: as it is spelled, else whatever its case, accents and order of words;
5. among people of one name, Moodle's number, which differs between assignments.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from grader.text import file_name, plain_words

NO_IDS: Mapping[str, str] = MappingProxyType({})
NUMBERED = ("canvas", "moodle", "brightspace")
"""Kinds of ids that are a system's own numbers: the same number elsewhere is somebody else's."""
_MOST_WORDS = 16  # with which Canvas's name of a person may begin
_PARTICIPANT = "participant "  # stands before Moodle's number in its worksheet


@dataclass(frozen=True)
class Person:
    """A student.

    Attributes:
        student: names the folder and the results; empty for a row of a gradebook.
        name: in full, as far as it is known.
        ids: by kind: a column of the roster, or a system.
        line: of the roster or the gradebook.
        group: of which a submission counts for this student too.
    """

    student: str
    name: str
    ids: Mapping[str, str] = field(default_factory=dict)
    line: int = 0
    group: str = ""

    @property
    def logins(self) -> list[str]:
        """The ids that may stand in any system: all but systems' own numbers."""
        return [text for kind, text in self.ids.items() if kind not in NUMBERED]


class Directory:
    """People, found by their names and ids in any system."""

    def __init__(self, people: Iterable[Person]) -> None:
        self.people = tuple(people)
        self._students: dict[str, list[Person]] = defaultdict(list)
        self._with_id: dict[str, list[Person]] = defaultdict(list)
        self._ids: dict[tuple[str, str], list[Person]] = defaultdict(list)
        self._logins: dict[str, list[Person]] = defaultdict(list)
        self._names: dict[str, list[Person]] = defaultdict(list)
        self._groups: dict[str, list[Person]] = defaultdict(list)
        for person in self.people:
            if person.student:
                self._students[person.student].append(person)
            for kind, text in person.ids.items():
                self._ids[kind, folded(text)].append(person)
                self._with_id[file_name(f"{person.name}-{text}")].append(person)
            for text in {folded(text) for text in person.logins}:
                self._logins[text].append(person)
            for key in {key for text in {person.student, person.name} for key in name_keys(text)}:
                self._names[key].append(person)
            for key in name_keys(person.group):
                self._groups[key].append(person)

    @property
    def students(self) -> tuple[str, ...]:
        """The students' folders, in the order of the people."""
        return tuple(self._students)

    def find(
        self, *names: str, logins: Iterable[str] = (), ids: Mapping[str, str] = NO_IDS
    ) -> Sequence[Person]:
        """The people that may be meant: nobody, one person, or several of one name.

        Args:
            names: of a folder or a person; the surest first.
            logins: possible logins, addresses or numbers of any system.
            ids: by kind.
        """
        folders = [self._students.get(name, self._with_id.get(name, ())) for name in names]
        typed = [self._ids.get((kind, folded(text)), ()) for kind, text in ids.items() if kind != "moodle"]
        anywhere = [self._logins.get(folded(login), ()) for login in logins]
        for found in (*folders, *typed, *anywhere):
            if len(found) == 1:
                return found
        named = next(filter(None, map(self.called, names)), [])
        if len(named) == 1:
            return named
        of_moodle = self._ids.get(("moodle", folded(ids.get("moodle", ""))), [])
        return [person for person in of_moodle if person in named or not named] or named

    def find_person(self, person: Person) -> Sequence[Person]:
        """The people of this directory that a person of another one may be.

        The folder of a person of whom no id is known may be called by Canvas's number.
        """
        found = self.find(
            person.name, person.student, logins=[*person.logins, person.student], ids=person.ids
        )
        numbered = () if person.ids else self._ids.get(("canvas", folded(person.student)), ())
        return [*{id(other): other for other in (*found, *numbered)}.values()]

    def called(self, name: str) -> list[Person]:
        """All people of a name; only those with exactly this spelling if there are any."""
        keys = name_keys(name)
        found = [*{id(person): person for key in keys for person in self._names.get(key, ())}.values()]
        spelled = {folded(name), folded(file_name(name))}
        exact = [p for p in found if spelled & {folded(p.name), folded(p.student), folded(file_name(p.name))}]
        return exact or found

    def members(self, name: str) -> list[Person]:
        """The members of the group of that name, whatever its case and gaps; none if no group has it."""
        found = {id(person): person for key in name_keys(name) for person in self._groups.get(key, ())}
        return [*found.values()] if len({folded(person.group) for person in found.values()}) == 1 else []


@dataclass(frozen=True)
class Pairs:
    """The people of one directory, matched with those of another.

    Attributes:
        places: by student, the position of the one person of the other directory.
        unknown: students who are nobody there.
        several: students who may be several people there, or who share one person.
    """

    places: Mapping[str, int]
    unknown: list[str]
    several: list[str]


def pair(students: Collection[Person], others: Directory) -> Pairs:
    """Find each student's place among other people; a student who may be several people has none."""
    place = {id(person): at for at, person in enumerate(others.people)}
    found = {s.student: [place[id(p)] for p in others.find_person(s)] for s in students}
    claims: dict[int, int] = defaultdict(int)
    for places in found.values():
        for at in places:
            claims[at] += 1
    certain = {
        student: places[0] for student, places in found.items() if len(places) == 1 == claims[places[0]]
    }
    unknown = sorted(student for student, places in found.items() if not places)
    return Pairs(certain, unknown, sorted(found.keys() - certain.keys() - {*unknown}))


def folded(text: str) -> str:
    """Equal for ids and names that differ in case and gaps only; a participant of Moodle is the number."""
    plain = " ".join(text.casefold().split())
    number = plain.removeprefix(_PARTICIPANT)
    return number if number.isdigit() else plain


def name_keys(name: str) -> set[str]:
    """The keys that all spellings of a person's name share, whatever their order, accents and case.

    The words in order of the alphabet; and, since Canvas writes ``lovelaceada``, the words without gaps,
    beginning with any of them.
    """
    words = plain_words(name)
    if not words:
        return set()
    rotations = {"".join(words[at:] + words[:at]) for at in range(min(len(words), _MOST_WORDS))}
    return {" ".join(sorted(words)), *rotations}
