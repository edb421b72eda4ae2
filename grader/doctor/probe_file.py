"""Reads some probes of a check file, with only what they need."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path

from grader.course.assignment import Assignment
from grader.course.author_file import blanks_in, read_syntax
from grader.course.definitions import Statement, needed
from grader.course.probe_names import names_defined, question_of
from grader.course.probe_source import decorator_name
from grader.course.probes import pictures_defined, probes_defined
from grader.course.rubric import Rubric, importing
from grader.course.unfinished import filled_statements, import_statements
from grader.errors import CourseError, GraderError
from grader.text import did_you_mean, inert

_ASKED = {"probe", "picture"}


def read_probes(assignment: Assignment, path: Path, names: Sequence[str]) -> Rubric:
    """Read probes and pictures by name; checks and other probes may be blank, missing or wrong.

    Returns:
        A rubric without checks, in which a picture is a probe.

    Raises:
        GraderError: there is no such probe or picture; the text says which there are.
        CourseError: the file cannot be read, or a wanted probe breaks a rule.
    """
    if not path.is_file():
        raise CourseError(f"{path} is missing: every assignment has its probes there")
    statements = filled_statements(path)
    known = [
        one.name
        for one in statements
        if isinstance(one, ast.FunctionDef) and {*map(decorator_name, one.decorator_list)} & _ASKED
    ]
    for name in names:
        if name not in known:
            missing = f"{path} has no probe or picture {inert(name)}; {did_you_mean(name, known)}"
            raise GraderError(left_out(path, name) or missing)
    former = sys.modules.pop(path.stem, None)
    try:
        kept = [statement.node for statement in needed([*map(Statement.of, statements)], names)]
        with importing(path):
            module = import_statements(path, kept)
            probes = {**probes_defined(module), **pictures_defined(module)}
    finally:
        sys.modules.pop(path.stem, None)  # other imports of the file need all of it
        if former is not None:
            sys.modules[path.stem] = former
    given = names_defined(assignment.demonstrations, [q.function for q in assignment.questions])
    asks = {name: question_of(probe, assignment.questions, given) for name, probe in probes.items()}
    return Rubric(assignment.stem, path, assignment.questions, (), probes, asks)


def left_out(path: Path, name: str) -> str | None:
    """What is to be said of a definition that is there, but that a blank leaves out; else None."""
    there = [node for node in read_syntax(path).body if getattr(node, "name", None) == name]
    if not there or name in {getattr(node, "name", None) for node in filled_statements(path)}:
        return None
    begin, end = there[0].lineno, there[0].end_lineno or 0
    own = [blank for blank in blanks_in(path) if begin <= blank.line <= end]
    why = (
        f"it still has a blank: {own[0]}" if own else "it, or what it needs, waits for blanks to be filled in"
    )
    return f"{path}, line {begin}: {name} is left out, for {why}"
