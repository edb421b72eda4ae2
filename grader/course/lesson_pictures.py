"""Pictures of autograd graphs in a notebook, drawn when it is built.

A master's cell tagged ``drawn`` ends in ``xray(loss=loss, w=w)``. Students get its picture, which needs
nothing installed. The demonstrations before it run in a worker, as in a student's notebook.
"""

from __future__ import annotations

import ast
import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from html import escape
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

from grader.checks.failed_cell import FailedCell
from grader.course.assignment import Assignment, MasterCell
from grader.course.pictures import picture_of
from grader.course.reference import REFERENCE_LIMITS
from grader.errors import CourseError
from grader.graphs.picture import png, width_of
from grader.memory import FOLDER, Memory, fingerprint
from grader.notebooks.reader import cells_of
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe
from grader.sandbox.plan import PlannedProbe, ProbePlan
from grader.sandbox.zygote import Zygote

Pictures = Mapping[int, "LessonPicture"]
"""The pictures of an assignment, by the index of their cell."""
NONE: Pictures = MappingProxyType({})

_NAMED = "tensors_of_this_picture"
_PROBE = f"def drawn(student):\n    return graph(**student.{_NAMED})\n"


@dataclass(frozen=True)
class LessonPicture:
    """A picture.

    Attributes:
        caption: the author's text below it.
        call: what draws it on a student's machine: ``xray(loss=loss)``.
        summary: a sentence for readers who cannot see it.
        width: in pixels; its letters are then as large as the text around it.
        png: the file, in base64.
    """

    caption: str
    call: str
    summary: str
    width: int
    png: str

    @property
    def markdown(self) -> str:
        """The text of its cell; Colab shows no other form of a picture in a cell of text."""
        alternative = escape(f"{self.caption} {self.summary}")
        return (
            f'<img width="{self.width}" alt="{alternative}" src="data:image/png;base64,{self.png}">\n\n'
            f"*{self.caption}* (`{self.call}`)"
        )


@contextmanager
def drawing(root: Path) -> Iterator[Callable[[Assignment], Pictures]]:
    """A function that draws an assignment's pictures; the course's folder, `root`, remembers them.

    A worker is started only for pictures that were not drawn before.
    """
    memory = Memory(root / FOLDER / "pictures.json")
    with ExitStack() as stack:
        zygote = cache(lambda: stack.enter_context(Zygote()))
        yield lambda assignment: _pictures(assignment, zygote, memory)
    if memory.has_news:
        memory.save(everything=False)


def _pictures(assignment: Assignment, zygote: Callable[[], Zygote], memory: Memory) -> Pictures:
    """The pictures of an assignment.

    Raises:
        CourseError: a cell fails, or there is nothing to draw; the text names file and line.
    """
    pictures = {}
    for index, cell in enumerate(assignment.cells):
        if cell.role == "drawn":
            before = [earlier.source for earlier in assignment.cells[:index] if earlier.role == "code"]
            key = fingerprint("drawn", before, cell.source)
            stored = memory.recall(key)
            picture = LessonPicture(**stored) if stored else _drawn(assignment, before, cell, zygote())
            if not stored:
                memory.remember(key, asdict(picture))
            pictures[index] = picture
    return pictures


def _drawn(assignment: Assignment, before: list[str], cell: MasterCell, zygote: Zygote) -> LessonPicture:
    *statements, last = ast.parse(cell.source).body
    call = ast.unparse(last)
    drawn_cell = [*map(ast.unparse, statements), f"{_NAMED} = dict{call.removeprefix('xray')}"]
    probe = PlannedProbe("drawn", _PROBE, 0, REFERENCE_LIMITS.question, picture=True)
    plan = ProbePlan({_NAMED: "pass"}, {_NAMED: (probe,)})
    evidence = observe(zygote, cells_of([*before, "\n".join(drawn_cell)]), plan, REFERENCE_LIMITS)
    picture = picture_of(evidence, "drawn", "")
    if evidence.cells or picture is None:
        raise CourseError(f"{assignment.path}, line {cell.line}: {call} shows nothing. {_why(evidence)}")
    lines = takewhile(lambda line: line.startswith("#"), cell.source.splitlines())
    caption = " ".join(line.lstrip("# ") for line in lines)
    file = base64.b64encode(png(picture.svg)).decode("ascii")
    return LessonPicture(caption, call, picture.summary, width_of(picture.svg), file)


def _why(evidence: Evidence) -> str:
    failures = " ".join(FailedCell.of(cell).sentence for cell in evidence.cells)
    return failures or "Name tensors, or modules with parameters."
