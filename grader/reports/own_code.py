"""A student's own code in feedback: the cell of a failed function, and the lines that diagnoses name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.contracts.finding import Place
from grader.notebooks.definitions import line_of_definition
from grader.notebooks.reader import Cell
from grader.reports.document import Row
from grader.results.model import QuestionResult, Result
from grader.text import printable, series

MOST_LINES = 100  # of a cell that is shown in full
#: Of a longer cell: lines before a function begins (its decorators), lines from there on, and lines before
#: and after a line that is spoken of.
_BEFORE, _FUNCTION, _AROUND = 2, 60, 10
_LONGEST_LINE = 200  # characters
LONGEST_CELL = 1 << 16  # characters; of a longer cell the rest is not read
_QUOTED = 200  # characters of its line that an error brings


@dataclass(frozen=True)
class Excerpt:
    """A cell, as much of it as is shown; every text in it is printable, and short."""

    cell: int
    rows: Sequence[Row]

    @property
    def is_marked(self) -> bool:
        """Whether a line of it is marked."""
        return any(row.is_marked for row in self.rows)

    @property
    def title(self) -> str:
        """Which cell it is, and which of its lines are marked."""
        marked = [str(row.number) for row in self.rows if row.is_marked]
        if not marked:
            return f"code cell {self.cell}"
        numbers = series(marked)
        are_marked = f"line {numbers} is marked" if len(marked) == 1 else f"lines {numbers} are marked"
        return f"code cell {self.cell}, {are_marked}"


#: Excerpts of a submission, by the id of their question.
OwnCode = Mapping[str, Sequence[Excerpt]]


def own_code(result: Result, cells: Sequence[Cell]) -> OwnCode:
    """The code of each question with a failed check: its function's cell, then other cells spoken of.

    Args:
        cells: of the notebook that the result is about.
    """
    sources = {cell.number: cell.source for cell in cells}
    return {
        question.id: list(_excerpts(question, sources))
        for question in result.all_questions
        if question.has_failed_checks
    }


def _excerpts(question: QuestionResult, sources: Mapping[int, str]) -> Iterator[Excerpt]:
    failed = (check for check in question.checks if check.outcome != "passed")
    places = [check.place for check in failed if check.place is not None]
    for number in dict.fromkeys([question.cell, *(place.cell for place in places)]):
        if number is not None and number in sources:
            here = [place for place in places if place.cell == number]
            yield Excerpt(number, list(_rows(sources[number], question.function, here)))


def _rows(source: str, function: str, places: Sequence[Place]) -> Iterator[Row]:
    read = source[:LONGEST_CELL]
    lines = read.rstrip("\n").split("\n")
    quotes = [line.strip()[:_QUOTED] for line in lines]
    marked = {number for place in places if (number := _line_of(place, quotes)) is not None}
    above = 0
    for number in _shown(lines, marked, line_of_definition(read, function)):
        yield from _left_out(number - above - 1)
        yield Row(number, _text(lines[number - 1]), number in marked)
        above = number
    yield from _left_out(len(lines) - above)
    if len(source) > LONGEST_CELL:
        yield Row(None, "… the rest of this long cell is not shown")


def _line_of(place: Place, quotes: Sequence[str]) -> int | None:
    """The line of a place; None if no line of the cell is the one that was quoted.

    IPython removes empty lines at the beginning of a cell, so that what runs may be numbered otherwise.
    """
    same = [n for n, quote in enumerate(quotes, start=1) if quote == place.text != ""]
    return min(same, key=lambda number: abs(number - place.line), default=None)


def _shown(lines: Sequence[str], marked: set[int], begin: int | None) -> Sequence[int]:
    """The numbers of the lines that are shown, in order."""
    if len(lines) <= MOST_LINES:
        return range(1, len(lines) + 1)
    parts = [range(number - _AROUND, number + _AROUND + 1) for number in marked]
    if begin is not None or not marked:
        begin = begin or 1
        parts.append(range(begin - _BEFORE, begin + _FUNCTION))
    return sorted({number for part in parts for number in part if 1 <= number <= len(lines)})


def _left_out(count: int) -> Iterator[Row]:
    if count:
        yield Row(None, "… 1 line is not shown" if count == 1 else f"… {count} lines are not shown")


def _text(line: str) -> str:
    """A line, cut before tabs are expanded, which could make it long, and after."""
    text = line[: _LONGEST_LINE + 1].expandtabs(4)
    text = text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]} …"
    return text if text.isprintable() else printable(text)
