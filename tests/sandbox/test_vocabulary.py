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
import base64, importlib, json, pathlib, struct, sys

sys.path.insert(0, '')

paths = [path.relative_to("grader") for path in pathlib.Path("grader").rglob("*.py")]
stems = [path.parent if path.stem == "__init__" else path.with_suffix("") for path in paths]
names = {".".join(("grader", *stem.parts)) for stem in stems if stem.name != "__main__"}
beside = {f"grader.student.{name}" for name in ("kernel", "public_tests", "runner_cells", "verdict")}
outside = sorted(n for n in names - beside - {"grader.notebook"} if not f"{n}.".startswith(INSIDE))
for name in outside:
    importlib.import_module(name)

from grader.sandbox.evidence import Answer, Evidence
from grader.grading.judge import judge
from grader.course.assignment import Question
from grader.course.rubric import read_rubric

question = Question("q1", "Double", "double", "def double(x):\\n    return x", "", None)
rubric = read_rubric(pathlib.Path(sys.argv[1]), (question,))
tensor = {"kind": "Tensor", "dtype": "torch.float32", "shape": [1], "value": None, "is_leaf": True,
          "requires_grad": False, "grad_fn": None, "retains_grad": False, "version": 0, "identity": 0,
          "storage": 0, "grad": None}

def evidence(number):
    elements = base64.b64encode(struct.pack("f", number)).decode()
    record = ["list", [["dict", [["result", ["tensor", 0]]]]]]
    facts = {"value": record, "tensors": [{**tensor, "value": elements}]}
    answer = json.dumps({"raised": None, "returned": facts, "changed": [], "patched": []})
    return Evidence({"double": "answered"}, {"doubled": Answer.parse(answer)})

submissions = {"right": evidence(2.0), "wrong": evidence(1.0), "nothing": Evidence({"double": "answered"})}
verdicts = {name: judge(rubric, seen, evidence(2.0)) for name, seen in submissions.items()}
print(json.dumps({
    "imported": outside,
    "verdicts": {name: [found["test_double"].outcome, found["test_double"].message]
                 for name, found in verdicts.items()},
    "foreign": [name for name in sys.modules if f"{name}.".startswith(("torch.", *INSIDE))],
}))
"""

CHECKS = '''
"""Hidden checks that use every kind of word."""

from grader import Call, Cases, assert_same_values, contract, own, points
from grader.inside import F, inside, math, nn, torch


@inside
class Plain(nn.Module):
    def forward(self, x):
        return F.relu(x) * math.pi


@inside
def pi(setup, kind):
    return Plain()(torch.ones(1))


doubled = contract(
    "double",
    {"x": own(pi)},
    name="doubled",
    cases=Cases(dtypes=["float32"], sizes=["differ"], modes=["on"], sequences=["first"]),
    call=Call(gradients="none"),
)


@points(2)
def test_double(doubled):
    """It is twice as much."""
    assert_same_values(doubled, "It is not twice as much.")
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


def test_the_outside_never_imports_torch(tmp_path):
    """After every outside module was imported and a class judged, neither torch nor the worker is there.

    Not outside are the modules that run beside a student's code on the student's own machine.
    """
    check_file = tmp_path / "test_01_tiny.py"
    check_file.write_text(CHECKS.strip() + "\n")
    found = output(OUTSIDE, str(check_file))
    assert {"grader.cli", "grader.sandbox.wire", "grader.grading.judge", "grader.sandbox.zygote"} <= set(
        found["imported"]
    )
    assert found["verdicts"] == {
        "right": ["passed", ""],
        "wrong": ["failed", "It is not twice as much (it is 1/2 of what it should be)."],
        "nothing": ["failed", "This part was not reached."],
    }
    assert found["foreign"] == []
