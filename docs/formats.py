"""Write the tables of systems and of exports in docs/instructors.md, from their modules."""

import re
from pathlib import Path

from grader.integrations.collect import systems
from grader.integrations.export import formats

PAGE = Path(__file__).parent / "instructors.md"
_FORMATS = re.compile(r"^\| format \|.*\n(?:\|.*\n)+", re.MULTILINE)
_SYSTEMS = re.compile(
    r"(?<=^\| source \| notes \|\n\|---\|---\|\n)(?:\|.*\n)*?(?=\| Clones \|)", re.MULTILINE
)


def with_tables(page: str) -> str:
    """Return the page with current tables."""
    page = _FORMATS.sub(lambda _: f"{formats.table()}\n", page, count=1)
    return _SYSTEMS.sub(lambda _: systems.table(), page, count=1)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
