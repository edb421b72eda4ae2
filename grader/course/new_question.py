"""A new question's part of each of an assignment's files, with inputs guessed from parameter names.

The part is added to the text of a master, a check file or a file of answers.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from grader.course.assignment import ANSWERS, CHECKS, MASTER
from grader.course.author_file import without_blanks
from grader.course.probe_source import PLACEHOLDERS
from grader.errors import GraderError
from grader.text import terminal_text

_JUDGE = r"discriminator|critic"
_MODULE = (
    rf"(\w+_)?(model|net|network|layer|head|readout)(_\w+)?|{_JUDGE}"
    r"|generator|backbone|trunk|encoder|decoder|teacher|policy"
)
_OPTIMIZER = r"opt|optim|optimizer|(opt|optimizer)_\w+"
_CELL = r"(\w+_)?(cell|rnn|gru|lstm)"
_NUMBER = r"lr|tau|alpha|beta|eps|scale|slope|momentum|p"
_COUNT = r"k|n|T|steps|epochs|number"

#: What is drawn for a parameter, by the first pattern that matches its name. Sizes: 5 samples, 3 inputs,
#: 4 hidden, 2 outputs.
_DRAWS = {
    _CELL: "nn.GRUCell(3, 4)",
    _JUDGE: "nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))",
    _MODULE: "nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))",
    _NUMBER: "0.1 + 0.5 * torch.rand(()).item()",
    _COUNT: "torch.randint(2, 6, ()).item()",
    r"[yY]|targets?|labels|real": "torch.randn(5, 2)",
    r"h0?|state|hidden": "torch.randn(5, 4)",
    "x": "torch.randn(4, requires_grad=True)",
    r"w|weight|b|bias|prompt": "torch.randn(3, requires_grad=True)",
}
_SAMPLES = r"[xX]|xs|inputs?|batch|data|noise|z"

_TEMPLATES = Path(__file__).parents[1] / "templates"
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_TAKEN = {*PLACEHOLDERS, "student", "result"}  # the probe of the scaffold needs these itself
_LEARNS = ("value", "version", "grad")  # what a step changes of parameters
_X_EXAMPLE = "torch.tensor([1.0, 2.0], requires_grad=True)"
_NAMES = {MASTER: "new_master", CHECKS: "new_checks", ANSWERS: "new_answers"}

_LAST_CELL = re.compile(r'(?ms)^# %% tags=\["(?:question|check) q\d+"\].*?(?=^# %%|\Z)')
_WIDTH = 110
_Import = ast.Import | ast.ImportFrom


def _optimizers(parameters: Sequence[str]) -> list[str]:
    return [name for name in parameters if re.fullmatch(_OPTIMIZER, name)]


def _modules(parameters: Sequence[str]) -> list[str]:
    return [name for name in parameters if re.fullmatch(f"{_MODULE}|{_CELL}", name)]


def _trained_modules(parameters: Sequence[str]) -> dict[str, str]:
    """The module that each optimizer learns: `opt_d` the discriminator, a single `opt` the first module."""
    trained = {}
    for name in _optimizers(parameters):
        ending = name.partition("_")[2]
        for module in _modules(parameters):
            if module.startswith(ending) or module.endswith(f"_{ending}"):
                trained[name] = module
                break
    return trained


def drawn_inputs(parameters: Sequence[str]) -> dict[str, str]:
    """An expression for each parameter, optimizers last; a blank where its name does not tell."""
    has_module = bool(_modules(parameters))
    trained = _trained_modules(parameters)
    ordered = [*(name for name in parameters if name not in trained), *trained]
    return {name: _draw(name, trained.get(name), has_module=has_module) for name in ordered}


def _draw(name: str, module: str | None, *, has_module: bool) -> str:
    if module is not None:
        return f"torch.optim.SGD({module}.parameters(), lr=0.1, momentum=0.9)"
    if re.fullmatch(_SAMPLES, name) and has_module:
        return "torch.randn(5, 3)"
    for pattern, drawn in _DRAWS.items():
        if re.fullmatch(pattern, name):
            return drawn
    return f"[FILL IN: {name}, drawn at random]"


@dataclass(frozen=True)
class NewQuestion:
    """A question to be written: the function that students complete, and its parameters."""

    function: str
    parameters: tuple[str, ...] = ("x",)

    @classmethod
    def parse(cls, text: str) -> NewQuestion:
        """From ``total:losses,weights``, or ``total`` for a function of ``x``; GraderError on a bad name."""
        function, colon, listed = (part.strip() for part in text.partition(":"))
        parameters = tuple(name.strip() for name in listed.split(",")) if colon else ("x",)
        if colon and not listed and function[:1].isupper():
            return cls(function, ())
        for name in parameters:
            is_name = _PARAMETER.fullmatch(name) is not None and not keyword.iskeyword(name)
            if not is_name or name in {*_TAKEN, function} or parameters.count(name) > 1:
                raise GraderError(
                    f"{terminal_text(text)!r}: {terminal_text(name)!r} cannot be a parameter: write the"
                    " function and what it takes, each name once, as in --question total:losses,weights"
                )
        return cls(function, parameters)

    def part(self, kind: str, question: str) -> str:
        """The question's part of a file: of MASTER, CHECKS or ANSWERS, for an id such as ``q2``."""
        draws = drawn_inputs(self.parameters)
        examples = {
            name: _X_EXAMPLE if name == "x" else drawn.replace(", drawn at random]", ", a small example]")
            for name, drawn in draws.items()
        }
        watched = [name for name in self.parameters if not re.fullmatch(f"{_NUMBER}|{_COUNT}", name)]
        has_modules = bool(_modules(self.parameters))
        values = {
            "question": question,
            "function": self.function,
            "parameters": ", ".join(self.parameters),
            "first": (*watched, *self.parameters, "x")[0],
            "named": ", ".join(f"{name}={name}" for name in watched),
            "draws": _assignments(draws),
            "examples": _assignments(draws if has_modules else examples),
            "nn": "\n    from torch import nn" if has_modules else "",
        }
        form = "step" if kind == CHECKS and _optimizers(self.parameters) else "question"
        if self.function[:1].isupper():
            form = "class"
        text = _filled_template(f"{_NAMES[kind]}_{form}", values | self._steps())
        return f"from grader.inside import nn\n{text}" if has_modules and kind == CHECKS else text

    def _steps(self) -> dict[str, str]:
        """The values of templates about optimizers and the modules they train."""
        modules = _modules(self.parameters)
        optimizers = _optimizers(self.parameters)
        made = {name: "made" if len(optimizers) == 1 else f"made_by_{name}" for name in optimizers}
        trained = _trained_modules(self.parameters)
        watched = {
            name: f"{name}, {trained[name]}={trained[name]}" if name in trained else name
            for name in optimizers
        }
        changing = [
            *(", ".join(f'"{name}.*:{part}"' for part in _LEARNS) for name in modules),
            *(f'"{name}"' for name in optimizers),
        ]
        by_name = [f'"{name}": {self.function}_called["{fact}"]' for name, fact in made.items()]
        asserts = [f"for case in cases({{{', '.join(by_name)}}}):", '    assert_updates(case, each="step")']
        return {
            "updates": _indented(f"    updates({watched[name]}) as {made[name]}," for name in optimizers),
            "made": "".join(f'"{name}": {name}, ' for name in made.values()),
            "asserts": _indented(asserts),
            "changing": _indented(f"    {path}," for path in changing),
        }


def _assignments(values: Mapping[str, str]) -> str:
    return _indented(f"{name} = {value}" for name, value in values.items())


def _indented(lines: Iterable[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)


def _filled_template(name: str, values: Mapping[str, str]) -> str:
    return Template((_TEMPLATES / f"{name}.txt").read_text(encoding="utf-8")).substitute(values)


def file_head(kind: str, stem: str) -> str:
    """The beginning of a file (MASTER, CHECKS or ANSWERS), before its first question."""
    return _filled_template(_NAMES[kind], {"stem": stem, "number": str(int(stem[:2]))})


def with_part(kind: str, text: str, part: str) -> str:
    """The text of a file (MASTER, CHECKS or ANSWERS) with a further question's part.

    In a master the part stands before the closing prose.

    Raises:
        SyntaxError: a file of checks or answers is not Python, apart from its blanks.
    """
    if kind == MASTER:
        cells = [match.end() for match in _LAST_CELL.finditer(text)]
        end = cells[-1] if cells else len(text)
        closing = text[end:]
        return f"{text[:end].rstrip()}\n\n{part}" + (f"\n{closing}" if closing.strip() else "")
    own_imports = _imports(part)
    for wanted in [*_imports(file_head(kind, "00_any")), *own_imports]:
        text = _with_import(text, wanted)
    last = max((node.end_lineno or 0 for node in own_imports), default=0)
    definitions = "".join(part.splitlines(keepends=True)[last:]).lstrip("\n")
    return f"{text.rstrip()}\n\n\n{definitions}"


def _with_import(text: str, wanted: _Import) -> str:
    """The text with an import, whose names join those of the same module."""
    module, imports = _module(wanted), _imports(text)
    same = [node for node in imports if _module(node) == module]
    if any(_names(node) >= _names(wanted) for node in same):
        return text
    lines = text.splitlines(keepends=True)
    if module is not None and same:
        joined = _import_line(module, _names(same[0]) | _names(wanted))
        lines[same[0].lineno - 1 : same[0].end_lineno] = [joined]
    else:
        last = max((node.end_lineno or 0 for node in imports), default=_docstring_end(text))
        lines.insert(last, f"{ast.unparse(wanted)}\n")
    return "".join(lines)


def _module(node: _Import) -> str | None:
    """The module that an import takes names from; None for ``import torch``."""
    return node.module if isinstance(node, ast.ImportFrom) else None


def _names(node: _Import) -> set[str]:
    return {ast.unparse(name) for name in node.names}


def _import_line(module: str, names: set[str]) -> str:
    """As the formatter writes it."""
    in_order = sorted(names, key=lambda name: (name.lower() == name, name))  # classes before functions
    line = f"from {module} import {', '.join(in_order)}\n"
    if len(line) <= _WIDTH:
        return line
    return f"from {module} import (\n{''.join(f'    {name},' + chr(10) for name in in_order)})\n"


def _imports(text: str) -> list[_Import]:
    return [node for node in ast.parse(without_blanks(text)).body if isinstance(node, _Import)]


def _docstring_end(text: str) -> int:
    match ast.parse(without_blanks(text)).body[:1]:
        case [ast.Expr(value=ast.Constant(value=str())) as docstring]:
            return docstring.end_lineno or 0
    return 0
