"""Brightspace: a zip of folders, or of files, named by two numbers, the student in full and the time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from grader.errors import GraderError
from grader.integrations.collect.model import Context, Named, System
from grader.text import terminal_text

_MARK = re.compile(r"\d+-\d+ - ")
_TIME = (
    r"(?:(?P<month>[a-z]{3})[a-z]* (?P<day>\d{1,2})|(?P<first_day>\d{1,2}) (?P<last_month>[a-z]{3})[a-z]*),?"
    r" (?P<year>\d{4}),? (?P<hour>\d{1,2})[:._]?(?P<minute>\d\d)(?: ?(?P<half>[ap]m))?"
)
_NAME = re.compile(
    rf"(?P<id>\d+)-\d+ - (?P<name>.+?) - {_TIME}(?: - (?P<file>.+))?", re.DOTALL | re.IGNORECASE
)


def parse(name: str, _: Context) -> Named | None:
    """The information in a name.

    Raises:
        GraderError: the name begins as Brightspace's, and goes on otherwise: in another language, say.
    """
    if _MARK.match(name) is None:
        return None
    parts = _NAME.fullmatch(name)
    when = _time(parts) if parts else None
    if parts is None or when is None:
        raise GraderError(
            f"{terminal_text(name)}: this name does not match Brightspace's pattern {SYSTEM.pattern}. Choose"
            " English in Brightspace, and download it again."
        )
    return Named(parts["name"], parts["id"], file=parts["file"] or "", when=when)


def _time(parts: re.Match[str]) -> datetime | None:
    """When it was submitted, in the course's time zone; None if there is no such time."""
    day = f"{parts['month'] or parts['last_month']} {parts['day'] or parts['first_day']} {parts['year']}"
    clock = f"{parts['hour']}:{parts['minute']}{parts['half'] or ''}"
    form = "%b %d %Y %I:%M%p" if parts["half"] else "%b %d %Y %H:%M"
    try:
        return datetime.strptime(f"{day} {clock}", form)  # noqa: DTZ007
    except ValueError:
        return None


def check(named: Mapping[str, Named], context: Context) -> None:
    """Refuse one name with several numbers, where nothing says whether that is one person.

    Raises:
        GraderError: the roster has neither one person of that name nor the numbers.
    """
    numbers: dict[str, set[str]] = defaultdict(set)
    for found in named.values():
        if len(context.roster.find(found.student, ids={"brightspace": found.id})) != 1:
            numbers[found.student].add(found.id)
    for name, several in sorted(numbers.items()):
        if len(several) > 1:
            raise GraderError(
                f"{terminal_text(name)} has several numbers ({', '.join(sorted(several))}): put {name} into"
                " roster.csv, with a line for each person of that name, and the numbers in its column"
                " brightspace id if these are several people."
            )


SYSTEM = System(
    key="brightspace",
    title="Brightspace",
    pattern="<number>-<number> - <name> - <Oct 2, 2026 905 AM>/<file>",
    example=("1234-5678 - Ada Lovelace - Oct 2, 2026 905 AM/01_leaves.ipynb", "Ada Lovelace"),
    about="each submission is a folder, and the last one counts",
    parse=parse,
    check=check,
)
