"""The texts that students read about a contract: a list of inputs, and argument lines in a docstring.

Both are derived from the declaration, so notebook sources need not repeat it. `contract_complaints` reports
the places where a notebook source contradicts the declaration.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from grader.course.assignment import MAY_COME_IN, THE_CALL, Assignment, Question, SourceCell
from grader.course.contract import Contract
from grader.course.kinds import Kinds
from grader.course.levels import CALL, LAYERS_WITH_MODES, MODE_OF_LAYERS, Level, factor_of

_FIRST_HINT = re.compile(r"(?m)^<details>\s*<summary>")
_BARE_SHAPE = re.compile(r"(?<![`\w])\([^()`]*,[^()`]*\)")
_ARGUMENTS = re.compile(r"(\w+(?:, \w+)*): ")
_DTYPES = {
    "float32": "float32",
    "float64": "float64",
    "bool": "boolean",
    "int64": "integers",
    "long": "integers",
}
_SAYS_A_DTYPE = re.compile(r"\b(float|bool|int|integer|complex)")


def with_contracts(assignment: Assignment, contracts: Sequence[Contract]) -> Assignment:
    """The assignment with the texts of its contracts, in tasks and in docstrings."""
    by_question = {q.id: of for q in assignment.questions if (of := contract_of(q, contracts)) is not None}
    if not by_question:
        return assignment
    questions = tuple(
        replace(
            question,
            starter_code=with_arguments(question.starter_code, by_question[question.id]),
            answer=with_arguments(question.answer, by_question[question.id]),
            levels=levels_of(by_question[question.id]),
        )
        if question.id in by_question
        else question
        for question in assignment.questions
    )

    def with_text(cell: SourceCell) -> SourceCell:
        contract = by_question.get(cell.question or "")
        if contract is None or cell.role not in {"task", "question"}:
            return cell
        write = with_block if cell.role == "task" else with_arguments
        return replace(cell, source=write(cell.source, contract))

    return replace(assignment, questions=questions, cells=tuple(map(with_text, assignment.cells)))


def contract_of(question: Question, contracts: Sequence[Contract]) -> Contract | None:
    """The contract that a question's text describes: the one named like the function, otherwise the first."""
    own = [contract for contract in contracts if contract.function == question.function]
    return next((contract for contract in own if contract.name == question.function), next(iter(own), None))


# --- the block


def with_block(task: str, contract: Contract) -> str:
    """A task's text with the list of inputs before its first folded part, or at its end."""
    block = f"{MAY_COME_IN}\n\n{block_of(contract)}"
    fold = _FIRST_HINT.search(task)
    if fold is None:
        return f"{task.rstrip()}\n\n{block}"
    return f"{task[: fold.start()].rstrip()}\n\n{block}\n\n{task[fold.start() :]}"


def block_of(contract: Contract) -> str:
    """The levels of each argument and of the call, as a flat list in Markdown."""
    levels = levels_of(contract)
    about = {name: "; ".join([_noun(contract, name), *levels.get(name, ())]) for name in contract.given}
    bullets = [f"`{name}`: {text}" for name, text in about.items()]
    if THE_CALL in levels:
        bullets.append(f"The call: {'; '.join(levels[THE_CALL])}")
    return "\n".join(f"- {bullet}" for bullet in bullets)


def levels_of(contract: Contract) -> dict[str, list[str]]:
    """A phrase for each level of each argument, by its name, and of the call."""
    levels = {name: [*dict.fromkeys(_of_argument(contract, name))] for name in contract.given}
    return {name: of for name, of in {**levels, THE_CALL: [*_of_call(contract)]}.items() if of}


def _noun(contract: Contract, name: str) -> str:
    """The author's description of an argument, or otherwise the one of its maker."""
    kinds = contract.arguments[name]
    return _BARE_SHAPE.sub(r"`\g<0>`", kinds.says.rstrip(".")) or _NOUNS[kinds.maker].format(**kinds.options)


def _of_argument(contract: Contract, name: str) -> Iterator[str]:
    kinds = contract.arguments[name]
    if kinds.maker == "tensor":
        yield from filter(None, [dtypes_of(contract, kinds)])
    for factor, levels in kinds.factors.items():
        if factor == "role" and {*levels} == {"plain"} and "require grad" in kinds.says:
            continue  # the description says so already
        usual, *others = levels
        known = factor_of(kinds.maker, factor)
        is_shown = known.shows_first or known.levels.get(usual, Level()).shows_when_typical
        shown = [usual, *others] if is_shown else others
        yield from filter(None, (kinds.phrase(factor, level) for level in shown))
    if kinds.maker == "module" and len(kinds.factors.get("train", ())) > 1:
        yield from _modes_of_layers(contract, name)


#: The description of an argument without `says`, by maker.
_NOUNS = {
    "tensor": "a tensor",
    "number": "a number",
    "module": "a network",
    "optimizer": "an optimizer",
    "pairs": "a list of batches `(x, y)`",
    "inputs": "a list of tensors",
    "target": "a tensor that doesn't require grad, of the shape of what the network returns for `{like}`",
    "own": "see the task",
}


def _modes_of_layers(contract: Contract, name: str) -> Iterator[str]:
    """Phrases for the modes of a network's batch norm and dropout in the cases."""
    architecture = contract.arguments[name].options["like"] or name
    modes: dict[str, set[str]] = {}
    for row in contract.rows:
        case = {**contract.plan["base"], **row}
        layer = LAYERS_WITH_MODES.get(case[f"{architecture}.inside"])
        if layer is not None:
            modes.setdefault(layer, set()).add(MODE_OF_LAYERS[case[f"{name}.train"]])
    for layer in sorted(modes):
        where = " or ".join(f"{mode} mode" for mode in sorted(modes[layer], reverse=True))
        yield f"its {layer} is {'always ' if len(modes[layer]) == 1 else ''}in {where}"


def dtypes_of(contract: Contract, kinds: Kinds) -> str:
    """The dtypes of a tensor, unless it always has that of the contract's typical case."""
    own: str = kinds.options["dtype"]
    if _SAYS_A_DTYPE.search(kinds.says):
        return ""
    if own:
        return _DTYPES.get(own, own)
    dtypes = contract.factors["all.dtype"]
    is_of_its_own = {*kinds.factors["role"]} == {"plain"} and kinds.functions
    if len(dtypes) == 1 or is_of_its_own:
        return ""
    return " or ".join(_DTYPES.get(each, each) for each in dtypes)


def _of_call(contract: Contract) -> Iterator[str]:
    """A phrase for each level of the call, and of all sizes."""
    for factor, levels in contract.factors.items():
        if factor.startswith(("call.", "all.")) and factor != "all.dtype":
            for level in levels[1:]:
                yield contract.phrases.get(f"{factor}={level}") or CALL[factor].levels[level].phrase


# --- the docstring


def with_arguments(source: str, contract: Contract) -> str:
    """A question's source, with the contract's argument lines in its docstring.

    The source is unchanged unless the contract describes each argument.
    """
    definition = ast.parse(source).body[0]
    lines = argument_lines(definition, contract)
    found = _docstring(definition)
    if not lines or found is None:
        return source
    first, last = found.lineno, found.end_lineno or found.lineno
    rows = source.splitlines()
    indent = " " * found.col_offset
    if first == last:  # a docstring of a single line gets lines of its own
        quoted = rows[first - 1].rstrip()
        text = [quoted.removesuffix('"""'), "", *(f"{indent}{line}" for line in lines), f'{indent}"""']
        return "\n".join([*rows[: first - 1], *text, *rows[last:]])
    body = rows[first - 1 : last]
    names = [*contract.given, *_parameters(definition)]
    replaced = {n for of in written_lines(body, names).values() for n in of}
    at = min(replaced, default=_behind_summary(body))
    if at == _behind_summary(body) and not replaced:
        lines = ["", *lines] if body[at - 1].strip() else lines
    above = [row for n, row in enumerate(body) if n not in replaced and n < at]
    below = [row for n, row in enumerate(body) if n not in replaced and n >= at]
    written = [f"{indent}{line}" if line else "" for line in lines]
    return "\n".join([*rows[: first - 1], *above, *written, *below, *rows[last:]])


def argument_lines(definition: ast.stmt, contract: Contract) -> list[str]:
    """A line about each parameter of a function; empty if the contract does not describe all of them."""
    parameters = _parameters(definition)
    if not parameters or any(
        p not in contract.arguments or not contract.arguments[p].says for p in parameters
    ):
        return []
    return [f"{name}: {said_of(contract, name)}." for name in parameters]


def said_of(contract: Contract, name: str) -> str:
    """The docstring's text about an argument."""
    kinds = contract.arguments[name]
    parts = [kinds.says.rstrip(".")]
    if kinds.maker == "tensor":
        roles = {*kinds.factors["role"]}
        grad = "requires grad" if "plain" not in roles else "may require grad" if len(roles) > 1 else ""
        parts += [dtypes_of(contract, kinds), "" if "grad" in kinds.says else grad]
    return ", ".join(filter(None, parts))


def written_lines(rows: Sequence[str], names: Collection[str]) -> dict[str, list[int]]:
    """The rows of a docstring about arguments, by number: from ``x:`` or ``x, y:`` to the sentence's end."""
    found: dict[str, list[int]] = {}
    name = ""
    for number, row in enumerate(rows):
        text = row.strip()
        begins = _ARGUMENTS.match(text)
        if begins and all(one in names for one in begins[1].split(", ")):
            name = begins[1]
        elif not text or text.startswith(('"""', "Returns", "Return ")):
            name = ""
        if name:
            found.setdefault(name, []).append(number)
            if text.endswith("."):
                name = ""
    return found


def _behind_summary(body: Sequence[str]) -> int:
    """The line after a docstring's first paragraph and blank line, where argument lines begin."""
    blank = next((n for n, row in enumerate(body) if n and not row.strip()), None)
    return len(body) - 1 if blank is None else blank + 1


def _docstring(definition: ast.stmt) -> ast.Expr | None:
    match definition:
        case ast.FunctionDef(body=[ast.Expr(ast.Constant(str())) as docstring, *_]):
            return docstring
    return None


def _parameters(definition: ast.stmt) -> list[str]:
    if not isinstance(definition, ast.FunctionDef):
        return []
    arguments = definition.args
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


# --- contradictions of text and declaration


def contract_complaints(
    assignment: Assignment, written: Mapping[str, str], contracts: Sequence[Contract]
) -> Iterator[str]:
    """Sentences about contradictions between a notebook source and the contracts of its check file.

    Args:
        assignment: the assignment with the texts of its contracts.
        written: the starter code in the notebook source, by question.
        contracts: those of the check file.
    """
    functions = {question.function: question for question in assignment.questions}
    for contract in contracts:
        question = functions.get(contract.function)
        if question is None:
            yield (
                f"{contract.source.where}: the contract {contract.name} is about {contract.function}, for"
                f" which no question asks; the questions ask for {', '.join(functions)}"
            )
    for question in assignment.questions:
        its = contract_of(question, contracts)
        if its is not None:
            yield from _of_question(question, written[question.id], its)


def _of_question(question: Question, written: str, contract: Contract) -> Iterator[str]:
    definition = ast.parse(written).body[0]
    parameters = _parameters(definition)
    if not parameters:  # a class, or a function without arguments
        return
    where, own = contract.source.where, contract.plan["call"]
    for name in [p for p in parameters if p not in contract.arguments]:
        yield f"{where}: {question.function} takes {name}, which its contract does not declare: add it"
    for name in [g for g in contract.given if g not in parameters and not own]:
        yield (
            f"{where}: the contract gives {name}, and {question.function} takes {', '.join(parameters)}: name"
            " the arguments of the call with given=[...]"
        )
    known = [p for p in parameters if p in contract.arguments]
    for name in [p for p in known if not contract.arguments[p].says]:
        yield f'{where}: {name} has no says="...", so {question.id} cannot say in its docstring what it is'
    if not argument_lines(definition, contract):
        return
    docstring = _docstring(definition)
    if docstring is None:
        return
    body = written.splitlines()[docstring.lineno - 1 : docstring.end_lineno]
    lines = written_lines(body, parameters)
    for name, numbers in lines.items():
        text = " ".join(body[n].strip() for n in numbers)
        said = " ".join(f"{one}: {said_of(contract, one)}." for one in name.split(", "))
        if text != said:
            place = question.place.at(docstring.lineno + numbers[0]) if question.place else question.id
            yield (
                f"{place}: the docstring says '{text}', and the contract '{said}': put what counts into"
                ' says="..." there, and remove the line; `build` writes it'
            )
