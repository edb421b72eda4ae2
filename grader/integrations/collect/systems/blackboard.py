"""Blackboard: a zip of files, named by the assignment, the user name and the time of the attempt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from grader.errors import GraderError
from grader.integrations.collect.model import Context, Named, System
from grader.text import terminal_text

_NAME = re.compile(
    r"(?P<whose>.+)_attempt_(?P<when>\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d)(?:_(?P<file>.+)|\.txt)", re.DOTALL
)
_TIME = "%Y-%m-%d-%H-%M-%S"


def parse(name: str, context: Context) -> Named | None:
    """The parts of a name; the user name follows the last underscore, unless roster or --prefix differ."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    whose = found["whose"]
    login = context.without_prefix(whose, "_")
    if login == whose:
        parts = whose.split("_")
        endings = ["_".join(parts[at:]) for at in range(1, len(parts))]
        login = next((end for end in endings if context.roster.find("", logins=[end])), parts[-1])
    when = None
    with suppress(ValueError):  # then the file's own time counts
        when = datetime.strptime(found["when"], _TIME)  # noqa: DTZ007 - in the course's time zone
    return Named(login, login, (login,), found["file"] or f"{name}", when)


def check(named: Mapping[str, Named], context: Context) -> None:
    """Refuse names of several assignments, among which one may be the beginning of a user name.

    Raises:
        GraderError: it is not clear where user names begin.
    """
    assignments = {}
    for name, found in named.items():
        whose = name.partition("_attempt_")[0]
        if context.without_prefix(whose, "_") == whose and not context.roster.find("", logins=found.logins):
            assignments[whose.removesuffix(f"_{found.student}")] = name
    if len(assignments) > 1:
        one, other = sorted(assignments.values())[:2]
        raise GraderError(
            f"{terminal_text(one)} and {terminal_text(other)}: Blackboard names files"
            f" {SYSTEM.pattern}, and these differ before the user name. Say where the user name begins, as in"
            f" --prefix {terminal_text(min(assignments))}, once for each assignment."
        )


SYSTEM = System(
    key="blackboard",
    title="Blackboard",
    pattern="<assignment>_<user name>_attempt_<YYYY-MM-DD-HH-MM-SS>_<file>",
    example=("Leaves_ada11_attempt_2026-10-12-10-00-00_01_leaves.ipynb", "ada11"),
    about="the last attempt counts. If a user name contains an underscore, add a roster or `--prefix Leaves`",
    parse=parse,
    check=check,
)
