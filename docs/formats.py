"""Writes the table of exports in docs/instructors.md, from their modules: `python docs/formats.py`."""

import re
from pathlib import Path

from grader.integrations.export.formats import table

PAGE = Path(__file__).parent / "instructors.md"
_TABLE = re.compile(r"^\| format \|.*\n(?:\|.*\n)+", re.MULTILINE)


def with_table(page: str) -> str:
    """The page with the table as it is now."""
    return _TABLE.sub(lambda _: f"{table()}\n", page, count=1)


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
