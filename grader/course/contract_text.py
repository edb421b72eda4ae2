"""What students read of a contract: the block "What may come in", and the argument lines of a docstring.

Both follow from the declaration, so that no master has to repeat it. `contract_complaints` tells where a
master and a declaration can differ all the same.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from grader.course.assignment import MAY_COME_IN, Assignment, MasterCell, Question
from grader.course.contract import Contract
from grader.course.kinds import LAYERS_WITH_MODES, MODE_OF_LAYERS, PHRASES, WORDS, Kinds

_FIRST_HINT = re.compile(r"(?m)^<details>\s*<summary>")
_SIZE = re.compile(r"(?P<factor>\d*)(?P<name>[a-z_]\w*)?", re.IGNORECASE)
_BARE_SHAPE = re.compile(r"(?<![`\w])\([^()`]*,[^()`]*\)")
_ARGUMENTS = re.compile(r"(\w+(?:, \w+)*): ")
_LEADING_SHAPE = re.compile(r"\([^()]*\),?\s*")
_DTYPES = {
    "float32": "float32",
    "float64": "float64",
    "bool": "boolean",
    "int64": "integers",
    "long": "integers",
}
_SAYS_A_DTYPE = re.compile(r"\b(float|bool|int|integer|complex)")
_ENDS = {"x", "h"}  # before the es of "mixes" and "reaches"


def with_contracts(assignment: Assignment, contracts: Sequence[Contract]) -> Assignment:
    """The assignment with what its contracts say: in the text of tasks, and in docstrings."""
    by_question = {q.id: of for q in assignment.questions if (of := contract_of(q, contracts)) is not None}
    if not by_question:
        return assignment
    questions = tuple(
        replace(
            question,
            stub=with_arguments(question.stub, by_question[question.id]),
            answer=with_arguments(question.answer, by_question[question.id]),
        )
        if question.id in by_question
        else question
        for question in assignment.questions
    )

    def told(cell: MasterCell) -> MasterCell:
        contract = by_question.get(cell.question or "")
        if contract is None or cell.role not in {"task", "question"}:
            return cell
        tell = with_block if cell.role == "task" else with_arguments
        return replace(cell, source=tell(cell.source, contract))

    return replace(assignment, questions=questions, cells=tuple(map(told, assignment.cells)))


def contract_of(question: Question, contracts: Sequence[Contract]) -> Contract | None:
    """The contract that a question's text follows: that of the function's own name, or else the first."""
    own = [contract for contract in contracts if contract.function == question.function]
    return next((contract for contract in own if contract.name == question.function), next(iter(own), None))


def or_list(words: Sequence[str]) -> str:
    """``a``, ``a or b``, ``a, b or c``."""
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def and_list(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


# --- the block


def with_block(task: str, contract: Contract) -> str:
    """A task's text with the block before its first fold, or at its end."""
    block = f"<details><summary>{MAY_COME_IN}</summary>\n\n{block_of(contract)}\n\n</details>"
    fold = _FIRST_HINT.search(task)
    if fold is None:
        return f"{task.rstrip()}\n\n{block}"
    return f"{task[: fold.start()].rstrip()}\n\n{block}\n\n{task[fold.start() :]}"


def block_of(contract: Contract) -> str:
    """What may come in, as a list in Markdown: a bullet for each argument, and the last about the call."""
    bullets = [f"`{name}`: {_argument(contract, name)}" for name in contract.given]
    return "\n".join(f"- {bullet}" for bullet in [*bullets, *_call(contract)])


def _argument(contract: Contract, name: str) -> str:
    """What an argument is, and sentences about what it may be besides."""
    kinds = contract.arguments[name]
    if kinds.maker == "tensor":
        what = _tensor(kinds, dtypes_of(contract, kinds))
    elif kinds.maker == "number":
        what = _number(kinds)
    elif kinds.maker == "optimizer":
        what = _optimizer(kinds)
    elif kinds.maker == "module":
        what = f"a network that {kinds.says}" if _is_verb(kinds.says) else kinds.says or "a network"
    else:
        what = _with_noun(kinds.says) or _UNSAID.get(kinds.maker, "see the task").format(**kinds.options)
    told: list[str] = []
    for factor, levels in kinds.factors.items():
        told += _phrases(kinds, factor, levels)
        if kinds.maker == "module" and factor == "train" and len(levels) > 1:
            told += _modes_of_layers(contract, name)
    if kinds.tells is not None:
        told = [*filter(None, [kinds.tells])]
    may = [phrase for phrase in told if phrase[0].islower()]
    sentences = [phrase for phrase in told if phrase not in may and not _is_said(phrase, kinds.says)]
    possible = [f"It may {_joined(may)}."] if may else []
    what = _BARE_SHAPE.sub(r"`\g<0>`", what.rstrip("."))
    return " ".join([f"{what}.", *sentences, *_sizes(kinds), *possible])


def _is_said(phrase: str, says: str) -> bool:
    """Whether the author says already what a sentence such as ``It is in eval mode.`` does."""
    return phrase.startswith("It is ") and phrase.removeprefix("It is ").rstrip(".") in says


#: What some arguments are where the author says nothing of them.
_UNSAID = {
    "pairs": "a list of batches `(x, y)`",
    "inputs": "a list of tensors",
    "target": "plain data, of the shape of what the network gives for `{like}`",
}
#: The classes of optimizers, by rule.
_RULES = {"sgd": "SGD", "momentum": "SGD with momentum", "adam": "AdamW"}


def _optimizer(kinds: Kinds) -> str:
    held = and_list([f"`{of}`" for of in kinds.options["of"]])
    rules = or_list([_RULES.get(rule, rule) for rule in kinds.factors["rule"]])
    return f"{kinds.says or f'an optimizer of the parameters of {held}'}: {rules}"


def _is_verb(says: str) -> bool:
    """Whether what is said of a network goes on after "that": ``maps (n, in) to (n, out)``."""
    first = says.partition(" ")[0]
    return first.isalpha() and first.endswith("s")


def _phrases(kinds: Kinds, factor: str, levels: Sequence[Any]) -> Iterator[str]:
    """What is told of a factor: the phrase for all its kinds, or else each unusual kind in words."""
    if factor in _IN_THE_HEAD.get(kinds.maker, ()):
        return
    told = next((text for of, text in PHRASES.get(factor, ()) if of.issuperset(levels)), None)
    if told is not None:
        last = f"`{kinds.options['of'][-1]}`" if factor == "holds" else ""
        yield from filter(None, told.format(last=last).split("; "))
    elif not (factor == "values" and levels[0] not in WORDS):  # else the task says which values there are
        for kind in levels[1:]:
            if kind in kinds.words or kind in WORDS:
                yield _infinitive(kinds.told(factor, kind))


def _modes_of_layers(contract: Contract, name: str) -> Iterator[str]:
    """In which modes the cases have a network's batch norm and dropout, as sentences."""
    architecture = contract.arguments[name].options["like"] or name
    modes: dict[str, set[str]] = {}
    for row in contract.rows:
        case = {**contract.plan["base"], **row}
        layer = LAYERS_WITH_MODES.get(case[f"{architecture}.inside"])
        if layer is not None:
            modes.setdefault(layer, set()).add(MODE_OF_LAYERS[case[f"{name}.train"]])
    by_modes: dict[tuple[str, ...], list[str]] = {}
    for layer in sorted(modes):
        by_modes.setdefault(tuple(sorted(modes[layer], reverse=True)), []).append(layer)
    for where, layers in by_modes.items():
        verb = "may be" if len(where) > 1 else "are always" if len(layers) > 1 else "is always"
        yield f"Its {and_list(layers)} {verb} {or_list([f'in {mode} mode' for mode in where])}."


#: Factors that what an argument is tells already, by maker.
_IN_THE_HEAD = {"tensor": ("shape", "layout"), "number": ("value",), "optimizer": ("rule",)}


def _infinitive(words: str) -> str:
    """``has two rows`` as it follows "may": ``have two rows``."""
    verb, _, rest = words.partition(" ")
    irregular = {"is": "be", "has": "have", "does": "do"}
    base = irregular.get(verb) or (verb[:-2] if verb.endswith("es") and verb[-3:-2] in _ENDS else verb[:-1])
    return f"{base} {rest}"


def _joined(phrases: Sequence[str]) -> str:
    """``be 0 or 1, or have one row``: what begins with the same verb says it once."""
    groups = []
    for verb, group in groupby(sorted(phrases, key=_first_use(phrases)), key=lambda text: text.split(" ")[0]):
        rests = [text.removeprefix(f"{verb} ") for text in group]
        groups.append(f"{verb} {or_list(rests)}")
    comma = "; " if len(groups) > 2 and any(", " in group for group in groups) else ", "
    return groups[0] if len(groups) == 1 else f"{comma.join(groups[:-1])}{comma}or {groups[-1]}"


def _first_use(phrases: Sequence[str]) -> Any:
    """A key by which phrases of the same verb stand together, in the order of the verbs' first use."""
    verbs = list(dict.fromkeys(text.split(" ")[0] for text in phrases))
    return lambda text: verbs.index(text.split(" ")[0])


def _tensor(kinds: Kinds, dtypes: str) -> str:
    """A tensor's shapes, what the author says besides, its dtypes and layouts."""
    all_shapes = kinds.factors["shape"]
    general = [shape for shape in all_shapes if not _is_special(shape, all_shapes)]
    shapes = (
        or_list([*map(_shape, general)]).replace("`, of shape `", "`, `").replace("` or of shape `", "` or `")
    )
    what, more = f"a tensor {shapes}", kinds.says
    if shape := _LEADING_SHAPE.match(kinds.says):  # as the docstring has it, for all shapes at once
        more = kinds.says[shape.end() :]
        if "..." not in shape[0]:
            what = f"a tensor of shape `{shape[0].rstrip(', ')}`"
    elif kinds.says:
        what, more = _with_noun(kinds.says), ""
    layouts = kinds.factors["layout"]
    layout = "contiguous or not" if len(layouts) > 1 else ""
    layout += ", even expanded" if "expanded" in layouts else ""
    return ", ".join(filter(None, [what, more, dtypes, layout]))


def _with_noun(says: str) -> str:
    """``the shape of x`` as a tensor has it."""
    return (
        f"a tensor of {says.removeprefix('of ')}"
        if says.startswith(("the shape", "any shape", "of "))
        else says
    )


def _shape(words: str) -> str:
    """``n 2c`` as students write it: ``of shape `(n, 2 * c)```."""
    if not words:
        return "without dimensions"
    if words[0] == "=":
        return f"of the shape of `{words[1:]}`"
    first, *rest = words.split()
    if first[0] == "*":
        sizes = and_list([f"`{_size(word)}`" for word in rest])
        return f"of the shape of `{first[1:]}` but for the last size, which is {sizes}"
    all_sizes = [_size(word) for word in words.split()]
    return f"of shape `({', '.join(all_sizes)}{',' if len(all_sizes) == 1 else ''})`"


def _size(word: str) -> str:
    found = _SIZE.fullmatch(word)
    if found is None or not found["name"]:
        return word
    return f"{found['factor']} * {found['name']}" if found["factor"] else found["name"]


def _is_special(shape: str, shapes: Sequence[str]) -> bool:
    """Whether a shape only gives sizes of another one a value."""
    return any(_values_in(shape, other) for other in shapes if other != shape)


def _values_in(shape: str, general: str) -> dict[str, int]:
    """The values that a shape gives the sizes of a general one; none where it is of another form."""
    values: dict[str, int] = {}
    words, others = shape.split(), general.split()
    if len(words) != len(others):
        return {}
    for word, other in zip(words, others, strict=True):
        size = _SIZE.fullmatch(other)
        if word == other:
            continue
        if not word.isdigit() or size is None or not size["name"]:
            return {}
        values[size["name"]] = int(word) // int(size["factor"] or 1)
    return values


def _sizes(kinds: Kinds) -> Iterator[str]:
    """Which sizes may be 1 or 0, as sentences."""
    if kinds.maker != "tensor":
        return
    shapes = kinds.factors["shape"]
    if kinds.says and not _LEADING_SHAPE.match(kinds.says):  # the sizes have no names
        special = {"no dimensions": "" in shapes, "no entries": any("0" in shape.split() for shape in shapes)}
        if names := [name for name, holds in special.items() if holds]:
            yield f"It may have {or_list(names)}."
        return
    found: dict[str, set[int]] = {}
    for shape in shapes:
        for general in shapes:
            for name, value in _values_in(shape, general).items() if general != shape else ():
                if value <= 1:
                    found.setdefault(name, set()).add(value)
    names_by_values: dict[tuple[int, ...], list[str]] = {}
    for name, values in found.items():
        names_by_values.setdefault(tuple(sorted(values)), []).append(f"`{name}`")
    for those, names in names_by_values.items():
        yield f"{or_list(names)} may be {or_list([*map(str, those)])}."


def _number(kinds: Kinds) -> str:
    """What is said of a number, and the values that may surprise."""
    values = sorted(value[0] if isinstance(value, tuple) else value for value in kinds.factors["value"])
    if not kinds.says:
        return f"a number, such as {or_list([f'{value:g}' for value in values])}"
    told = {"0": 0 in values and not re.search(r"\b0\b", kinds.says), "negative": values[0] < 0}
    surprising = [word for word, holds in told.items() if holds]
    return kinds.says + (f"; it may be {or_list(surprising)}" if surprising else "")


def dtypes_of(contract: Contract, kinds: Kinds) -> str:
    """The dtypes of a tensor, where they are not only that of the contract's ordinary case."""
    own: str = kinds.options["dtype"]
    if _SAYS_A_DTYPE.search(kinds.says):
        return ""
    if own:
        return _DTYPES.get(own, own)
    dtypes = contract.factors["all.dtype"]
    is_of_its_own = {*kinds.factors["role"]} == {"plain"} and kinds.functions
    return (
        or_list([_DTYPES.get(each, each) for each in dtypes]) if len(dtypes) > 1 and not is_of_its_own else ""
    )


def _call(contract: Contract) -> Iterator[str]:
    """What may be special about the call."""
    turns = {*contract.factors["call.turn"]} - {"first"}
    sentences = []
    if "off" in contract.factors["call.mode"]:
        sentences.append(f"`{contract.function}` may be called under `no_grad()`.")
    if turns:
        values = "with the same or changed values" if turns & {"same", "moved"} else ""
        meanwhile = "while an earlier result is still in use" if contract.plan["result"] else ""
        again = ", ".join(filter(None, (values, meanwhile)))
        sentences.append(f"It may be called again{', ' if values else ' '}{again}".rstrip(" ,") + ".")
    if sentences:
        yield " ".join(sentences).replace("It", f"`{contract.function}`", len(sentences) == 1 and bool(turns))


# --- the docstring


def with_arguments(source: str, contract: Contract) -> str:
    """A question's source, with the lines of its docstring about arguments as the contract has them.

    Nothing changes unless the contract says something of each argument.
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
    mine = {n for of in written_lines(body, names).values() for n in of}
    at = min(mine, default=_behind_summary(body))
    if at == _behind_summary(body) and not mine:
        lines = ["", *lines] if body[at - 1].strip() else lines
    kept = [row for n, row in enumerate(body) if n not in mine and n < at]
    rest = [row for n, row in enumerate(body) if n not in mine and n >= at]
    told = [f"{indent}{line}" if line else "" for line in lines]
    return "\n".join([*rows[: first - 1], *kept, *told, *rest, *rows[last:]])


def argument_lines(definition: ast.stmt, contract: Contract) -> list[str]:
    """A line about each parameter of a function, unless the contract says nothing of one."""
    parameters = _parameters(definition)
    if not parameters or any(
        p not in contract.arguments or not contract.arguments[p].says for p in parameters
    ):
        return []
    return [f"{name}: {said_of(contract, name)}." for name in parameters]


def said_of(contract: Contract, name: str) -> str:
    """What the docstring says of an argument."""
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
    """Where the argument lines of a docstring begin: behind its first paragraph and the blank line there."""
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


# --- where text and declaration can differ


def contract_complaints(
    assignment: Assignment, written: Mapping[str, str], contracts: Sequence[Contract]
) -> Iterator[str]:
    """Sentences on what a master and the contracts of its check file say differently.

    Args:
        assignment: the assignment with what its contracts say.
        written: the stubs as the master has them, by question.
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
        yield f"{where}: {question.function} takes {name}, of which its contract says nothing; declare it"
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
