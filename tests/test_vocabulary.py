"""Both sides of the border speak the same words, and neither imports what belongs to the other."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from grader import inside, vocabulary

ROOT = Path(__file__).parent.parent
WORKER = sorted((ROOT / "grader" / "worker").glob("*.py"))

INSIDE = """
import importlib, json, pathlib, sys

package = pathlib.Path("grader").resolve()
elsewhere = [place for place in sys.path if place and pathlib.Path(place) != package.parent]
sys.path[:] = [str(package), *elsewhere]
for path in sorted((package / "worker").glob("*.py")):
    importlib.import_module("worker" if path.stem == "__init__" else f"worker.{path.stem}")
from worker import toolbox
import torch, math
words = toolbox.WORDS
print(json.dumps({
    "words": sorted(words),
    "grader": sorted(name for name in sys.modules if name.partition(".")[0] == "grader"),
    "real": [words["torch"] is torch, words["nn"] is torch.nn, words["F"] is torch.nn.functional,
             words["math"] is math],
    "callable": sorted(name for name, word in words.items() if callable(word)),
}))
"""

OUTSIDE = """
import importlib, json, pathlib, pkgutil, sys

import grader

names = [module.name for module in pkgutil.iter_modules(grader.__path__, "grader.")]
outside = [name for name in names if name not in ("grader.worker", "grader.__main__")]
for name in outside:
    importlib.import_module(name)

from grader.evidence import Evidence
from grader.judge import judge
from grader.question import Question
from grader.rubric import read_rubric

question = Question("q1", "Double", "double", "def double(x):\\n    return x", "", None)
rubric = read_rubric(pathlib.Path(sys.argv[1]), (question,))
tensor = {"kind": "Tensor", "dtype": "torch.float32", "shape": [1], "value": [2.0], "is_leaf": True,
          "requires_grad": False, "grad_fn": None, "retains_grad": False, "version": 0, "identity": 0,
          "storage": 0, "grad": None}

def evidence(number):
    facts = {"value": ["tensor", 0], "tensors": [{**tensor, "value": [number]}]}
    return Evidence({"double": "answered"}, {"doubled": {"facts": facts}})

submissions = {"right": evidence(2.0), "wrong": evidence(1.0), "nothing": Evidence({"double": "answered"})}
verdicts = judge(rubric, submissions, evidence(2.0))
print(json.dumps({
    "imported": outside,
    "verdicts": {name: [found["test_double"].outcome, found["test_double"].message]
                 for name, found in verdicts.items()},
    "foreign": [name for name in sys.modules if name.startswith(("torch", "worker", "grader.worker"))],
}))
"""

CHECKS = '''
"""Hidden checks that use every kind of word."""

from grader import assert_close, points, probe
from grader.inside import F, inside, math, nn, torch


@inside
class Plain(nn.Module):
    def forward(self, x):
        return F.relu(x) * math.pi


@probe
def doubled(student):
    return student.double(Plain()(torch.ones(1)))


@points(2)
def test_double(doubled):
    """It is twice as much."""
    assert_close(doubled.seen, doubled.expected, "It is not twice as much.")
'''


def output(program: str, *arguments: str) -> dict:
    """What a program prints as JSON, run by a fresh interpreter in the project's folder."""
    ended = subprocess.run(
        [sys.executable, "-B", "-c", program, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_the_worker_offers_exactly_the_vocabulary():
    """The worker has each word of grader.inside, the real thing, no other word, and nothing of the grader."""
    found = output(INSIDE)
    assert found["words"] == sorted(vocabulary.VOCABULARY)
    assert found["real"] == [True] * 4
    assert set(found["words"]) - set(found["callable"]) == {"torch", "nn", "F", "math"}
    assert found["grader"] == []


def test_every_word_has_a_placeholder():
    """Each word of the vocabulary can be imported outside, under its own name, and no other can."""
    kind = vocabulary.Placeholder
    placeholders = {name: word for name, word in vars(inside).items() if isinstance(word, kind)}
    assert list(placeholders) == list(vocabulary.VOCABULARY)
    assert {name: repr(word) for name, word in placeholders.items()} == {
        name: f"<{name}, inside the worker>" for name in vocabulary.VOCABULARY
    }
    assert all(explained.strip() for explained in vocabulary.VOCABULARY.values())


FORBIDDEN = {"torch", "pickle", "marshal", "shelve", "dill", "cloudpickle", "execnet"}


def imports(path: Path, without: str = "") -> list[tuple[int, str]]:
    """Everything a module imports anywhere in it but for one line, as (level, module)."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text.replace(without, "") if without else text)
    found = [
        (0, alias.name) for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    ]
    return found + [
        (node.level, node.module or "") for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
    ]


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in WORKER])
def test_the_worker_imports_nothing_else_of_the_package(path):
    """A module of the worker imports its neighbours relatively, and never anything of the grader."""
    for level, module in imports(path):
        assert level <= 1
        assert level == 1 or module.partition(".")[0] not in {"grader", "worker"}
        if level == 1 and module:
            assert (path.parent / f"{module}.py").is_file()


def test_the_outside_never_imports_torch(tmp_path):
    """After every outside module was imported and a class judged, neither torch nor the worker is there."""
    check_file = tmp_path / "test_01_tiny.py"
    check_file.write_text(CHECKS.strip() + "\n")
    found = output(OUTSIDE, str(check_file))
    assert {"grader.cli", "grader.wire", "grader.judge", "grader.zygote"} <= set(found["imported"])
    assert len(found["imported"]) >= len([*(ROOT / "grader").glob("*.py")]) - 2
    assert found["verdicts"] == {
        "right": ["passed", None],
        "wrong": ["failed", "It is not twice as much."],
        "nothing": ["failed", "This part was not reached."],
    }
    assert found["foreign"] == []


@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem) for p in sorted((ROOT / "grader").glob("*.py"))])
def test_no_outside_module_names_what_is_forbidden(path):
    """No module outside imports torch, a reader of pickles or the worker, at the top or in a function.

    The probes are sent as code, which takes marshal's writer. On a student's machine there is no border: an
    X-ray reads the graph there, and imports the reader (hence torch) when it is asked to.
    """
    writer = "from marshal import dumps\n"
    reader = "from grader.worker.graph import graph" if path.stem == "xray" else ""
    assert (writer in path.read_text(encoding="utf-8")) is (path.stem == "observer")
    for level, module in imports(path, without=reader or writer):
        assert level == 0
        assert module.partition(".")[0] not in FORBIDDEN
        assert not module.startswith("grader.worker")


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem) for p in [*sorted((ROOT / "grader").glob("*.py")), *WORKER]]
)
def test_a_module_says_where_it_runs(path):
    """Each module's docstring says first on which side of the border it runs."""
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    outside = "On a student's machine: " if path.stem == "xray" else "Outside: "
    assert said.startswith("Inside" if path in WORKER else outside), said[:40]
