"""Creates an assignment, or adds questions to one: valid Python in which TODO marks the author's part.

The name of a parameter decides its levels and its example; TODO stands for everything that names cannot
decide. A question whose name begins with a capital letter is a class. A question with a `model` and an `opt`
is about the steps of this optimizer.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from string import Template

from grader.course.assignment import ANSWERS, CHECKS, SOURCE, STEM
from grader.course.author_file import read_syntax, read_text
from grader.course.course import Course
from grader.course.inside_source import PLACEHOLDERS
from grader.errors import BrokenRunError, GraderError
from grader.files import write_atomic
from grader.text import terminal_text

#: The example of a parameter by its name; the second table takes precedence if there is a `model`.
_DRAWN = {
    "x": "torch.randn(4, requires_grad=True)",
    "w": "torch.randn(3, requires_grad=True)",
    "cell": "nn.GRUCell(3, 4)",
    "lr": "0.1 + 0.5 * torch.rand(()).item()",
    "steps": "torch.randint(2, 6, ()).item()",
}
_DRAWN_BESIDE_A_MODEL = {
    "model": "nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))",
    "opt": "torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
    "x": "torch.randn(5, 3)",
    "y": "torch.randn(5, 2)",
}
_INT, _FLOAT = 'number(3, 1, 2, says="an int, 1 or more")', 'number(0.5, 0.0, says="a float, 0 or more")'
_NETWORK = 'network(frozen=["no", "one frozen"], says="maps (n, in) to (n, out)")'
#: The declaration of a parameter by its name; the author must write the shapes of tensors.
_KINDS = {
    "model": _NETWORK,
    "net": _NETWORK,
    "batches": 'pairs(says="a list of batches (x, y); x: (n, in), y: (n, out)")',
    "xs": 'inputs(says="a list of tensors of shape (n, in)")',
    **dict.fromkeys(("n", "k", "steps", "epochs"), _INT),
    **dict.fromkeys(("lr", "p", "alpha", "eps"), _FLOAT),
}
_INPUT = 'data("n in", says="(n, in)")'  # beside a model
_TENSOR = 'tensor("n k", "1 k", says="TODO: its shape and what it is, as in (n, k)")'
_NUMBERS = {name for name, kinds in _KINDS.items() if kinds in {_INT, _FLOAT}}  # which nothing can change
_MADE_LAST = ("target(", "optimizer(")  # of what was made before

#: The beginnings of the names of templates: for the head of a file, and for the part of a question, followed
#: by its form.
_TEMPLATES = {SOURCE: "new_source", CHECKS: "new_checks", ANSWERS: "new_answers"}
_FOLDER = Path(__file__).parents[1] / "templates"
#: The words of the templates, by the module that they are imported from.
_IMPORTED = {
    "grader": {
        *("Call", "Cases", "assert_close", "assert_no_side_effects", "assert_same_gradients"),
        "assert_same_values",
        *("contract", "data", "inputs", "network", "number", "optimizer", "own", "pairs", "target", "tensor"),
        *("picture", "points"),
    },
    "grader.inside": {"inside", *PLACEHOLDERS},
    "grader.answers": {"accepted", "wrong", "wrong_edits"},
}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_TAKEN = {*dir(builtins), *PLACEHOLDERS}  # notebooks, checks and contracts need these themselves
_MAX_NAME = 60  # of a file's name systems take 255 bytes; results add suffixes, gradebooks show it
_QUESTION = re.compile(r'(?m)^# %% tags=\["question q(\d+)"\]')
_LAST_CELL = re.compile(r'(?ms)^# %% [^\n]*tags=\["(?:question|check|afterword) q\d+"\].*?(?=^# %%|\Z)')


@dataclass(frozen=True)
class _NewQuestion:
    """A new question: the function that students complete, and its parameters."""

    function: str
    parameters: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> _NewQuestion:
        """Parse ``total:losses,weights``, or ``total`` for a function of ``x``; GraderError if invalid."""
        function, colon, listed = (part.strip() for part in text.partition(":"))
        if _NAME.fullmatch(function) is None or keyword.iskeyword(function) or function in _TAKEN:
            raise GraderError(
                f"{terminal_text(function)!r} cannot be what students complete: choose a function's name"
                " that Python and grader.inside have not, as in --function safe_root"
            )
        if colon and not listed and function[0].isupper():
            return cls(function, ())
        parameters = tuple(name.strip() for name in listed.split(",")) if colon else ("x",)
        for name in parameters:
            is_name = _NAME.fullmatch(name) is not None and not keyword.iskeyword(name)
            if not is_name or name in {*PLACEHOLDERS, "student", "result", function}:
                raise GraderError(
                    f"{terminal_text(text)!r}: {terminal_text(name)!r} cannot be a parameter: write the"
                    " function and what it takes, as in --question total:losses,weights"
                )
        if len(set(parameters)) < len(parameters):
            raise GraderError(f"{terminal_text(text)!r}: two parameters have the same name")
        return cls(function, parameters)

    def part(self, kind: str, question: str) -> str:
        """The question's part of a file (SOURCE, CHECKS or ANSWERS), for an id such as ``q2``."""
        drawn = _DRAWN | (_DRAWN_BESIDE_A_MODEL if "model" in self.parameters else {})
        in_order = sorted(self.parameters, key="opt".__eq__)  # an optimizer needs the model
        draws = {name: drawn.get(name, f"TODO  # {name}, drawn at random") for name in in_order}
        examples = {"x": "torch.tensor([1.0, 2.0], requires_grad=True)"} if "model" not in draws else {}
        is_step = kind == CHECKS and {"model", "opt"} <= draws.keys()
        form = "class" if self.function[0].isupper() else "step" if is_step else "question"
        values = {
            "question": question,
            "function": self.function,
            "parameters": ", ".join(self.parameters),
            "named": ", ".join(f"{name}={name}" for name in self.parameters if name not in _NUMBERS),
            "draws": _assignments(draws),
            "made_of": ", ".join(f'setup["{name}"]' for name in self.parameters),
            "kinds": "".join(f'        "{name}": {kinds},\n' for name, kinds in self._kinds().items()),
            "given": f"{self._given()}, " if self._given() else "",
            "call": f"    call=Call({self._given()}),\n" if self._given() else "",
            "examples": _assignments({name: examples.get(name, draw) for name, draw in draws.items()}),
            "nn": "\n    from torch import nn" if {"model", "cell"} & draws.keys() else "",
        }
        return _filled(f"{_TEMPLATES[kind]}_{form}", values)

    def _kinds(self) -> dict[str, str]:
        """The declaration of each parameter, in the order in which arguments are made."""
        model = next((name for name in ("model", "net") if name in self.parameters), "")
        known = dict(_KINDS)
        if model:
            known |= {"x": _INPUT, "opt": f'optimizer("{model}", says="an optimizer of {model}")'}
            if "x" in self.parameters:
                known["y"] = f'target("x", "{model}", says="(n, out)")'
        kinds = {name: known.get(name, _TENSOR) for name in self.parameters}
        return dict(sorted(kinds.items(), key=lambda kind: kind[1].startswith(_MADE_LAST)))

    def _given(self) -> str:
        """The order of the parameters in the call, if arguments are made in another order."""
        given = ", ".join(f'"{name}"' for name in self.parameters)
        return "" if [*self._kinds()] == [*self.parameters] else f"given=[{given}]"


def _assignments(values: Mapping[str, str]) -> str:
    return "".join(f"    {name} = {value}\n" for name, value in values.items())


def _filled(template: str, values: Mapping[str, str]) -> str:
    return Template((_FOLDER / f"{template}.txt").read_text(encoding="utf-8")).substitute(values)


def course_folder(start: Path | None = None) -> Path:
    """The course's folder at or above a folder, even if the course has no assignments."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "solutions").is_dir() and (folder / "tests" / "hidden").is_dir():
            return folder
    return Course.find(here).root


def is_begun(root: Path, stem: str) -> bool:
    """Whether an assignment has a notebook source."""
    return stem in {path.stem for path in (root / "solutions").glob("*.py")}


def write_new(root: Path, stem: str, wanted: Sequence[str] = ()) -> list[Path]:
    """Create an assignment, or add questions to it if it exists; all of its files are written, or none.

    Args:
        root: the course's folder.
        wanted: functions with their parameters, such as ``total:losses,weights``; by default, a new
            assignment has a function of ``x`` that is named like the assignment.

    Raises:
        GraderError: a name is malformed or taken; the message says what to do.
        CourseError: a file cannot be read, so nothing can be added to it.
        BrokenRunError: a file cannot be written.
    """
    if not (wanted and is_begun(root, stem)):
        _require_free(root, stem)
    questions = [_NewQuestion.parse(text) for text in wanted or [stem[3:]]]
    functions = [question.function for question in questions]
    for function in functions:
        definition = re.compile(rf"^(?:def|class) {re.escape(function)}\b", re.MULTILINE)
        # Renamed notebooks are recognized by their functions.
        for path in sorted((root / "solutions").glob("*.py")):
            if definition.search(path.read_text(encoding="utf-8", errors="replace")):
                taken = f"{path.relative_to(root)} defines {function} already"
                raise GraderError(f"{taken}: name the new function with --function")
        if functions.count(function) > 1:
            raise GraderError(f"two questions ask for {function}: give each a function of its own")
    source = root / SOURCE.format(stem)
    begun = _QUESTION.findall(read_text(source)) if source.is_file() else []
    first = 1 + max(map(int, begun), default=0)
    texts: dict[Path, tuple[bytes | None, str]] = {}
    for kind, template in _TEMPLATES.items():
        path = root / kind.format(stem)
        before = path.read_bytes() if path.is_file() else None
        if before is not None and kind != SOURCE:
            read_syntax(path)  # if it is not Python, the author gets an error with the line
        head = {"stem": stem, "number": str(int(stem[:2]))}
        text = _filled(template, head) if before is None else read_text(path)
        for number, question in enumerate(questions, start=first):
            text = _with_part(kind, text, question.part(kind, f"q{number}"))
        texts[path] = before, text
    return _write(texts)


def _with_part(kind: str, text: str, part: str) -> str:
    """The text of a file with one more question; in a notebook source, before the closing text."""
    if kind == SOURCE:
        end = max((match.end() for match in _LAST_CELL.finditer(text)), default=len(text))
        closing = text[end:]
        return f"{text[:end].rstrip()}\n\n{part}" + (f"\n{closing}" if closing.strip() else "")
    used = {node.id for node in ast.walk(ast.parse(part)) if isinstance(node, ast.Name)}
    for module, words in _IMPORTED.items():
        text = _with_import(text, module, used & words)
    return f"{text.rstrip()}\n\n\n{part}"


def _with_import(text: str, module: str, names: Collection[str]) -> str:
    """The text with names imported from a module, in its import of that module or a new one."""
    body = ast.parse(text).body
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    own = [node for node in imports if isinstance(node, ast.ImportFrom) and node.module == module]
    there = {ast.unparse(name) for node in own for name in node.names}
    if there.issuperset(names):
        return text
    lines = text.splitlines(keepends=True)
    statement = f"from {module} import {', '.join(sorted({*there, *names}))}\n"
    if own:
        lines[own[0].lineno - 1 : own[0].end_lineno] = [statement]
    else:
        above = imports[-1] if imports else body[0]  # the docstring
        lines.insert(above.end_lineno or 0, statement)
    return "".join(lines)


def _write(texts: Mapping[Path, tuple[bytes | None, str]]) -> list[Path]:
    """Write new texts of files, each given with the old text, which is None for a new file."""
    written: list[Path] = []
    try:
        for path, (_, text) in texts.items():
            write_atomic(path, text.encode())
            written.append(path)
    except OSError as error:
        for path in written:
            before = texts[path][0]
            with suppress(OSError):
                path.unlink() if before is None else write_atomic(path, before)
        raise BrokenRunError(
            f"{error.filename} cannot be written ({error.strerror}): fix that, and try again; nothing was"
            " changed"
        ) from error
    return written


def _require_free(root: Path, stem: str) -> None:
    """Raise an error for a malformed name or a number that is taken; the message suggests another."""
    files = [
        path for kind in (ANSWERS, CHECKS, SOURCE) for path in sorted(root.glob(kind.format("[0-9][0-9]_*")))
    ]
    taken = {path.stem.removeprefix("test_")[:2]: path for path in files}
    numbers = [f"{number:02}" for number in range(1, 100)]
    after = [number for number in numbers if number > max(taken, default="")]
    free = next(iter([*after, *(number for number in numbers if number not in taken)]), "99")
    name = STEM.fullmatch(stem)
    if name is None or len(stem) > _MAX_NAME:
        raise GraderError(
            f"{terminal_text(stem)!r} names no assignment: write two digits, an underscore and a short name"
            f" in lower case, such as {free}_branches"
        )
    if name["number"] in taken:
        further = f"; or add a question: new {stem} --question NAME:x" if is_begun(root, stem) else ""
        path = taken[name["number"]].relative_to(root)
        raise GraderError(
            f"the number {name['number']} is taken by {path}; the next that is free is {free}:"
            f" new {free}_{name['name']}{further}"
        )
