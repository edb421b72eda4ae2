"""A new question's part of each of an assignment's files, with inputs guessed from parameter names."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from grader.course.assignment import ANSWERS, CHECKS, MASTER
from grader.course.probe_words import PLACEHOLDERS
from grader.errors import GraderError
from grader.text import inert

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
    r"w|weight|b|bias|prompt": "torch.randn(3, requires_grad=True)",
}
_SAMPLES = r"[xX]|xs|inputs?|batch|data|noise|z"
_X_ALONE = "torch.randn(4, requires_grad=True)"


_TEMPLATES = Path(__file__).parents[1] / "templates"
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_TAKEN = {*PLACEHOLDERS, "student", "result"}  # the probe of the scaffold needs these itself
_LEARNS = ("value", "version", "grad")  # what a step changes of parameters
_X_EXAMPLE = "torch.tensor([1.0, 2.0], requires_grad=True)"
_NAMES = {MASTER: "new_master", CHECKS: "new_checks", ANSWERS: "new_answers"}


def optimizers_of(parameters: Sequence[str]) -> list[str]:
    """The parameters that are optimizers, by their names."""
    return [name for name in parameters if re.fullmatch(_OPTIMIZER, name)]


def modules_of(parameters: Sequence[str]) -> list[str]:
    """The parameters that are modules, by their names."""
    return [name for name in parameters if re.fullmatch(f"{_MODULE}|{_CELL}", name)]


def trained_modules(parameters: Sequence[str]) -> dict[str, str]:
    """The module that each optimizer learns: `opt_d` the discriminator, a single `opt` the first module."""
    trained = {}
    for name in optimizers_of(parameters):
        ending = name.partition("_")[2]
        for module in modules_of(parameters):
            if module.startswith(ending) or module.endswith(f"_{ending}"):
                trained[name] = module
                break
    return trained


def tensors_of(parameters: Sequence[str]) -> list[str]:
    """The parameters that hold tensors: all but numbers."""
    return [name for name in parameters if not re.fullmatch(f"{_NUMBER}|{_COUNT}", name)]


def drawn_inputs(parameters: Sequence[str]) -> dict[str, str]:
    """An expression for each parameter, optimizers last; a blank where its name does not tell."""
    has_module = bool(modules_of(parameters))
    trained = trained_modules(parameters)
    ordered = [*(name for name in parameters if name not in trained), *trained]
    return {name: _draw(name, trained.get(name), has_module=has_module) for name in ordered}


def _draw(name: str, module: str | None, *, has_module: bool) -> str:
    if module is not None:
        return f"torch.optim.SGD({module}.parameters(), lr=0.1, momentum=0.9)"
    if re.fullmatch(_SAMPLES, name) and has_module:
        return "torch.randn(5, 3)"
    if name == "x":
        return _X_ALONE
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
                    f"{inert(text)!r}: {inert(name)!r} cannot be a parameter: write the function and what it"
                    " takes, each name once, as in --question total:losses,weights"
                )
        return cls(function, parameters)

    def part(self, kind: str, question: str) -> str:
        """The question's part of a file: of MASTER, CHECKS or ANSWERS, for an id such as ``q2``."""
        draws = drawn_inputs(self.parameters)
        examples = {
            name: _X_EXAMPLE if name == "x" else drawn.replace(", drawn at random]", ", a small example]")
            for name, drawn in draws.items()
        }
        watched = tensors_of(self.parameters)
        has_modules = bool(modules_of(self.parameters))
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
        text = _filled_template(self._template(kind), values | self._steps())
        return f"from grader.inside import nn\n{text}" if has_modules and kind == CHECKS else text

    def _template(self, kind: str) -> str:
        if self.function[:1].isupper():
            return f"{_NAMES[kind]}_class"
        has_steps = kind == CHECKS and optimizers_of(self.parameters)
        return f"{_NAMES[kind]}_{'step' if has_steps else 'question'}"

    def _steps(self) -> dict[str, str]:
        """The values of templates about optimizers and the modules they train."""
        modules = modules_of(self.parameters)
        optimizers = optimizers_of(self.parameters)
        made = {name: "made" if len(optimizers) == 1 else f"made_by_{name}" for name in optimizers}
        trained = trained_modules(self.parameters)
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


def _assigned(values: Mapping[str, str]) -> str:
    return _indented(f"{name} = {value}" for name, value in values.items())


def _indented(lines: Iterable[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)


def _filled_template(name: str, values: Mapping[str, str]) -> str:
    return Template((_TEMPLATES / f"{name}.txt").read_text(encoding="utf-8")).substitute(values)


def file_head(kind: str, stem: str) -> str:
    """The beginning of a file (MASTER, CHECKS or ANSWERS), before its first question."""
    return _filled_template(_NAMES[kind], {"stem": stem, "number": str(int(stem[:2]))})
