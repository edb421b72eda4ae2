"""The text of a scaffold: what the three files of an assignment say of a question that is new."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from grader.course import scaffold_inputs
from grader.course.author_file import without_blanks
from grader.course.names import ANSWERS, CHECKS, MASTER
from grader.course.probe_source import PLACEHOLDERS
from grader.errors import GraderError
from grader.text import inert

_TEMPLATES = Path(__file__).parents[1] / "templates"
_NAMES = {MASTER: "new_master", CHECKS: "new_checks", ANSWERS: "new_answers"}
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_TAKEN = {*PLACEHOLDERS, "student", "result"}  # the probe of the scaffold needs these itself
_LAST_CELL = re.compile(r'(?ms)^# %% tags=\["(?:question|check) q\d+"\].*?(?=^# %%|\Z)')
_QUESTION = re.compile(r'(?m)^# %% tags=\["question q(\d+)"\]')
_WIDTH = 110
_LEARNS = ("value", "version", "grad")  # what a step changes of parameters
_X_EXAMPLE = "torch.tensor([1.0, 2.0], requires_grad=True)"

Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True)
class NewQuestion:
    """A question that shall be written: the function students complete, and what it takes."""

    function: str
    parameters: tuple[str, ...] = ("x",)

    @classmethod
    def parse(cls, text: str) -> NewQuestion:
        """As in ``total:losses,weights``, or ``total`` for a function of ``x``.

        Raises:
            GraderError: a parameter cannot be called so.
        """
        function, colon, listed = (part.strip() for part in text.partition(":"))
        parameters = tuple(name.strip() for name in listed.split(",")) if colon else ("x",)
        if colon and not listed and function[:1].isupper():
            return cls(function, ())
        for name in parameters:
            is_name = _PARAMETER.fullmatch(name) is not None and not keyword.iskeyword(name)
            if not is_name or name in {*_TAKEN, function} or parameters.count(name) > 1:
                raise GraderError(
                    f"{inert(text)!r}: {inert(name)!r} cannot be a parameter: write the function and what it"
                    " takes, each name once, as in --question total:losses,weights"
                )
        return cls(function, parameters)

    def part(self, place: str, question: str) -> str:
        """What one of the files says of it.

        Args:
            place: which of the files, as in ``grader.course.names``.
            question: its id, such as ``q2``.
        """
        draws = scaffold_inputs.draws(self.parameters)
        examples = {
            name: _X_EXAMPLE if name == "x" else drawn.replace(", drawn at random]", ", a small example]")
            for name, drawn in draws.items()
        }
        watched = scaffold_inputs.watched(self.parameters)
        has_modules = bool(scaffold_inputs.modules(self.parameters))
        values = {
            "question": question,
            "function": self.function,
            "parameters": ", ".join(self.parameters),
            "first": (*watched, *self.parameters, "x")[0],
            "named": ", ".join(f"{name}={name}" for name in watched),
            "draws": _assigned(draws),
            "examples": _assigned(draws if has_modules else examples),
            "nn": "\n    from torch import nn" if has_modules else "",
        }
        text = _template(self._template(place), values | self._steps())
        return f"from grader.inside import nn\n{text}" if has_modules and place == CHECKS else text

    def _template(self, place: str) -> str:
        if self.function[:1].isupper():
            return f"{_NAMES[place]}_class"
        has_steps = place == CHECKS and scaffold_inputs.optimizers(self.parameters)
        return f"{_NAMES[place]}_{'step' if has_steps else 'question'}"

    def _steps(self) -> dict[str, str]:
        """What is said of its optimizers, and of the modules they train."""
        modules = scaffold_inputs.modules(self.parameters)
        optimizers = scaffold_inputs.optimizers(self.parameters)
        made = {name: "made" if len(optimizers) == 1 else f"made_by_{name}" for name in optimizers}
        parameters = scaffold_inputs.learned(self.parameters)
        listened = [
            f"updates({', '.join([name, *(f'{one}={one}' for one in filter(None, [parameters.get(name)]))])})"
            for name in optimizers
        ]
        changing = [
            *(", ".join(f'"{name}.*:{part}"' for part in _LEARNS) for name in modules),
            *(f'"{name}"' for name in optimizers),
        ]
        told = [f'"{name}": {self.function}_called["{one}"]' for name, one in made.items()]
        asserts = [f"for case in cases({{{', '.join(told)}}}):", '    assert_updates(case, each="step")']
        return {
            "updates": _indented(
                f"    {one} as {name}," for one, name in zip(listened, made.values(), strict=True)
            ),
            "made": "".join(f'"{name}": {name}, ' for name in made.values()),
            "asserts": _indented(asserts),
            "changing": _indented(f"    {one}," for one in changing),
        }


def _assigned(values: Mapping[str, str]) -> str:
    return _indented(f"{name} = {value}" for name, value in values.items())


def _indented(lines: Iterable[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)


def head(place: str, stem: str) -> str:
    """How a file begins, before its first question."""
    return _template(_NAMES[place], {"stem": stem, "number": str(int(stem[:2]))})


def next_question(master: str) -> int:
    """The number of the question that is added next to a master, from its text."""
    return 1 + max((int(number) for number in _QUESTION.findall(master)), default=0)


def with_part(place: str, text: str, part: str) -> str:
    """The text of a file with one more question's part: in a master before the prose that closes it.

    Raises:
        SyntaxError: a file of checks or answers is no Python, apart from its blanks.
    """
    if place == MASTER:
        cells = [match.end() for match in _LAST_CELL.finditer(text)]
        end = cells[-1] if cells else len(text)
        closing = text[end:]
        return f"{text[:end].rstrip()}\n\n{part}" + (f"\n{closing}" if closing.strip() else "")
    needed = [*_imports(head(place, "00_any")), *_imports(part)]
    return f"{_with_imports(text, needed).rstrip()}\n\n\n{_without_imports(part)}"


def _template(name: str, values: Mapping[str, str]) -> str:
    return Template((_TEMPLATES / f"{name}.txt").read_text(encoding="utf-8")).substitute(values)


def _with_imports(text: str, needed: Sequence[Import]) -> str:
    """The text with every import that is needed; names join those of the same module."""
    for wanted in needed:
        if not any(
            _module(node) == _module(wanted) and _names(node) >= _names(wanted) for node in _imports(text)
        ):
            text = _with_import(text, wanted)
    return text


def _without_imports(part: str) -> str:
    last = max((node.end_lineno or 0 for node in _imports(part)), default=0)
    return "".join(part.splitlines(keepends=True)[last:]).lstrip("\n")


def _with_import(text: str, wanted: Import) -> str:
    lines, there = text.splitlines(keepends=True), _imports(text)
    for node in there:
        if _module(node) == _module(wanted) is not None:
            names = _names(node) | _names(wanted)
            lines[node.lineno - 1 : node.end_lineno] = [_import_line(_module(node) or "", names)]
            return "".join(lines)
    last = max((node.end_lineno or 0 for node in there), default=_docstring_end(text))
    return "".join([*lines[:last], f"{ast.unparse(wanted)}\n", *lines[last:]])


def _module(node: Import) -> str | None:
    """What an import takes names from; None for ``import torch``."""
    return node.module if isinstance(node, ast.ImportFrom) else None


def _names(node: Import) -> set[str]:
    return {ast.unparse(name) for name in node.names}


def _import_line(module: str, names: set[str]) -> str:
    """As the formatter writes it."""
    listed = sorted(names, key=lambda name: (name.lower() == name, name))  # classes before functions
    line = f"from {module} import {', '.join(listed)}\n"
    if len(line) <= _WIDTH:
        return line
    return f"from {module} import (\n{''.join(f'    {name},' + chr(10) for name in listed)})\n"


def _imports(text: str) -> list[Import]:
    body = ast.parse(without_blanks(text)).body
    return [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]


def _docstring_end(text: str) -> int:
    first = ast.parse(without_blanks(text)).body[:1]
    match first:
        case [ast.Expr(value=ast.Constant(value=str())) as docstring]:
            return docstring.end_lineno or 0
    return 0
