"""Sakai: a zip of folders in one folder, named by the student in full and the user name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from grader.integrations.collect.model import Context, Named, System
from grader.integrations.collect.source import Source, UnreadableError

# Behind the user name stands nothing; a group has no comma, but a blank before its number.
_NAME = re.compile(
    r"(?P<family>[^,]+), ?(?P<given>[^(]*)\((?P<id>[^()]+)\)|(?P<group>[^,]+) \((?P<number>[\da-f-]{36})\)"
)
_TIME = "timestamp.txt"
_LONGEST_TIME = 100  # bytes


def parse(name: str, _: Context) -> Named | None:
    """The information in a name."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    if found["group"]:
        return Named(found["group"], found["number"])
    return Named(f"{found['given']} {found['family']}".strip(), found["id"], (found["id"],))


def times(source: Source) -> Mapping[str, datetime]:
    """When each was submitted: a file in the folder says it, and the zip has the times of its download."""
    found = {}
    for folder, file in source.take(_TIME).items():
        if len(folder) == 1 and file.size <= _LONGEST_TIME:
            with suppress(UnreadableError, ValueError):  # then the file's own time counts
                at = datetime.fromisoformat(file.read().decode().strip())
                found[folder[0]] = at if at.tzinfo else at.replace(tzinfo=UTC)
    return found


SYSTEM = System(
    key="sakai",
    title="Sakai",
    pattern="<assignment>/<family name>, <given name>(<user name>)/Submission attachment(s)/<file>",
    example=("Leaves/Lovelace, Ada(ada11)/Submission attachment(s)/01_leaves.ipynb", "Ada Lovelace"),
    about="collect the zip, or the assignment's folder in it. Times are from `timestamp.txt`",
    parse=parse,
    is_wrapped=True,
    times=times,
    of_teachers="Feedback Attachment(s)",
)
