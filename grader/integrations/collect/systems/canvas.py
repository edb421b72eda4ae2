"""Canvas: a zip of files, named by the student, two numbers and the student's own name of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.integrations.collect.model import Context, Named, System
from grader.notebooks.files import NOTEBOOK, notebook_stem

# A student's name may have underscores and numbers in it, and so may the file's: a name is split at the ids.
_IDS = re.compile(r"_(?=(?P<id>[1-9]\d{0,18})_(?P<number>[1-9]\d{0,18})_(?P<file>.))", re.DOTALL)
_ANONYMOUS = re.compile(
    r"anon(?P<late>_LATE)?_(?P<id>[A-Za-z0-9]{5})_(?P<number>\d{1,19})_(?P<file>.+)", re.DOTALL
)
_ATTEMPT = re.compile(r"(?P<stem>.+)-(?P<attempt>\d{1,3})", re.DOTALL)
_LATE = "_LATE"


def parse(name: str, context: Context) -> Named | None:
    """The parts of a name; of several pairs of numbers, the roster or the course identifies the ids."""
    if anonymous := _ANONYMOUS.fullmatch(name):
        student, number = anonymous["id"], int(anonymous["number"])
        return _named(f"anon_{student}", student, number, anonymous["file"], bool(anonymous["late"]))
    readings = [*_readings(name)]
    stems, first = context.closing, len(str(readings[0].order)) if readings else 0
    likely = (
        [reading for reading in readings if context.roster.find("", ids={"canvas": reading.id})],
        [reading for reading in readings if context.roster.called(reading.student)],
        # Submissions have large numbers: a number of the student's own before the assignment is shorter.
        [
            reading
            for reading in readings
            if notebook_stem(reading.file) in stems and len(str(reading.order)) >= first
        ],
        readings,
    )
    return next((found[0] for found in likely if found), None)


def _readings(name: str) -> Iterator[Named]:
    for ids in _IDS.finditer(name):
        student, is_late = name[: ids.start()], False
        if student.endswith(_LATE):
            student, is_late = student.removesuffix(_LATE), True
        if student:
            yield _named(student, ids["id"], int(ids["number"]), name[ids.start("file") :], is_late)


def _named(student: str, number: str, order: int, file: str, is_late: bool) -> Named:
    """A name that is understood; ``-1`` at the end of the file's stem counts the attempts."""
    attempt, parts = 0, NOTEBOOK.fullmatch(file)
    if parts and (again := _ATTEMPT.fullmatch(parts["stem"])):
        file, attempt = again["stem"] + parts["suffix"], int(again["attempt"])
    return Named(student, number, file=file, order=order, attempt=attempt, is_late=is_late)


SYSTEM = System(
    key="canvas",
    title="Canvas",
    pattern="<name>[_LATE]_<user id>_<submission id>_<file>",
    example=("lovelaceada_LATE_12_345_01_leaves-1.ipynb", "lovelaceada"),
    about="the last attempt counts",
    parse=parse,
    is_loose=True,
)
