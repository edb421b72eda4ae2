"""Pictures of autograd graphs: of the results of students' functions, and of demonstrations in a notebook.

A cell of a notebook source that is tagged ``drawn`` ends in ``xray(loss=loss, w=w)``. Students get its
picture, so they need no drawing package. The demonstrations before it run in a worker, as in a student's
notebook.
"""

from __future__ import annotations

import ast
import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from html import escape
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

from grader.course.assignment import Assignment, SourceCell
from grader.course.rubric import REFERENCE_LIMITS, Rubric
from grader.errors import CourseError
from grader.graphs.diagram import diagram_of
from grader.graphs.model import Graph, read_graph
from grader.graphs.picture import Picture, draw, mermaid, png, width_of
from grader.memory import FOLDER, Memory, fingerprint
from grader.notebooks.reader import cells_of
from grader.sandbox.evidence import Answer, Evidence, FailedCell
from grader.sandbox.observer import observe
from grader.sandbox.plan import ObservationPlan, Request
from grader.sandbox.zygote import Zygote

_MAX_TEXT = 50_000  # characters of an answer; the largest honest graph has three quarters of that
_FOLDED = "The graph as a picture, for after your guess"
_NAMED = "tensors_of_this_picture"
_DRAWN = f"def drawn(student):\n    return graph(**student.{_NAMED}())\n"


def pictures_of(rubric: Rubric, evidence: Evidence, reference: Evidence) -> dict[str, list[Picture]]:
    """The pictures of a submission, by the id of their question.

    An answer that is missing, is not a graph or cannot be drawn gives no picture, and never an error.
    """
    pictures: dict[str, list[Picture]] = {}
    for name, declared in rubric.pictures.items():
        seen = picture_of(evidence, name, declared.caption)
        if seen is None:
            continue
        expected = picture_of(reference, name, declared.caption) if declared.reference else None
        if expected is not None:
            same = expected.svg == seen.svg
            seen = replace(seen, reference=None if same else expected, is_the_references=same)
        pictures.setdefault(rubric.shows[name], []).append(seen)
    return pictures


def picture_of(evidence: Evidence, name: str, caption: str) -> Picture | None:
    """The picture of this name; None if its graph cannot be drawn."""
    answer = evidence.answers.get(name)
    picture = None if answer is None else _drawn(answer)
    return None if picture is None else replace(picture, caption=caption)


def text_of(evidence: Evidence, name: str) -> str:
    """A text that is equal for equal pictures; empty if there is no graph."""
    answer = evidence.answers.get(name)
    graph = None if answer is None else _graph(answer)
    return "" if graph is None else mermaid(diagram_of(graph))


def _graph(answer: Answer) -> Graph | None:
    """The graph of an answer; None if it is not a graph, or larger than a picture can show."""
    try:
        return read_graph(answer.outcome) if len(answer.text) <= _MAX_TEXT else None
    except (KeyError, TypeError):
        return None


@lru_cache(maxsize=512)  # a class of solved notebooks shows a handful of graphs
def _drawn(answer: Answer) -> Picture | None:
    """The picture of an answer; an error of Graphviz costs this picture, and not the class's feedback."""
    graph = _graph(answer)
    try:
        return None if graph is None else draw(graph, "")
    except Exception:  # noqa: BLE001 - a C library may raise anything
        return None


@dataclass(frozen=True)
class LessonPicture:
    """The picture of a demonstration.

    Attributes:
        caption: the author's text below it.
        call: the call that draws it on a student's machine: ``xray(loss=loss)``.
        summary: a sentence for readers who cannot see it.
        width: in pixels; its letters are then as large as the text around it.
        png: the file, in base64.
        gives_away: whether students are asked to guess what it shows; it is folded then.
    """

    caption: str
    call: str
    summary: str
    width: int
    png: str
    gives_away: bool = False

    @property
    def markdown(self) -> str:
        """The text of its cell; Colab shows no other form of a picture in a cell of text."""
        alternative = escape(f"{self.caption} {self.summary}")
        shown = (
            f'<img width="{self.width}" alt="{alternative}" src="data:image/png;base64,{self.png}">\n\n'
            f"*{self.caption}* (`{self.call}`)"
        )
        return f"<details><summary>{_FOLDED}</summary>\n\n{shown}\n\n</details>" if self.gives_away else shown


LessonPictures = Mapping[int, LessonPicture]
"""The pictures of an assignment, by the index of their cell."""
NO_PICTURES: LessonPictures = MappingProxyType({})


@contextmanager
def drawing(root: Path) -> Iterator[Callable[[Assignment], LessonPictures]]:
    """A function that draws an assignment's pictures; the course's folder, `root`, remembers them.

    A worker is started only for a picture that is not remembered.
    """
    memory = Memory(root / FOLDER / "pictures.json")
    with ExitStack() as stack:
        zygote = cache(lambda: stack.enter_context(Zygote()))
        yield lambda assignment: _lesson_pictures(assignment, zygote, memory)
    memory.save(everything=False)


def _lesson_pictures(
    assignment: Assignment, zygote: Callable[[], Zygote], memory: Memory
) -> dict[int, LessonPicture]:
    """The pictures of an assignment; CourseError if a cell fails, or draws nothing."""
    pictures = {}
    for index, cell in enumerate(assignment.cells):
        if cell.role == "drawn":
            before = [earlier.source for earlier in assignment.cells[:index] if earlier.role == "code"]
            key = fingerprint("drawn", before, cell.source)
            stored = memory.recall(key)
            if stored is None:
                stored = asdict(_lesson_picture(assignment, before, cell, zygote()))
                memory.remember(key, stored)
            picture = LessonPicture(**stored)
            pictures[index] = replace(picture, gives_away=assignment.asks_to_guess(index))
    return pictures


def _lesson_picture(
    assignment: Assignment, before: list[str], cell: SourceCell, zygote: Zygote
) -> LessonPicture:
    *statements, last = ast.parse(cell.source).body
    call = ast.unparse(last)
    function = f"{_NAMED} = (lambda tensors: lambda: tensors)(dict{call.removeprefix('xray')})"
    drawn_cell = [*map(ast.unparse, statements), function]
    request = Request("drawn", _DRAWN, 0, REFERENCE_LIMITS.question, picture=True)
    plan = ObservationPlan({_NAMED: "pass"}, {_NAMED: (request,)})
    evidence = observe(zygote, cells_of([*before, "\n".join(drawn_cell)]), plan, REFERENCE_LIMITS)
    picture = picture_of(evidence, "drawn", "")
    if evidence.cells or picture is None:
        failures = " ".join(FailedCell.of(cell).sentence for cell in evidence.cells)
        why = failures or "Name tensors, or modules with parameters."
        raise CourseError(f"{assignment.path}, line {cell.line}: {call} shows nothing. {why}")
    comment = takewhile(lambda line: line.startswith("#"), cell.source.splitlines())
    caption = " ".join(line.lstrip("# ") for line in comment)
    file = base64.b64encode(png(picture.svg)).decode("ascii")
    return LessonPicture(caption, call, picture.summary, width_of(picture.svg), file)
