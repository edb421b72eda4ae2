"""The outcomes of known-wrong answers: a file beside the answers that ``--accept`` writes.

`tests/answers/NN_name.outcomes.toml` has a line for each known-wrong answer, in the order of the answers. It
says what was observed, and people review its diff: that shows what an edit of a check or answer changed. The
class report recognizes students' misconceptions by it.
"""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from grader.course.author_file import read_syntax
from grader.errors import CourseError
from grader.files import write_atomic

_HEAD = """\
# The outcomes of the known-wrong answers in {file}: the checks that each fails, the finding of
# the first of them, the error (or timeout, or fault) that stops it before some of them can judge it, and
# whether it passes the public check.
# `python -m grader doctor --accept` writes this file; read its diff.
"""


@dataclass(frozen=True)
class Outcome:
    """The outcome of an answer; as text, a clause whose subject is the answer.

    Attributes:
        fails: the ids of the hidden checks that it fails.
        first: the group of the first of their findings, which names the variation and the kind of difference
            (`Finding.group`); empty if it has none. It is no part of the verdict: ``--accept`` renews it, and
            the doctor does not complain about another one.
        stops: the classes of the errors with which it stops before some of these checks can judge it;
            ``timeout`` where it does not end, ``fault`` where it is ended.
        public: whether it passes the public check.
    """

    fails: tuple[str, ...] = ()
    first: str = field(default="", compare=False)
    stops: tuple[str, ...] = ()
    public: bool = False

    def __str__(self) -> str:
        clauses = [f"fails {', '.join(self.fails) or 'no hidden check'}"]
        clauses += [f"stops with {' and '.join(self.stops)}"] if self.stops else []
        clauses += ["passes the public check"] if self.public else []
        return "; ".join(clauses)


#: The outcomes of an assignment's known-wrong answers, by the question's id and the answer's name.
Outcomes = Mapping[str, Mapping[str, Outcome]]


def outcomes_file(answers: Path) -> Path:
    """The path of the outcomes of a file of answers."""
    return answers.with_suffix(".outcomes.toml")


def read_outcomes(path: Path) -> dict[str, dict[str, Outcome]]:
    """The outcomes in a file; none if there is no such file.

    Raises:
        CourseError: the file cannot be read, or has another form.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert(content, dict[str, dict[str, Outcome]])
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # no UTF-8, no TOML, or another form
        raise CourseError(
            f"{path} is not in the format of `doctor --accept` ({error}): fix that line, or remove the file"
            " and run `doctor --accept` again"
        ) from error


@dataclass(frozen=True)
class Misconception:
    """The misconception of a known-wrong answer, and how the hidden checks recognize it.

    Attributes:
        name: of the known-wrong answer.
        text: the first paragraph of its docstring.
    """

    name: str
    text: str
    outcome: Outcome


#: The misconceptions of an assignment by the question's id.
Misconceptions = Mapping[str, Sequence[Misconception]]


def read_misconceptions(answers: Path) -> dict[str, list[Misconception]]:
    """The misconceptions of an assignment; none if its answers or their outcomes have not been written.

    Args:
        answers: the file of known answers, which is parsed and never run.

    Raises:
        CourseError: a file cannot be read, or has another form.
    """
    outcomes = read_outcomes(outcomes_file(answers))
    texts = dict(_docstrings(read_syntax(answers))) if outcomes else {}
    return {
        question: [
            Misconception(name, texts[name], outcome)
            for name, outcome in of_question.items()
            if outcome.first and name in texts
        ]
        for question, of_question in outcomes.items()
    }


def _docstrings(answers: ast.Module) -> Iterator[tuple[str, str]]:
    """The name and first paragraph of each definition and each edit that has one."""
    for node in answers.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield from _first_paragraph(node.name, ast.get_docstring(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            for edits in (each for each in node.value.args if isinstance(each, ast.Dict)):
                for name, edit in ast.literal_eval(edits).items():
                    yield from _first_paragraph(name, edit[-1])


def _first_paragraph(name: str, text: str | None) -> Iterator[tuple[str, str]]:
    if text:
        yield name, " ".join(text.partition("\n\n")[0].split())


def changed_outcomes(before: Outcomes, now: Outcomes) -> list[str]:
    """The names of the answers to the questions in `now` whose outcomes are new, gone or other ones."""
    return [
        name
        for question, of_question in now.items()
        for name in {**before.get(question, {}), **of_question}
        if before.get(question, {}).get(name) != of_question.get(name)
    ]


def write_outcomes(path: Path, outcomes: Outcomes) -> None:
    """Write the file; without outcomes, there is none."""
    if not any(outcomes.values()):
        path.unlink(missing_ok=True)
        return
    lines = [_HEAD.format(file=path.name.replace(".outcomes.toml", ".py"))]
    for question, of_question in outcomes.items():
        if of_question:
            lines.append(f"\n[{question}]\n")
        for name, outcome in of_question.items():
            entries = [f"fails = {_quoted(outcome.fails)}"]
            entries += [f"first = {_quoted(outcome.first)}"] if outcome.first else []
            entries += [f"stops = {_quoted(outcome.stops)}"] if outcome.stops else []
            entries += ["public = true"] if outcome.public else []
            key = name if name.isascii() else _quoted(name)
            lines.append(f"{key} = {{{', '.join(entries)}}}\n")
    write_atomic(path, "".join(lines).encode())


def _quoted(names: str | tuple[str, ...]) -> str:
    return json.dumps(names, ensure_ascii=False)
