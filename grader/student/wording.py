"""On a student's machine: a student's own text on one line, and what a code cell is called."""

from __future__ import annotations

import re

from grader.student.task import definitions_in
from grader.text import printable

# What a runner of workflows takes for a command to itself: two colons where a line begins, `##[` anywhere.
_COMMAND = re.compile(r"\A(\s*:)(?=:)|(?<=#)(?=#\[)")
_LONGEST_NAME = 40


def shown(text: str) -> str:
    """The text fit to be a line of a terminal or a log: printable, and a command to no runner of workflows.

    Unlike ``grader.text.inert`` it leaves ``x[::-1]`` as it is, because a line is never broken here.
    """
    return _COMMAND.sub(r"\1 ", printable(text))


def cell_name(number: int, source: str) -> str:
    """A code cell by its number and, as Jupyter does not show that one, what it defines or begins with."""
    defined = definitions_in(source)
    kind = "class" if defined and re.search(rf"(?m)^class\s+{re.escape(defined[0])}\b", source) else "def"
    lines = [line.strip() for line in source.splitlines()]
    first = next((line for line in lines if line and not line.startswith("#")), "")
    name = shown(f"{kind} {defined[0]}" if defined else first)
    if len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME].rstrip()} ..."
    return f"code cell {number} ({name})" if name else f"code cell {number}"
