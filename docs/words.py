"""Write the tables of words in docs/authoring.md: `python docs/words.py`.

The words of @inside functions come from grader/inside.pyi, those of a check or a contract from docstrings of
`grader`, and the levels of an argument from the object that its word returns.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import grader
from grader.contracts.cases import Observation, SeenCall
from grader.course.kinds import Kinds
from grader.course.levels import FACTORS

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "authoring.md"
DECLARATIONS = ROOT / "grader" / "inside.pyi"
#: The words for arguments of a function, each with an argument that it makes.
MADE: dict[str, Kinds] = {
    "tensor": grader.tensor("n k"),
    "data": grader.data("n k"),
    "number": grader.number(1),
    "network": grader.network(),
    "optimizer": grader.optimizer("model"),
    "inputs": grader.inputs(),
    "pairs": grader.pairs(),
    "target": grader.target("x"),
}
#: The three groups of a contract's options.
GROUPS = ("Cases", "Call", "Rules")
OF_A_CONTRACT = {"contract", "own", *MADE, *GROUPS}
_BLIND = "Does not see: "
_USAGE = re.compile(r"`[^`]+`(?:, `[^`]+`)*: ")


def words_inside(source: str) -> Iterator[tuple[str, str]]:
    """Yield each usage of a word and its result; after a word's last usage, also what it does not see."""
    yield "`torch nn F math`", "the real modules"
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            paragraphs = [" ".join(one.split()) for one in (ast.get_docstring(node) or "").split("\n\n")]
            rows = [(usage[0], one[usage.end() :]) for one in paragraphs if (usage := _USAGE.match(one))]
            for number, (usage, text) in enumerate(rows, start=1):
                blind = [one.removeprefix(_BLIND) for one in paragraphs if one.startswith(_BLIND)]
                more = f". *Does not see:* {blind[0].rstrip('.')}" if blind and number == len(rows) else ""
                yield usage.removesuffix(": "), f"{text}{more}".replace("``", "`")


def words_outside() -> Iterator[tuple[str, str]]:
    """Yield the words of a check with their arguments, and the first sentence about each."""
    for name in sorted(set(grader.__all__) - {"__version__", "xray", *OF_A_CONTRACT}):
        word = getattr(grader, name)
        first, _, _ = (inspect.getdoc(word) or "").partition("\n\n")
        text = " ".join(first.split()).removesuffix(".").replace("``", "`")
        yield f"`{name}({', '.join(_arguments(word))})`", text


def words_of_a_contract() -> Iterator[tuple[str, str]]:
    """Yield the words of a contract and, for those that make arguments, their factors and levels."""
    about, _, _ = (inspect.getdoc(grader.contract) or "").partition("\n\n")
    yield (
        "`contract(function, arguments, cases=, call=, rules=)`",
        f"{about.rstrip('.')}; an editor shows all arguments",
    )
    for name in GROUPS:
        group = getattr(grader, name)
        first, _, _ = (inspect.getdoc(group) or "").partition("\n\n")
        yield f"`{name}({', '.join(_arguments(group))})`", first.removesuffix(".")
    for name, made in MADE.items():
        word = getattr(grader, name)
        first, _, _ = (inspect.getdoc(word) or "").partition("\n\n")
        text = " ".join(first.split()).removesuffix(".").replace("``", "`")
        factors = "; ".join(
            f"*{factor}*: {', '.join(map(str, kinds))}{_on_request(made, factor)}"
            for factor, kinds in made.factors.items()
            if factor not in {"shape", "value"}
        )
        yield f"`{name}({', '.join(_arguments(word))})`", f"{text}{f'. {factors}' if factors else ''}"
    own, _, _ = (inspect.getdoc(grader.own) or "").partition("\n\n")
    yield f"`own({', '.join(_arguments(grader.own))})`", own.removesuffix(".").replace("``", "`")


def _on_request(made: Kinds, factor: str) -> str:
    """Return the levels of a factor that a contract has only if its author names them."""
    levels = FACTORS[made.maker][factor].levels if factor in FACTORS[made.maker] else {}
    more = [name for name, level in levels.items() if level.on_request and name not in made.factors[factor]]
    return f" (also {', '.join(more)})" if more else ""


def words_of_a_call() -> Iterator[tuple[str, str]]:
    """Yield what a check reads of `case.seen` and `case.expected`: accessors, then recorded fields."""
    for name, member in vars(SeenCall).items():
        if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member)):
            first, _, _ = (inspect.getdoc(member) or "").partition("\n\n")
            usage = "" if isinstance(member, property) else f"({', '.join(list(_arguments(member))[1:])})"
            yield f"`{name}{usage}`", " ".join(first.split()).removesuffix(".").replace("``", "`")
    attributes = (inspect.getdoc(Observation) or "").partition("Attributes:\n")[2]
    for name, text in re.findall(r"^    (\w+): ((?:.|\n {8})+)", attributes, re.MULTILINE):
        yield f"`observed.{name}`", " ".join(text.split()).removesuffix(".").replace("``", "`")


def _arguments(word: object) -> Iterator[str]:
    """Yield a word's arguments as an author writes them; optional ones end in an equals sign."""
    for name, one in inspect.signature(word).parameters.items():  # type: ignore[arg-type]
        if one.kind is one.VAR_POSITIONAL:
            yield f"*{name}"
        elif one.kind is one.VAR_KEYWORD:
            yield f"**{name}"
        else:
            yield name if one.default is one.empty and one.kind is not one.KEYWORD_ONLY else f"{name}="


def with_tables(page: str) -> str:
    """Return the page with current tables."""
    tables = {
        "words of `grader.inside`": ("returns", words_inside(DECLARATIONS.read_text(encoding="utf-8"))),
        "words of a contract": ("declares", words_of_a_contract()),
        "words of `case.seen` and `case.expected`": ("is", words_of_a_call()),
        "words of `grader`": ("does", words_outside()),
    }
    for title, (column, rows) in tables.items():
        table = "".join(f"| {usage} | {text} |\n" for usage, text in rows)
        head = f"## The {title}\n\n"
        begin = page.index(head) + len(head)
        end = page.index("\n\n", begin) + 1
        page = f"{page[:begin]}| word | {column} |\n|---|---|\n{table}{page[end:]}"
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
