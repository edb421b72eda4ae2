"""What authors of questions do by mistake is told once, with file and line: what happened, and what to do."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_course import ANSWERS, CHECKS, SOURCE, write_course

from grader.course.course import Course
from grader.course.rubric import left_in
from grader.doctor import examine as doctor
from grader.doctor.known_answers import answers_of, read_answers
from grader.errors import CourseError

FILES = {
    "master": ("solutions/01_tiny.py", SOURCE),
    "checks": ("tests/hidden/test_01_tiny.py", CHECKS),
    "answers": ("tests/answers/01_tiny.py", ANSWERS),
    "inside": ("tests/hidden/inside.py", '"""Helpers."""\n'),
}
HELPER = "from grader.inside import inside, torch\n\n\n@inside\ndef some(n)\n    return torch.randn(n)\n"
IN_A_CLASS = ("@points(3)\ndef test_leaf(made):", "class TestLeaf:\n  def test_leaf(self, made):")
EDITS = 'wrong_edits("q1", {\n    "computed": ("2", "3", "Thrice is taken for twice."),\n})\n\n\n'
TORCH = "from grader.inside import inside, torch"
DRAWN = "    return torch.randint(3, 9, ()).item()"
LENGTH = '{"n": own(length, says="the length")}'
MADE = f'made = contract("leaf", {LENGTH}, name="made", cases=ONCE, call=VALUES)\n'

LEAF = 'made.seen.tensor().is_leaf, "This is not a leaf."'
PICTURE = '@picture\ndef shown(student):\n    """The leaf."""\n    return {}\n'
DRAWS = f"{TORCH}, graph\nfrom grader import picture"


#: How the sentence begins that is told; then the file, what is right, and what was written in its place.
READ = {
    "master, line 16, q1: in the starter code, this is not valid Python (invalid syntax): `return x +`.": [
        ("master", "    # return x\n", "    # return x +\n")
    ],
    "master, line 14, q1: in the answer, this is not valid Python (invalid syntax): `return 2 *`.": [
        ("master", "    return 2 * x\n", "    return 2 *\n")
    ],
    "master, line 22, q1: in the check cell, this is not valid Python ('(' was never closed)": [
        ("master", "assert double(2) == 4, ", "assert double(2 == 4, ")
    ],
    "master, line 5: this is not valid Python (invalid syntax): `import torch as`.": [
        ("master", "# %%\nimport torch", "# %%\nimport torch as")
    ],
    "checks, line 27: this is not valid Python (expected ':'): `def test_leaf(made)`": [
        ("checks", "def test_leaf(made):", "def test_leaf(made)")
    ],
    "answers, line 21: this is not valid Python (expected ':'): `def computed(n)`": [
        ("answers", "def computed(n):", "def computed(n)")
    ],
    "inside, line 5: this is not valid Python (expected ':'): `def some(n)`": [
        ("inside", '"""Helpers."""\n', HELPER)
    ],
    "master is not UTF-8 (line 12): save it as UTF-8": [("master", "Twice x", b"Twice x\xff")],
    "checks is not UTF-8 (line 22): save it as UTF-8": [("checks", "twice as", b"twic\xe9 as")],
    "answers is not UTF-8 (line 10): save it as UTF-8": [("answers", "Twice is once", b"Twice is onc\xe9")],
    "checks begins with a byte order mark: save it as UTF-8 without one": [
        ("checks", '"""Hidden', '\ufeff"""Hidden')
    ],
    "master, line 16, q1: `# END SOLUTION` follows `# BEGIN SOLUTION`; write BEGIN SOLUTION,": [
        ("master", "    # STUB\n    # return x\n", "    # return x\n")
    ],
    "master, line 16, q1: the line `return x` of the starter code is not commented out; start it with": [
        ("master", "    # return x\n", "    return x\n")
    ],
    "master, line 10: the tags ['quesiton q1'] of this cell mean nothing here; write": [
        ("master", 'tags=["question q1"]', 'tags=["quesiton q1"]')
    ],
    "master, line 28, q2: `double` is what q1 asks for already; give it another name.": [
        ("master", 'def leaf(n):\n    """A', 'def double(n):\n    """A'),
        ("master", "def test_leaf(leaf)", "def test_leaf(double)"),
    ],
    "master, line 20, q1, test_double: its one parameter must be `double`; Otter passes it": [
        ("master", "def test_double(double):", "def test_double(duble):")
    ],
    "checks, line 4: `import torch`: checks run without torch; write `from grader.inside imp": [
        ("checks", TORCH, "import torch")
    ],
    "checks, line 4: ImportError: cannot import name 'snp' from 'grader.inside'": [
        ("checks", TORCH, "from grader.inside import inside, snp, torch")
    ],
    "checks, line 14: length uses np, which does not travel to the worker: inside there is only what": [
        ("checks", DRAWN, "    return np.int64(3)"),
        ("checks", TORCH, f"import numpy as np\n{TORCH}"),
    ],
    "checks, line 17: contract made names no question; say which it belongs to": [
        ("checks", MADE, MADE.replace('"leaf"', '"laef"'))
    ],
    "checks, line 24: shown asks for student.laef, which no question and no other cell of the note": [
        ("checks", MADE, f"{MADE}\n\n{PICTURE.format('student.laef(3)')}"),
        ("checks", TORCH, DRAWS),
    ],
    "checks, line 13: length uses torhc, which does not travel to the worker: it is defined nowhere,": [
        ("checks", "torch.randint", "torhc.randint")
    ],
    "checks, line 17: length uses three, which does not travel to the worker: make it a local, or mark i": [
        ("checks", DRAWN, "    return three()"),
        ("checks", TORCH, f"{TORCH}\n\n\ndef three():\n    return 3"),
    ],
    "checks, line 21: length is defined in line 11 already, and would replace it; rename": [
        ("checks", "@points(2)", "@inside\ndef length(n):\n    return n\n\n\n@points(2)")
    ],
    "checks, line 33: test_leaf is defined in line 27 already, and would replace it;": [
        ("checks", "def test_requires_grad", "def test_leaf")
    ],
    "answers, line 26: two answers are called plain, this one to q2 and one to q2 in line 20; give": [
        ("answers", "def computed", "def plain")
    ],
    "answers, line 25: two answers are called computed, this one to q2 and one to q1 in line 21; give": [
        ("answers", '@wrong("q2")', EDITS + '@wrong("q2")')
    ],
    "checks, line 18: no check takes the contract idle; remove it or use it": [
        ("checks", MADE, f"{MADE}{MADE.replace('made', 'idle')}")
    ],
    "checks, line 26: test_leaf takes no contract: a check takes one contract of this file": [
        ("checks", "def test_leaf(made):", "def test_leaf():")
    ],
    "checks, line 26: test_leaf takes maed; did you mean made?; take a contract of this": [
        ("checks", "def test_leaf(made):", "def test_leaf(maed):")
    ],
    "checks, line 27: leaf_test takes a contract, and no check": [
        ("checks", "def test_leaf(", "def leaf_test(")
    ],
    "checks, line 27: test_leaf is in the class TestLeaf: make it a function": [("checks", *IN_A_CLASS)],
    "checks, line 26: test_leaf has the decorator @pytest.mark.skip: a check has only": [
        ("checks", "@points(3)", '@pytest.mark.skip(reason="later")\n@points(3)')
    ],
    "checks, line 26: idle is a fixture: a check takes a contract and nothing else": [
        ("checks", "@points(3)", "@pytest.fixture\ndef idle():\n    return 1\n\n\n@points(3)")
    ],
    "checks, line 26: test_leaf takes tmp_path; there is doubled, made; take a contract": [
        ("checks", "def test_leaf(made):", "def test_leaf(made, tmp_path):")
    ],
    "checks, line 29: this assert has no message; a student reads it": [
        ("checks", 'is_leaf, "This is not a leaf."', "is_leaf")
    ],
    "checks, line 29: this assert has no message; a student reads it. In parentheses with its message": [
        ("checks", LEAF, f"({LEAF})")
    ],
    "checks, line 29: `made.seen.tensor().is_leaf == True` decides nothing: write assert, and a": [
        ("checks", f"assert {LEAF}", "made.seen.tensor().is_leaf == True")
    ],
    "checks, line 29: made.sen: a case has seen and expected; did you mean seen?": [
        ("checks", "made.seen.tensor().is_leaf", "made.sen.tensor().is_leaf")
    ],
    "checks, line 26: test_leaf has no docstring: its first line is the title": [
        ("checks", '    """It is a leaf."""\n', "")
    ],
    "checks, line 26: test_leaf has a hint of 1199 characters; students read 1000": [
        ("checks", '"""It is a leaf."""', f'"""It is a leaf.\n\n    {"why " * 300}"""')
    ],
    "checks, line 26: @points('three'): a check is worth a number of points, more": [
        ("checks", "@points(3)", '@points("three")')
    ],
    "checks, line 26: write @points(2): a check is worth a number": [("checks", "@points(3)", "@points")],
}


SAME = '    assert_same_values(doubled, "This is not twice as much.")'

#: The same for what is found out only by running the reference, the stub and the answers.
TRIED = {
    "test_leaf broke: checks, line 30: AttributeError: 'Tensor' object has no attribute 'isleaf'; w": [
        ("checks", "    assert made.seen.tensor().is_leaf", "    w = made.seen.tensor()\n    assert w.isleaf")
    ],
    "checks, line 14: length, called by contract made, fails on the reference with RuntimeError: The": [
        ("checks", DRAWN, "    x = torch.randn(5)\n    return x + torch.randn(6)")
    ],
    "checks, line 13: added, called by contract made, fails on the reference with RuntimeError: The": [
        ("checks", DRAWN, "    return added(torch.randn(6))"),
        (
            "checks",
            "@inside\n",
            "@inside\ndef added(y):\n    x = torch.randn(5)\n    return x + y\n@inside\n",
        ),
    ],
    "checks: test_double: the reference raises an error. Typical: In `double` (code cell 2),": [
        ("master", "    return 2 * x", "    return 2 * y")
    ],
    "master, line 11: a cell of the reference stopped with NameError: name 'two' is not defined": [
        ("master", "def double(x):", "def double(x, factor=two):")
    ],
    "checks, line 17: contract made draws nothing at random, so an answer can predict the observations": [
        ("checks", DRAWN, "    return 3")
    ],
    "master, line 11, q1: the starter code passes every hidden check. Add the": [
        ("master", "    # return x\n", "    # return x + x\n")
    ],
    "master, line 11, q1: the starter code does not run: In `double` (code cell 2), `return xx` raised": [
        ("master", "    # return x\n", "    # return xx\n")
    ],
    "master, line 11, q1: the starter code passes its public": [
        ("master", "double(2) == 4", "double(2) > 1")
    ],
    "checks, line 24: picture shown fails on the reference with RuntimeError: The size of tensor a (3)": [
        ("checks", MADE, f"{MADE}\n\n{PICTURE.format('graph(y=student.leaf(3) + torch.ones(4))')}"),
        ("checks", TORCH, DRAWS),
    ],
    "checks, line 22: picture shown shows no graph of the reference: return graph(name=tensor, ...)": [
        ("checks", MADE, f"{MADE}\n\n{PICTURE.format('student.leaf(3)')}"),
        ("checks", TORCH, DRAWS),
    ],
}


@pytest.fixture
def course(tmp_path):
    def written(*mistakes):
        root = write_course(tmp_path / "course")
        (root / FILES["inside"][0]).write_text(FILES["inside"][1], encoding="utf-8")
        checks = root / FILES["checks"][0]
        checks.write_text(CHECKS.replace(TORCH, f"{TORCH}\nfrom inside import *"), encoding="utf-8")
        for file, old, new in mistakes:
            path = root / FILES[file][0]
            before = path.read_bytes()
            assert before.count(old.encode()) >= 1
            path.write_bytes(before.replace(old.encode(), new if isinstance(new, bytes) else new.encode(), 1))
        for name in ("test_01_tiny", "inside"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return Course.find(root)

    places = [*sys.path]
    yield written
    sys.path[:] = places


def read_all(course):
    """What `build` and `grade` read, and what the doctor reads besides."""
    _ = course.all_points()
    functions = {question.id: question.function for question in course.assignments["01_tiny"].questions}
    read_answers(course.answers_file("01_tiny"), functions)


def test_the_course_without_mistakes_is_read(course):
    read_all(course())


@pytest.mark.parametrize("said", READ)
def test_a_mistake_is_told_when_its_file_is_read(course, said):
    """One sentence, which begins with the file and the line, before anything is run."""
    made = course(*READ[said])
    with pytest.raises(CourseError) as refused:
        read_all(made)
    told = str(refused.value)
    assert told.startswith(with_paths(made.root, said))
    assert "\n" not in told


def test_a_name_that_another_question_has_is_told_where_one_question_is_read(course):
    """Or `doctor --question q1 --accept` would write the list of one into the other."""
    made = course(("answers", "def squared", "def plain"))
    with pytest.raises(CourseError, match="two answers are called plain, this one to q2 and one to q1"):
        answers_of(made, "01_tiny", "q1")


def test_all_mistakes_of_a_check_file_are_told_at_once(course):
    made = course(
        ("checks", 'is_leaf, "This is not a leaf."', "is_leaf"),
        ("checks", SAME, "    assert doubled.wanted, 'No.'"),
        ("checks", "@points(1)", "@pytest.mark.xfail"),
    )
    with pytest.raises(CourseError) as refused:
        read_all(made)
    lines = [line.partition(", line ")[2].partition(":")[0] for line in str(refused.value).splitlines()]
    assert lines == ["23", "29", "32"]


def with_paths(root, said):
    """A sentence of the tables, with the path of the file it names."""
    for file, (path, _) in FILES.items():
        said = re.sub(rf"(^|: ){file}(?=, line | is | begins |: test_)", rf"\1{root}/{path}", said, count=1)
    return said


@pytest.mark.parametrize("said", TRIED)
def test_a_mistake_is_told_once_when_it_is_tried(course, shared_zygote, said):
    made = course(*TRIED[said])
    try:
        (found, *_) = doctor.examine(made, ["01_tiny"], jobs=2, seeds=(1, 2))
        told = found.complaints
    except CourseError as refused:
        told = str(refused).splitlines()
    expected = with_paths(made.root, said)
    assert [sentence[: len(expected)] for sentence in told] == [expected]


def test_what_was_left_in_is_told(course):
    """A print of a check or an @inside function helped its author, and helps nobody else."""
    made = course(
        ("checks", f"    assert {LEAF}", f"    print(made.seen)\n    assert {LEAF}"),
        ("checks", DRAWN, f"    print(3)\n{DRAWN}"),
    )
    path = made.check_file("01_tiny")
    lines = [f"{path}, line {line}: remove print, because its output is never shown" for line in (13, 30)]
    assert left_in(path) == lines
    assert left_in(made.answers_file("01_tiny")) == []


def test_functions_that_two_assignments_ask_for_are_told():
    """A notebook that was renamed is recognised by its functions."""
    functions = {"01_a": ["step", "loss"], "02_b": ["loss"], "03_c": ["other"]}
    (told,) = doctor.shared_functions(functions)
    assert told.startswith("solutions/01_a.py and solutions/02_b.py both define loss, so the grader cannot")


def by_hand(course):
    """What pytest prints about the checks of a course, started by its author."""
    plugin = ["-p", "grader.grading.plugin"]
    command = [sys.executable, "-m", "pytest", "-q", *plugin, "tests/hidden/test_01_tiny.py"]
    here = {**os.environ, "PYTHONPATH": str(Path(doctor.__file__).parents[2])}
    return subprocess.run(
        command, cwd=course.root, env=here, capture_output=True, text=True, check=False
    ).stdout


@pytest.mark.long
def test_pytest_by_hand_tells_the_same(course):
    """A contract that fails and a check that breaks are told as by the doctor, without our traceback."""
    adding = ("checks", DRAWN, "    return torch.ones(3) + torch.ones(5)")
    broken = '    found = doubled.seen.entry()\n    assert found["y"], "No."'
    made = course(adding, ("checks", SAME, broken))
    told = by_hand(made)
    path = made.check_file("01_tiny")
    assert "found is a tensor, whose numbers are in found.value" in told
    said = "length, called by contract made, fails on the reference with RuntimeError: The size of"
    assert told.count(f"\n{path}, line 13: {said}") == 2
    assert "Traceback" not in told
    assert "handling of the above" not in told


def test_pytest_by_hand_tells_once_what_is_refused(course):
    made = course(("checks", "made.seen.tensor()", "made.sen.tensor()"))
    told = by_hand(made)
    path = made.check_file("01_tiny")
    assert told.count(f"\n{path}, line 29: made.sen: a case has seen and expected;") == 1
    assert "rubric.py" not in told
