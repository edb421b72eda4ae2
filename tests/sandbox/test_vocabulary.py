"""Both sides of the border speak the same words, and neither imports what belongs to the other."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from grader import inside
from grader.course import inside_source
from grader.sandbox.decoding import NOTICED
from grader.sandbox.zygote import PACKAGES_WITHOUT_INIT

ROOT = Path(__file__).parents[2]
PACKAGES = ("runtime", "sandbox/worker")
INSIDE = f"""{PACKAGES_WITHOUT_INIT}
import importlib, inspect, json, pathlib
for package in {PACKAGES}:
    for path in sorted(pathlib.Path("grader", package).glob("*.py")):
        importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
"""
INSIDE += """
from grader.runtime import audit, kinds, vocabulary
import torch, math
words = vocabulary.WORDS
# These are objects of C, which show nothing of what they call.
called = {"note": kinds._note}
print(json.dumps({
    "words": sorted(words),
    "files": sorted(str(m.__file__) for n, m in sys.modules.items()
                    if n.partition(".")[0] == "grader" and hasattr(m, "__file__")),
    "real": [words["torch"] is torch, words["nn"] is torch.nn, words["F"] is torch.nn.functional,
             words["math"] is math],
    "parameters": {name: [[one.name, one.kind.name]
                          for one in inspect.signature(called.get(name, word)).parameters.values()]
                   for name, word in words.items() if callable(word)},
    "callable": sorted(name for name, word in words.items() if callable(word)),
    "noticed": [*audit._EVENTS.values(), *audit._ATTRIBUTES.values()],
}))
"""

OUTSIDE = """
INSIDE = ("grader.runtime.", "grader.sandbox.worker.")
import importlib, json, pathlib, sys

sys.path.insert(0, '')

paths = [path.relative_to("grader") for path in pathlib.Path("grader").rglob("*.py")]
stems = [path.parent if path.stem == "__init__" else path.with_suffix("") for path in paths]
names = {".".join(("grader", *stem.parts)) for stem in stems if stem.name != "__main__"}
beside = {f"grader.student.{name}" for name in ("kernel", "public_tests", "runner_cells", "verdict")}
outside = sorted(n for n in names - beside - {"grader.notebook"} if not f"{n}.".startswith(INSIDE))
for name in outside:
    importlib.import_module(name)

from grader.course.course import Course

course = Course.find()
checks = [check.id for stem in course.stems for check in course.rubric(stem).checks]
print(json.dumps({
    "imported": outside,
    "checks": len(checks),
    "foreign": [name for name in sys.modules if f"{name}.".startswith(("torch.", *INSIDE))],
}))
"""


def output(program: str) -> dict:
    """What a program prints as JSON, run by a fresh interpreter in the project's folder."""
    ended = subprocess.run(
        [sys.executable, "-B", "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.fixture(scope="module")
def worker():
    """What a worker says about its words."""
    return output(INSIDE)


def test_the_worker_offers_exactly_the_vocabulary(worker):
    """The worker has each word of grader.inside, the real thing, no other word, and imports nothing else."""
    assert worker["words"] == sorted(inside_source.VOCABULARY)
    assert worker["real"] == [True] * 4
    assert set(worker["words"]) - set(worker["callable"]) == {"torch", "nn", "F", "math"}
    assert worker["files"]
    assert all("/runtime/" in file or "/sandbox/worker/" in file for file in worker["files"])


def test_each_word_for_what_a_worker_notices_is_known_outside(worker):
    """What a worker notices arrives as what it is, and not as something that others wrote."""
    assert worker["noticed"]
    assert {*worker["noticed"]} <= NOTICED


def test_an_editor_is_told_the_words_of_the_worker(worker):
    """`grader/inside.pyi` has each word, with the arguments that it takes inside."""
    stub = ast.parse((ROOT / "grader" / "inside.pyi").read_text(encoding="utf-8"))
    functions = [node for node in stub.body if isinstance(node, ast.FunctionDef) and node.name != "inside"]
    told = {node.name: _parameters(node.args) for node in functions}
    assert told == worker["parameters"]
    assert all(ast.get_docstring(node) for node in functions)


def _parameters(arguments: ast.arguments) -> list[list[str]]:
    """Names and kinds, as `inspect` tells them."""
    stars = [(arguments.vararg, "VAR_POSITIONAL"), (arguments.kwarg, "VAR_KEYWORD")]
    several, named = ([[one.arg, kind]] if one else [] for one, kind in stars)
    plain = [[one.arg, "POSITIONAL_OR_KEYWORD"] for one in arguments.args]
    return [*plain, *several, *([one.arg, "KEYWORD_ONLY"] for one in arguments.kwonlyargs), *named]


def test_every_word_has_a_placeholder():
    """Each word of the vocabulary can be imported outside, under its own name, and no other can."""
    kind = inside_source.Placeholder
    placeholders = {name: word for name, word in vars(inside).items() if isinstance(word, kind)}
    assert list(placeholders) == list(inside_source.VOCABULARY)
    assert {name: repr(word) for name, word in placeholders.items()} == {
        name: f"<{name}, inside the worker>" for name in inside_source.VOCABULARY
    }


def test_the_outside_never_imports_torch():
    """After every outside module and check file was imported, neither torch nor the worker is there.

    Not outside are the modules that run beside a student's code on the student's own machine.
    """
    found = output(OUTSIDE)
    assert {"grader.cli", "grader.sandbox.wire", "grader.sandbox.zygote"} <= set(found["imported"])
    assert found["checks"]
    assert found["foreign"] == []
