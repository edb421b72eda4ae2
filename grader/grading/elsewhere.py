"""Says of each question without an answer where the notebook has a definition that does not count."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from grader.contracts.diagnosis import with_article
from grader.notebooks.definitions import functions_and_classes
from grader.notebooks.misplaced import defined_instead, misplaced_definition
from grader.notebooks.reader import Notebook
from grader.results.model import QuestionResult, Result
from grader.sandbox.evidence import UNANSWERED, Evidence
from grader.text import printable, quoted, utf8_text


def with_definitions_elsewhere(
    result: Result, notebook: Notebook, evidence: Evidence, released: Collection[str]
) -> Result:
    """The result with messages that say where the answers are that do not count.

    Args:
        notebook: the one that the result is about.
        released: the sources of the code cells that students get.
    """
    if result.error:
        return result
    known = {name for source in released for name in functions_and_classes(source)}
    finder = _Finder(notebook, evidence, released, known)
    bonus_task = result.end_task and _with_message(result.end_task, finder)
    questions = tuple(_with_message(question, finder) for question in result.questions)
    return replace(result, questions=questions, end_task=bonus_task)


def _with_message(question: QuestionResult, finder: _Finder) -> QuestionResult:
    if question.status == "answered" or not (found := finder.find(question)):
        return question
    checks = tuple(replace(check, message=found.message) for check in question.checks)
    if found.failed_cell is None:
        return replace(question, checks=checks, elsewhere=found.message)
    return replace(question, checks=checks, cell=question.cell or found.failed_cell)


class _Found(NamedTuple):
    """A definition that does not count, and its cell if that did not run to its end."""

    message: str
    failed_cell: int | None = None


class _Finder:
    def __init__(
        self, notebook: Notebook, evidence: Evidence, released: Collection[str], known: Collection[str]
    ) -> None:
        self._notebook, self._evidence = notebook, evidence
        self._released, self._known = frozenset(released), known
        self._failed = {cell.cell for cell in evidence.cells}

    def find(self, question: QuestionResult) -> _Found | None:
        """A definition of a question without an answer; None if nothing is known about it."""
        name, counted = question.function, self._evidence.defined_in.get(question.function)
        if (kind := self._evidence.not_callable.get(name)) is not None:
            return _Found(_about_value(name, kind, counted))
        above = self._evidence.answer_above.get(name)
        if above is not None and counted is not None:
            return _Found(_about_starter_code_below(name, above, counted))
        misplaced = misplaced_definition(self._notebook, name, self._released, self._failed, counted)
        if misplaced is None:
            is_missing = question.status == "missing"
            instead = defined_instead(self._notebook, name, self._known) if is_missing else ""
            return _Found(instead) if instead else None
        starter_code = UNANSWERED["untouched"].format(name=name)
        begin = f"{name} is" if question.status == "missing" else f"{starter_code} It is also"
        return _Found(f"{begin} defined {misplaced.where}.", misplaced.failed_cell)


def _about_value(name: str, kind: str, cell: int | None) -> str:
    """The name of a function has another value when all cells have run."""
    value = "None" if kind == "NoneType" else with_article(utf8_text(printable(kind)))
    assigned = f": code cell {cell} assigned it" if cell is not None else ""
    return f"{quoted(name)} is {value} at the end of the notebook{assigned}. Rename that variable."


def _about_starter_code_below(name: str, above: int, counted: int) -> str:
    """Starter code replaced an answer, as it does in Jupyter."""
    if above == counted:
        return (
            f"{name} is defined more than once in code cell {counted}, and the last definition, which counts,"
            " is the starter code: delete it."
        )
    return (
        f"Code cell {counted} defines {name} again with the starter code; your answer in code cell {above} is"
        f" above it: delete the definition in code cell {counted}."
    )
