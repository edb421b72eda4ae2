"""The display of a check in a notebook: HTML in the notebook's colours, or text if there is no HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markdown_it import MarkdownIt

from grader.course.assignment import BONUS_TASK, name_of
from grader.graphs.model import Graph
from grader.student.check import Failure, QuestionReport
from grader.student.coverage import coverage
from grader.student.display import explanation, how_many_pass
from grader.student.hints import Hint
from grader.student.kernel import Printed
from grader.student.xray import XRay
from grader.text import html_text, terminal_line

#: The display of a status: its mark, and the text after the title of the question.
_SHOWN = {
    "passes": ("✔", "passes"),
    "fails": ("✘", "not yet"),
    "untouched": ("·", "not started yet"),
    "missing": ("!", "not there yet"),
    "unchecked": ("-", "has no public check"),
    "stale": ("!", "not checked: the cell above did not run"),
}


@dataclass(frozen=True)
class Sentence:
    """A sentence instead of a verdict."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return _page([], self.text)


@dataclass(frozen=True)
class Verdict:
    """The outcome of a question's public check in a kernel.

    Attributes:
        failed: how the last run of the question's cell failed, if it did not redefine the function.
        has_run: whether the question's released cell ran to its end.
        is_outdated: whether the notebook was saved with another version of that cell since it ran.
        again: a line of the checked version of the cell, if that version was checked before.
        passed: the ids of questions whose public checks passed when they last ran.
        checked: the ids of all questions that have a public check.
        printed: the function's output and warnings during the check.
        graph: the graph of the arguments and the result of the last call.
        hints: hints to show, the newest last.
    """

    found: QuestionReport
    failed: Failure | None
    has_run: bool
    is_outdated: bool
    again: str
    passed: frozenset[str]
    checked: tuple[str, ...]
    printed: Printed
    graph: Graph | None
    hints: tuple[Hint, ...]

    @property
    def status(self) -> str:
        """The status of the question, or ``stale`` if an older function was checked."""
        is_older = self.failed is not None or self.is_outdated
        return "stale" if is_older and self.found.status != "missing" else self.found.status

    @property
    def tests(self) -> tuple[tuple[str, Failure | None], ...]:
        """The outcome of each test; none if an older function was checked."""
        return () if self.status == "stale" else self.found.tests

    @property
    def title(self) -> str:
        """The question and its title."""
        return f"{name_of(self.found.question.id)} · {self.found.question.title}"

    @property
    def shown(self) -> tuple[str, str]:
        """The mark of the status, and its name."""
        return _SHOWN[self.status]

    @property
    def remark(self) -> str:
        """The sentence before the tests, or empty."""
        question, is_missing = self.found.question, self.found.status == "missing"
        cell, name = f"The cell of {question.name}", question.name
        if self.failed:
            where = f", in line {self.failed.line}" if self.failed.line else ""
            so = "is not defined" if is_missing else "is still your old function, which was not checked"
            so = f"So {question.function} {so}: fix the cell, and run it again."
            return f"{cell} did not run: it {self.failed.text.rstrip('.')}{where}. {so}"
        if is_missing and self.has_run:
            return f"{cell} ran, but did not define {question.function}: check the spelling of the name."
        if is_missing:
            return f"Run the cell of {name} first: {question.function} is not defined."
        if self.is_outdated:
            passes = "passes" if self.found.status == "passes" else "does not pass"
            return f"{cell} was changed after it ran. The version that ran {passes}: run the cell again."
        if self.found.status == "untouched":
            return f"{question.function} is still the starter code: fix it above, and run its cell."
        return ""

    @property
    def reminder(self) -> str:
        """A reminder if a failing version was checked again: its cell may have been edited but not run."""
        if not self.again or self.status != "fails":
            return ""
        return (
            "The cell has not run since the last check. The checked version has the line"
            f" `{self.again.replace('`', chr(39))}`: if the cell shows a different line, run it."
        )

    @property
    def coverage(self) -> str:
        """Inputs that the graded checks use in addition, if the public check passes."""
        if self.status != "passes":
            return ""
        counted = [question for question in self.checked if question != BONUS_TASK]
        progress = ""
        if len(self.checked) > 1:
            progress = (
                f" So far {len(self.passed.intersection(counted))} of {len(counted)} public checks pass."
            )
        if BONUS_TASK in self.passed and self.found.question.id != BONUS_TASK:
            progress += " The bonus task passes."
        return f"{coverage(self.found.question)}{progress}"

    @property
    def afterword(self) -> str:
        """Why the answer is right, if it is."""
        check = self.found.question.check
        return (check.afterword or "") if check and self.status == "passes" else ""

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        mark, standing = self.shown
        yield f"{mark} {self.title} ({standing})"
        yield from (f"  {text}" for text in (self.remark, self.reminder) if text)
        for title, failure in self.tests:
            yield f"  {_SHOWN['fails' if failure else 'passes'][0]} {title}"
            if failure:
                yield from (f"    {line}" for line in explanation(failure))
                if failure.code:
                    yield terminal_line(f"    {where(failure)}: {failure.code}")
        yield from (f"  {text}" for text in (self.coverage, self.afterword) if text)
        yield from (f"  Hint {hint.number}: {hint.text}" for hint in self.hints)
        if self.printed.is_any:
            yield f"  {self.printed.summary}:"
            yield self.printed.shown

    def _repr_html_(self) -> str:
        return _page([self])


@dataclass(frozen=True)
class HintShown:
    """A hint for a question, and how many there are."""

    question: str
    hint: Hint
    count: int

    @property
    def heading(self) -> str:
        """The question and the number of the hint."""
        return f"{name_of(self.question)}, hint {self.hint.number} of {self.count}"

    def __repr__(self) -> str:
        return f"{self.heading}\n\n{self.hint.text}"

    def _repr_markdown_(self) -> str:
        return f"**{self.heading}**\n\n{self.hint.text}"


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of several questions."""

    verdicts: list[Verdict]

    @property
    def summary(self) -> str:
        """How many public checks pass; an older function does not count."""
        found = (
            replace(verdict.found, status="fails") if verdict.status == "stale" else verdict.found
            for verdict in self.verdicts
        )
        return how_many_pass([*found])

    def __repr__(self) -> str:
        return "\n".join([self.summary, *map(repr, self.verdicts)])

    def _repr_html_(self) -> str:
        return _page(self.verdicts, self.summary)


def where(failure: Failure) -> str:
    """The student's line that a failure is about, and the function that contains it."""
    within = f"in {failure.function}, " if failure.function else ""
    return f"{within}line {failure.line} of its cell"


def _page(verdicts: Sequence[Verdict], sentence: str = "") -> str:
    return _template().render(verdicts=verdicts, sentence=sentence)


@cache
def _template() -> Template:
    pages = Environment(
        loader=PackageLoader("grader"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters.update(prose=html_text, markdown=MarkdownIt("commonmark", {"html": False}).render)
    pages.globals.update(explanation=explanation, where=where, picture=lambda graph: XRay("", graph).html())
    return pages.get_template("check.html")
