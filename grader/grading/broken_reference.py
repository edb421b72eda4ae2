"""Why a contract or picture was not observed for the reference, and the line of its file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from grader.course.assignment import Assignment
from grader.course.contract import Contract
from grader.course.worker_code import DeclaredPicture, WorkerCode
from grader.sandbox.evidence import Evidence, NotObserved, RequestRaised
from grader.sandbox.values import Raised
from grader.text import quoted


def broken_contracts(
    contracts: Mapping[str, Contract], reference: Evidence, names: Iterable[str] | None = None
) -> Iterator[str]:
    """A sentence for each contract that stopped, or was stopped, on the reference.

    Args:
        names: of the contracts of interest; all of them if this is None.
    """
    for name in contracts if names is None else names:
        outcome = reference.outcome(name)
        if isinstance(outcome, RequestRaised | NotObserved):
            yield _broken(contracts[name], outcome)


def broken_cells(assignment: Assignment, sources: Sequence[str], reference: Evidence) -> Iterator[str]:
    """A sentence for each cell of the reference, among the sources that ran, that stopped or was stopped."""
    lines = {cell.source: cell.line for cell in assignment.cells}
    for cell in reference.cells:
        line, reason = lines.get(sources[cell.cell - 1], 1), cell.fault
        if cell.raised is not None:
            reason = f"{cell.raised.type}: {_first_line(cell.raised)}"
            line += int(cell.raised.where.rpartition("line ")[2] or 1) - 1
        yield f"{assignment.path}, line {line}: a cell of the reference stopped with {reason}"


def _broken(code: WorkerCode, outcome: RequestRaised | NotObserved) -> str:
    """As in ``.../test_01_leaves.py, line 44: contract grown fails on the reference with KeyError: 'w'``."""
    if isinstance(outcome, NotObserved):
        where = code.source.where
        return f"{where}: {_kind(code)} {code.name} could not observe the reference: {outcome.reason}"
    error = outcome.error
    return f"{place_inside(code, error)} fails on the reference with {error_inside(error)}"


def place_inside(code: WorkerCode, error: Raised) -> str:
    """The place of an error in a contract, as in ``inside.py, line 7: sizes, called by contract grown,``.

    The code raised the error, or ``attempt`` caught it there.
    """
    position = code.place_in_file(error.inside) if error.inside else None
    part, line = position or (code.source, code.source.tree.lineno)
    name = f"{_kind(code)} {code.name}"
    caller = name if part.name == code.name else f"{part.name}, called by {name},"
    return f"{part.path}, line {line}: {caller}"


def caught_inside(code: WorkerCode, reference: Evidence) -> str | None:
    """A clause about the first error of the reference that was caught, with its place; or None."""
    error = next(_errors_in(reference.outcome(code.name)), None)
    if error is None:
        return None
    line = place_inside(code, error)
    return f"{line} stopped on the reference with {error_inside(error)}, which was caught"


def _errors_in(observation: Any) -> Iterator[Raised]:
    if isinstance(observation, Raised):
        yield observation
    elif isinstance(observation, dict | list | tuple):
        for part in observation.values() if isinstance(observation, dict) else observation:
            yield from _errors_in(part)


def broken_picture(picture: DeclaredPicture, reference: Evidence) -> str:
    """Why a picture shows no graph of the reference."""
    outcome = reference.outcome(picture.name)
    if isinstance(outcome, RequestRaised | NotObserved):
        return _broken(picture, outcome)
    where = picture.source.where
    return f"{where}: picture {picture.name} shows no graph of the reference: return graph(name=tensor, ...)"


def _kind(code: WorkerCode) -> str:
    return "picture" if isinstance(code, DeclaredPicture) else "contract"


def error_inside(error: Raised) -> str:
    """An error's class and its first line and, where a line of the notebook was involved, that line."""
    text = f"{error.type}: {_first_line(error)}".removesuffix(": ")
    return f"{text} (by way of {quoted(error.line)} in code {error.where})" if error.line else text


def _first_line(error: Raised) -> str:
    return error.text.strip().partition("\n")[0]
