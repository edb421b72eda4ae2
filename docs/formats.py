"""Write the lists of systems and of exports in docs/instructors.md, from their modules."""

import re
from pathlib import Path

from grader.integrations.collect import systems
from grader.integrations.export import formats

PAGE = Path(__file__).parent / "instructors.md"
_SYSTEMS = re.compile(r"(?:^\* .*\n)+(?=\* Clones: )", re.MULTILINE)
_FORMATS = re.compile(r"(?:^\* `.*\n)+(?=\n`canvas` and `moodle` need)", re.MULTILINE)


def with_lists(page: str) -> str:
    """Return the page with current lists."""
    page = _SYSTEMS.sub(lambda _: systems.notes(), page, count=1)
    return _FORMATS.sub(lambda _: formats.uses(), page, count=1)


if __name__ == "__main__":
    PAGE.write_text(with_lists(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
