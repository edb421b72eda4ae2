"""Write the lists of words in docs/authoring.md: `python docs/words.py`.

The words of @inside functions come from grader/inside.pyi, those of a check or a contract from docstrings of
`grader`. Headings group them by task.
"""

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import grader
from grader.contracts.cases import SeenCall

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "authoring.md"
DECLARATIONS = ROOT / "grader" / "inside.pyi"
#: One example of each word of `grader` that authors use, grouped by the heading of its list.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "The parts of a contract": (
        'contract("step", {"x": tensor("n k")}, cases=Cases(large=["n"]))',
        'Cases(modes=["on", "off"], sequences=["first", "other"])',
        'Call(gradients="backward", record=["calls"])',
        'Rules(ignore=["w:version"], full_precision=True)',
    ),
    "Arguments of the function": (
        'tensor("n k", "0 k", roles=["leaf"])',
        'data("n k", values=["normal", "zeros"])',
        "number(2, 1, (3, 9))",
        'network("in", "out", frozen=["no"])',
        'optimizer("model", rules=["sgd"])',
        'inputs(lists=["differ", "empty"])',
        'pairs(of="model", faults=["none", "shape"])',
        'target("x", of="model")',
        'own(make, at=["middle", "0"], words={"0": "is 0"})',
    ),
    "Assertions about a case": (
        'assert_same_values(case, "The total is wrong.")',
        'assert_same_gradients(case, because={"nan": "..."})',
        "assert_same_object(case)",
        "assert_same_raised(case)",
        'assert_no_side_effects(case, "Work on a copy.")',
        "assert_memory(case)",
    ),
    "Other assertions and comparisons": (
        'assert_close(seen, expected, "The loss is wrong.")',
        "is_close(seen, expected)",
        'raised(value, RuntimeError, "second time")',
    ),
    "Decorators": ("points(2)", 'cases("mask.*")', "picture(reference=True)"),
}
#: The words of @inside functions by the heading of their list, as `grader/inside.pyi` names them.
INSIDE = {
    "Record state": ("snap", "state", "note"),
    "Call student code": ("attempt", "warned"),
    "Compute gradients": ("gradients", "vjp"),
    "Count graphs": ("mark", "alive"),
    "Draw graphs": ("graph", "graph_at"),
}
_USAGE = re.compile(r"`[^`]+`(?:, `[^`]+`)*: ")
_LIST = re.compile(r"(?:^\* .*\n)+", re.MULTILINE)


def rows_inside(source: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each usage of these words, and its result."""
    found = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    for name in names:
        paragraphs = map(_line, (ast.get_docstring(found[name]) or "").split("\n\n"))
        usages = [(usage[0], one[usage.end() :]) for one in paragraphs if (usage := _USAGE.match(one))]
        yield from ((usage.removesuffix(": "), text) for usage, text in usages)


def rows_of_examples(examples: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield an example of each word, the first sentence about it, and the options that the example lacks."""
    for example in examples:
        call = ast.parse(example, mode="eval").body
        assert isinstance(call, ast.Call)
        word = getattr(grader, ast.unparse(call.func))
        options = {str(one.arg): one for one in call.keywords}
        shown = inspect.signature(word).bind_partial(*call.args, **options).arguments
        more = ", ".join(f"`{option}`" for option in _options(word) if option not in shown)
        decorator = "@" if example in EXAMPLES["Decorators"] else ""
        yield f"`{decorator}{example}`", _first_sentence(word) + (f". Options: {more}" if more else "")


def rows_of_a_call() -> Iterator[tuple[str, str]]:
    """Yield the accessors that a check uses on `case.seen` and `case.expected`."""
    for name, member in vars(SeenCall).items():
        if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member)):
            usage = "" if isinstance(member, property) else f"({', '.join(_required(member)[1:])})"
            yield f"`{name}{usage}`", _first_sentence(member)


def _options(word: object) -> list[str]:
    """Return the names of a word's optional arguments."""
    return [
        name
        for name, one in inspect.signature(word).parameters.items()  # type: ignore[arg-type]
        if one.default is not one.empty and one.kind is not one.POSITIONAL_ONLY
    ]


def _required(word: object) -> list[str]:
    """Return a method's arguments as an author writes them."""
    return [str(one).partition(":")[0] for one in inspect.signature(word).parameters.values()]  # type: ignore[arg-type]


def _first_sentence(word: object) -> str:
    """Return the first sentence of a docstring, to follow a colon."""
    line = _line((inspect.getdoc(word) or "").partition("\n\n")[0])
    return f"{line[:1].lower()}{line[1:]}"


def _line(text: str) -> str:
    """Return a text on one line, with single backquotes and no final period."""
    return " ".join(text.split()).removesuffix(".").replace("``", "`")


def lists() -> dict[str, str]:
    """Return each list of the page by its heading."""
    declared = DECLARATIONS.read_text(encoding="utf-8")
    rows = {title: rows_of_examples(examples) for title, examples in EXAMPLES.items()}
    rows |= {title: rows_inside(declared, names) for title, names in INSIDE.items()}
    rows["Read a call"] = rows_of_a_call()
    return {title: "".join(f"* {word}: {text}\n" for word, text in found) for title, found in rows.items()}


def with_lists(page: str) -> str:
    """Return the page with current lists, each the first one below its heading."""
    for title, text in lists().items():
        found = _LIST.search(page, page.index(f"### {title}\n"))
        assert found is not None
        page = f"{page[: found.start()]}{text}{page[found.end() :]}"
    return page


if __name__ == "__main__":
    PAGE.write_text(with_lists(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
