"""The one lookup of who is who: whoever may be two people is nobody."""

import pytest

from grader.people.directory import Directory, Person, pair
from grader.people.roster import people_of_rows, read_people
from grader.sheets import read_sheet


def rows(*names):
    return Directory(Person("", name, ids, at) for at, (name, ids) in enumerate(names))


@pytest.mark.parametrize(
    ("students", "others", "found"),
    [
        (["Ada", "ada", "ben"], [("ada", {}), ("Ben", {})], ({"ben": 1}, [], ["Ada", "ada"])),
        (["ada", "ben"], [("ada", {}), ("ada", {}), ("ben", {})], ({"ben": 2}, [], ["ada"])),
        (["Ada Ångström", "eve"], [("angstrom, ada", {}), ("Ann", {})], ({"Ada Ångström": 0}, ["eve"], [])),
        (["angstromada"], [("Ångström, Ada", {}), ("Ada Lee", {})], ({"angstromada": 0}, [], [])),
        (["van_der_bergada"], [("Ada van der Berg", {}), ("Ada Berg", {})], ({"van_der_bergada": 0}, [], [])),
        (["Zoë Ek", "Zoe Ek"], [("Zoe Ek", {}), ("Zoë Ek", {})], ({"Zoe Ek": 0, "Zoë Ek": 1}, [], [])),
        (["ada-l"], [("Ada L.", {"login": "ADA-L"}), ("B", {})], ({"ada-l": 0}, [], [])),
        (["11"], [("Ada", {"canvas": "11"}), ("B", {"canvas": "12"})], ({"11": 0}, [], [])),
        (["11"], [("Ada", {"canvas": "11"}), ("B", {"number": "11"})], ({}, [], ["11"])),
    ],
)
def test_whoever_may_be_another_is_nobody(students, others, found):
    """Names in any spelling find one person; folders that may be one person, or a name of two, find none."""
    pairs = pair([Person(student, student) for student in students], rows(*others))
    assert (pairs.places, pairs.unknown, pairs.several) == found


def test_an_id_decides_before_a_name():
    kims = [
        Person("Kim Lee-1", "Kim Lee", {"canvas": "1"}),
        Person("Kim Lee-2", "Kim Lee", {"email": "k2@x", "number": "77"}),
    ]
    for second in ({"email": "K2@x"}, {"login": "k2@x"}, {"number": "77"}):
        others = rows(("Lee, Kim", {"canvas": "1"}), ("Lee, Kim", {"canvas": "2", **second}))
        assert pair(kims, others).places == {"Kim Lee-1": 0, "Kim Lee-2": 1}


def test_a_number_of_one_system_is_nobody_elsewhere():
    ada = Person("Ada", "Ada", {"canvas": "11"})
    assert pair([ada], rows(("Ben", {"number": "11"}))).unknown == ["Ada"]


def test_a_folder_that_was_told_apart_by_one_id_is_found_by_all_of_them():
    """The roster may get another column later, and then the folder would be called otherwise."""
    kim = Person("Kim Lee-13", "Kim Lee", {"canvas": "13", "email": "k@x"})
    directory = Directory([kim, Person("Kim Lee-14", "Kim Lee", {"canvas": "14"})])
    assert [*directory.find("Kim Lee-k@x")] == [kim]


def test_the_members_of_a_group_are_found_by_its_name(tmp_path):
    roster = "name,group\nAda Lovelace,Team Rocket\nBen Ek,Team Rocket\nEve Ek,team-2\nUlf Ek,Team 2\n"
    (tmp_path / "roster.csv").write_text(roster, encoding="utf-8")
    people = read_people(tmp_path)
    assert [person.student for person in people.members("teamrocket")] == ["Ada Lovelace", "Ben Ek"]
    assert people.members("Team 2") == people.members("Team") == []


@pytest.mark.parametrize(
    "heading",
    ["Student,ID,SIS User ID", "LastName,FirstName,ID", "First name,Last name,ID number", "Full name,Email"],
)
def test_rows_of_other_systems_are_people(tmp_path, heading):
    cells = {"Student": '"Lovelace, Ada"', "LastName": "Lovelace", "FirstName": "Ada"}
    cells |= {"First name": "Ada", "Last name": "Lovelace", "Full name": "Ada Lovelace"}
    row = ",".join(cells.get(name, "17") for name in heading.split(","))
    (tmp_path / "rows.csv").write_text(f"{heading}\n    Points Possible,,\n{row}\n", encoding="utf-8")
    directory = people_of_rows(read_sheet(tmp_path / "rows.csv"))
    assert [person.line for person in directory.people] == [2]
    assert [*directory.find("ada lovelace")] == [*directory.people]
    assert "17" in directory.people[0].ids.values()
