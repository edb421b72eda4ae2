"""A case of a contract as code that a student can paste into a cell: small inputs, and the call.

Each level of an input contributes its line (`grader.course.levels`); an author's ``@inside`` functions
contribute their statements (`grader.course.specialize`). Numbers come from a public seed, so a snippet
reveals nothing of a run.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from typing import Any

from grader.course.contract import Contract
from grader.course.levels import ARCHITECTURE, FACTORS, LOUDER
from grader.course.specialize import AuthorCode, CannotShowError, is_literal

RESULT, EARLIER = "out", "earlier"
_SIZES = (2, 3, 4, 5, 6, 7, 8, 9)
_MOST_WRITTEN = 8  # entries of a tensor whose numbers are written out
_IMPORTS = {"nn": "from torch import nn", "F": "from torch.nn import functional as F", "math": "import math"}
_SEED = "torch.manual_seed({})"
_DRAWS = re.compile(r"\brand|\bnn\.|normal|uniform|bernoulli|multinomial|dropout")


@dataclass(frozen=True)
class CaseText:
    """A case as code.

    Attributes:
        imports: lines for a notebook that has only imported torch.
        inputs: the lines that make the arguments, and earlier calls.
        calls: the lines of the call; its result is `RESULT`.
        then: the lines of the contract's ``then``, the last an expression; empty if there are none.
        names: the variable of each argument.
        leaves: the variable whose ``.grad`` an argument fills, where that is another one.
        makers: how each argument is made.
    """

    imports: tuple[str, ...]
    inputs: tuple[str, ...]
    calls: tuple[str, ...]
    then: tuple[str, ...]
    names: Mapping[str, str]
    leaves: Mapping[str, str]
    makers: Mapping[str, str]


def case_text(contract: Contract, variations: Mapping[str, Any], *, again: bool = False) -> CaseText:
    """A case of a contract as code; CannotShowError if a level has no line, or a function no short form.

    Args:
        again: write it with other numbers and sizes, and networks in which the mode matters.

    Raises:
        SyntaxError, LookupError: the lines of levels, or an author's functions, do not fit together.
    """
    text = _Writer(contract, {**contract.plan["base"], **variations}, again).text()
    compile("\n".join([*text.inputs, *text.calls, *text.then]), "<snippet>", "exec")
    return text


def snippet_complaints(contracts: Iterable[Contract]) -> Iterator[str]:
    """A sentence for each contract with a case whose lines do not fit together."""
    for contract in contracts:
        for row in contract.rows:
            try:
                case_text(contract, row)
            except CannotShowError:
                continue
            except (SyntaxError, LookupError) as error:
                levels = ", ".join(f"{factor}: {level}" for factor, level in row.items()) or "no level varies"
                yield (
                    f"{contract.source.where}: a snippet of the contract {contract.name} ({levels}) is not"
                    f" valid: {type(error).__name__}: {error}"
                )
                break


@dataclass
class _Writer:
    """Writes one case."""

    contract: Contract
    levels: Mapping[str, Any]
    again: bool
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if str(self.levels["call.memory"]) != "free" or self.levels["all.sizes"] == "large":
            raise CannotShowError("only large inputs show it")
        self.numbers = random.Random(int(self.again))  # noqa: S311 - public numbers
        self.names = {name: re.sub(r"\W+", "_", name) for name in self.contract.arguments}
        self.makers = {name: kinds.maker for name, kinds in self.contract.arguments.items()}
        functions = {one.name: one for one in self.contract.parts() if one.name != self.contract.name}
        self.author = AuthorCode(functions, self.levels, self.names, self.size, self.shape)
        dtype = self.levels["all.dtype"]
        self.dtype = "" if dtype == "float32" else f", dtype=torch.{dtype}"

    def text(self) -> CaseText:
        """The whole case."""
        plan, sequence = self.contract.plan, str(self.levels["call.sequence"])
        inputs, (*lines, call) = self._inputs(), self._call()
        earlier = self._in_mode([*lines, f"{EARLIER} = {call}"])
        if sequence in {"other", "other data"}:
            shared = {"module", "optimizer"} if sequence == "other data" else set()
            inputs += [*earlier, *self._inputs(shared)]
        elif sequence != "first":
            inputs += [*earlier, *self._between(sequence)]
        calls = self._in_mode([*lines, f"{RESULT} = {call}"])
        then: list[str] = []
        if plan["then"]:
            with suppress(CannotShowError):
                then = self._of_author(plan["then"], ("setup", RESULT))
        inputs = [line for text in self.author.definitions.values() for line in text.splitlines()] + inputs
        nodes = ast.walk(ast.parse("\n".join([*inputs, *calls, *then])))
        words = {node.id for node in nodes if isinstance(node, ast.Name)}
        imports = [line for name, line in _IMPORTS.items() if name in words]
        seed = [_SEED.format(int(self.again))] if plan["call"] or _DRAWS.search("\n".join(inputs)) else []
        about = (self.names, self.author.leaves, self.makers)
        return CaseText(tuple(imports), (*seed, *inputs), tuple(calls), tuple(then), *about)

    def _inputs(self, shared: Collection[str] = ()) -> list[str]:
        makers = {"tensor": self._tensor, "number": self._number, "module": self._module}
        makers |= {"optimizer": self._optimizer, "inputs": self._list, "pairs": self._pairs}
        makers |= {"target": self._target, "own": self._own}
        lines: list[str] = []
        for name, maker, options in self.contract.plan["arguments"]:
            if maker not in shared:
                lines += makers[maker](name, options)
        return lines

    def size(self, name: str) -> int:
        """The size of a name, the same wherever it occurs."""
        equal = self.levels["all.sizes"] == "equal"
        return self.sizes.setdefault(
            name, 3 if equal else _SIZES[(len(self.sizes) + self.again) % len(_SIZES)]
        )

    def shape(self, words: str) -> tuple[int, ...]:
        """The sizes behind the words of a shape, as `grader.course.kinds.tensor` explains them."""
        sizes: list[int] = []
        for word in words.split():
            if word[0] in "*=":
                like = self.shapes[word[1:]]
                sizes += like[:-1] if word[0] == "*" else like
                continue
            number, name = re.fullmatch(r"(\d*)(\w*)", word).groups()  # type: ignore[union-attr]
            sizes.append(int(number or 1) * (self.size(name) if name else 1))
        return tuple(sizes)

    # --- levels

    def _level(self, name: str, factor: str) -> Any:
        return self.levels.get(f"{name}.{factor}")

    def _line(self, name: str, factor: str, *, of: str = "", **words: str) -> str:
        """The code that makes the level of a factor: its own line, or its source in the line of the factor.

        Args:
            of: the argument whose level it is, if that is another one.
            words: the replacements of the words in lines and sources.
        """
        maker, x = self.makers[name], self.names[name]
        of_factor = FACTORS[maker][factor]
        level = of_factor.levels[self._level(of or name, factor)]
        if level.line:
            return level.line.format(x=x, **words).rstrip()
        if level.source and (level.source != "[]" or maker != "module"):
            words = {"net": x, "part": f"{x}[-2]", "last": f"{x}[-1]", "leaf": x, **words}
            words["parameters"] = f"[*{x}.parameters()]"
            source = re.sub(r"\w+", lambda word: words.get(word[0], word[0]), level.source)
            text = of_factor.line.format(x=x, source=source, **words)
            return text.replace(f"[*{x}.parameters()]:", f"{x}.parameters():")
        if level.phrase and level != next(iter(of_factor.levels.values())):
            raise CannotShowError(f"no line makes something that {level.phrase}")
        return ""

    # --- tensors and numbers

    def _number(self, name: str, _: Mapping[str, Any]) -> list[str]:
        value = self._level(name, "value")
        if isinstance(value, tuple):  # two bounds
            first, last = value
            value = (first + last) // 2 if isinstance(first, int) else round((first + last) / 2, 3)
        return [f"{self.names[name]} = {value!r}"]

    def _tensor(self, name: str, options: Mapping[str, Any]) -> list[str]:
        dtype = f", dtype=torch.{options['dtype']}" if options.get("dtype") else self.dtype
        lines = self._values(name, self.shape(self._level(name, "shape")), dtype)
        is_made = self._level(name, "role") in {"computed", "saved"}
        for factor in ("role", "layout", "grad") if is_made else ("layout", "role", "grad"):
            lines += self._line(name, factor).splitlines()
        if is_made:
            self.author.leaves[name] = f"{self.names[name]}0"
        return lines

    def _values(self, name: str, shape: tuple[int, ...], dtype: str) -> list[str]:
        """The line that makes numbers: written out where they are few, or by an author's function."""
        variable, values = self.names[name], str(self._level(name, "values"))
        self.shapes[name] = shape
        if values in self.author.functions:
            lines = self._assigned(variable, self._of_author(values, (repr(shape),), target=variable))
            is_double = "float64" in self.author.functions[values].text and "float64" not in dtype
            return [*lines, *([f"{variable} = {variable}.float()"] if is_double else [])]
        if values == "normal" and prod(shape) <= _MOST_WRITTEN:
            return [f"{variable} = torch.tensor({self._written(shape)}{dtype})"]
        return self._drawn(name, f"{', '.join(map(str, shape)) or '()'}{dtype}").splitlines()

    def _drawn(self, name: str, sizes: str) -> str:
        line = self._line(name, "values", shape=sizes, _normal="torch.randn", _zeros="torch.zeros")
        return line.replace(f"*{sizes}", sizes).replace(f"{sizes}, dtype=_double", sizes)

    def _written(self, shape: tuple[int, ...]) -> Any:
        if shape:
            return [self._written(shape[1:]) for _ in range(shape[0])]
        return self.numbers.choice((-1, 1)) * self.numbers.randint(2, 19) / 10

    # --- networks, and what belongs to them

    def _module(self, name: str, options: Mapping[str, Any]) -> list[str]:
        like, of = options.get("like") or name, options["inputs"]
        outputs = self._columns({**options, "of": like})
        inputs = str(self.size(of) if of[0] != "*" else f"{self.names[of[1:]]}.shape[-1]")
        hidden = self.size("hidden")
        words = {"inputs": inputs, "outputs": str(outputs), "hidden": str(hidden)}
        words |= {"first": f"nn.Linear({inputs}, {hidden})", "last": f"nn.Linear({hidden}, {outputs})"}
        words["inside"] = self._line(name, "inside", of=like, **words)
        words["part_name"] = f" {self.names[name]}.part," if words["inside"].strip() else ""
        lines = self._line(name, "nest", of=like, **words).splitlines()
        lines += [f"{self.names[name]}.double()"] if self.dtype else []
        if self.again and self._level(like, "inside") == "louder":
            lines.append(LOUDER.format(x=self.names[name]))
        for factor in FACTORS["module"]:
            if factor not in {"nest", "inside", "width", "pending"}:
                of_level = like if factor in ARCHITECTURE else name
                lines += self._line(
                    name, factor, of=of_level, hidden=str(hidden), outputs=str(outputs)
                ).splitlines()
        return lines

    def _columns(self, options: Mapping[str, Any]) -> int:
        is_single = self.levels.get(f"{options.get('of')}.width") == "one column"
        return 1 if is_single else self.size(options["outputs"])

    def _optimizer(self, name: str, options: Mapping[str, Any]) -> list[str]:
        held = [
            f"[{self.names[of]}]" if self.makers[of] == "tensor" else f"[*{self.names[of]}.parameters()]"
            for of in options["of"]
        ]
        held[-1] = self._line(name, "holds", last=held[-1])
        held = [one for one in held if one != "[]"]
        every = held[0] if len(held) == 1 else f"[{', '.join(f'*{one}' for one in held)}]"
        groups = self._line(name, "groups", held=every)
        groups = re.sub(r"^\[\*(\w+\.parameters\(\))\]$", r"\1", groups)
        lines = (self._line(name, factor, held=every, groups=groups) for factor in ("rule", "state"))
        return [line for text in lines for line in text.splitlines()]

    def _one(self, width: int) -> dict[str, str]:
        return {"inputs": f"{width}{self.dtype}"} | {
            f"one{n}": f"torch.randn({n}, {width}{self.dtype})" for n in (2, 3)
        }

    def _list(self, name: str, options: Mapping[str, Any]) -> list[str]:
        words = self._one(self.size(options["inputs"]))
        line = self._line(name, "list", **words).replace("rows[0]", "3").replace("rows", "(3, 2, 5)")
        return re.sub(r"\bone\(([^()]*)\)", rf"torch.randn(\1, {words['inputs']})", line).splitlines()

    def _pairs(self, name: str, options: Mapping[str, Any]) -> list[str]:
        """A list of pairs of inputs of a network and targets."""
        columns, values = self._columns(options), str(self._level(name, "values"))
        if values in self.author.functions:
            call = self.author.helper(values, [ast.Name("n"), ast.Constant(columns)], name)
            y = ast.unparse(call) + ("" if self.dtype else ".float()")
        else:
            y = self._drawn(name, f"n, {columns}{self.dtype}").partition(" = ")[2]
        words = {**self._one(self.size(options["inputs"])), "y": y}
        made, sizes = self._line(name, "list", **words).rsplit(" in ", 1)
        sizes = str(eval(sizes.rstrip("]"), {"n": 2}))  # noqa: S307 - of the table of levels
        words["wider"] = f"{self.size(options['inputs']) + 1}{self.dtype}"
        lines = [f"{made} in {sizes}]"]
        for factor in ("fault", "xs"):
            lines += self._line(name, factor, **words).splitlines()
        if self._level(name, "fault") in {"own", "interrupt"}:
            lines.append(f"{self.names[options['of']]}.register_forward_pre_hook(broken)")
        return lines

    def _target(self, name: str, options: Mapping[str, Any]) -> list[str]:
        rows = self.shapes[options["like"]][:-1]
        is_number = self.levels.get(f"{options.get('of')}.gives") == "a number"
        return self._values(name, rows if is_number else (*rows, self._columns(options)), self.dtype)

    # --- functions of the author's, and calls

    def _of_author(
        self, function: str, roles: Sequence[str], *, argument: str = "", target: str = ""
    ) -> list[str]:
        """The lines of an author's function; the last is the expression that it returns."""
        lines, value = self.author.statements(function, roles, argument=argument, target=target)
        return [*lines, value or "None"]

    def _own(self, name: str, options: Mapping[str, Any]) -> list[str]:
        variable = self.names[name]
        lines = self._of_author(options["make"], ("setup", "kind"), argument=name, target=variable)
        if is_literal(lines[-1]):
            self.author.literals[name] = lines[-1]
        return self._assigned(variable, lines)

    @staticmethod
    def _assigned(variable: str, lines: Sequence[str]) -> list[str]:
        *lines, value = lines
        return lines if value == variable else [*lines, f"{variable} = {value}"]

    def _call(self) -> list[str]:
        """The lines of the call; the last is its expression.

        If an author's own way to call the function has no short form, it is called directly: code is only
        published if it shows the fault.
        """
        plan = self.contract.plan
        if plan["call"]:
            in_setup = {**self.author.in_setup}
            with suppress(CannotShowError):
                return self._of_author(plan["call"], (plan["function"], "setup"))
            self.author.in_setup = in_setup
        return [f"{plan['function']}({', '.join(self.names[name] for name in plan['given'])})"]

    def _in_mode(self, lines: Sequence[str]) -> list[str]:
        if self.levels["call.mode"] == "on":
            return [*lines]
        return ["with torch.no_grad():", *(f"    {line}" for line in lines)]

    def _between(self, sequence: str) -> list[str]:
        """The code between two calls with the same arguments."""
        if sequence in self.author.functions:
            return [line for line in self._of_author(sequence, ("setup", EARLIER)) if line != "None"]
        only, lines = sequence.removeprefix("changed").strip(), []
        for name, variable in self.names.items():
            if sequence.startswith("changed") and only in {"", name}:
                if self.makers[name] == "tensor":
                    lines.append(f"{variable}.data.mul_(0.75)")
                elif self.makers[name] == "module":
                    lines += [f"for p in {variable}.parameters():", "    p.data.mul_(0.75)"]
        return lines
