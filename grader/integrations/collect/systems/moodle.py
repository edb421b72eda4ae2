"""Moodle: a zip of folders, or of files, named by the student in full and a number of the assignment."""

from __future__ import annotations

import re

from grader.integrations.collect.model import Context, Named, System

_NAME = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL)

_MOST_HYPHENS = 8  # after which a student's name may begin


def parse(name: str, context: Context) -> Named | None:
    """The information in a name; a group's name and a hyphen may precede the student's."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    student = context.without_prefix(found["name"])
    hyphens = [at for at, sign in enumerate(student) if sign == "-"][:_MOST_HYPHENS]
    beginnings = [student, *(student[at + 1 :] for at in hyphens)]
    known = next((name for name in beginnings if context.roster.called(name)), student)
    return Named(known, found["id"], file=found["file"] or "")


SYSTEM = System(
    key="moodle",
    title="Moodle",
    pattern="<name>_<number>_assignsubmission_file_/<file>",
    example=("Ada Lovelace_123_assignsubmission_file_/01_leaves.ipynb", "Ada Lovelace"),
    about="with or without folders. `collect` removes a group's name before the student's if the student is"
    ' on the roster, or with `--prefix "Group A"`',
    parse=parse,
)
