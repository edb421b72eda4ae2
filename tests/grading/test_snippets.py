"""A lost point is shown as code, if the sandbox finds the fault in the student's notebook only."""

import re

import pytest
from tiny_course import RIGHT

from grader.contracts.cases import Case, DeclaredCase, Rules
from grader.course.snippet import CaseText
from grader.course.specialize import CannotShowError
from grader.grading import snippets
from grader.grading.probes import probes_of
from grader.reports.feedback import NO_SNIPPET

DTYPES = 'ONCE = Cases(dtypes=["float32"'


def snippets_of(result):
    """The snippets of a result, by the id of their check."""
    checks = [check for question in result["questions"] for check in question["checks"]]
    return {check["id"]: check["snippet"] for check in checks if check["snippet"] is not None}


def page(klass, student, suffix=".md"):
    return (klass.out / "feedback" / student / f"01_tiny{suffix}").read_text(encoding="utf-8")


def test_a_wrong_dtype_is_shown(klass):
    """Result, pages and `explain` have small inputs, the call, and the dtype beside the right one."""
    klass.edit_checks((DTYPES, 'ONCE = Cases(dtypes=["float32", "float64"'))
    klass.hand_in("ada", [RIGHT[0], "def double(x):\n    return (2 * x).float()", RIGHT[2]])
    klass.hand_in("ben", RIGHT)
    klass.grade()
    (text,) = snippets_of(klass.result("ada")).values()
    *inputs, call, last = text.splitlines()
    assert inputs[-1].startswith("x = torch.tensor([") and "float64" in inputs[-1]
    assert call == "out = double(x)"
    assert last == "out.dtype   # yours: torch.float32; it should be torch.float64"
    assert f"```python\n  {call}" in page(klass, "ada") or call in page(klass, "ada")
    assert last in page(klass, "ada", ".html")
    assert last in klass.explain("ada", "01_tiny", "q1").stdout
    assert not snippets_of(klass.result("ben"))


def test_of_wrong_values_only_the_students_are_told(klass):
    """The values of the reference stay secret, and the values of the student's are those of the snippet."""
    klass.hand_in("ada", [RIGHT[0], "def double(x):\n    return 3 * x", RIGHT[2]])
    klass.grade()
    (text,) = snippets_of(klass.result("ada")).values()
    (numbers,) = re.findall(r"x = torch.tensor\(\[(.*)\]\)", text)
    (told,) = re.findall(r"out   # yours: tensor\(\[(.*)\]\), which is wrong", text)
    assert [float(number) for number in told.split(", ")] == pytest.approx(
        [3 * float(number) for number in numbers.split(", ")], abs=1e-3
    )


def test_an_error_stands_at_the_line_that_raised_it(klass):
    """The comment is behind the call, and nothing follows it."""
    klass.hand_in("ada", [RIGHT[0], "def double(x):\n    return x.missing", RIGHT[2]])
    klass.grade()
    (text,) = snippets_of(klass.result("ada")).values()
    _, _, after = text.partition("out = double(x)\n")
    comments = after.splitlines()
    assert all(line.startswith("# ") for line in comments)
    assert comments[0].startswith("# yours: AttributeError: 'Tensor' object has no attribute 'missing'")


def test_a_snippet_that_does_not_show_the_fault_is_not_published(klass):
    """An answer that is right for the snippet's inputs gets a sentence instead."""
    of_tenths = "def double(x):\n    return 2 * x if (10 * x - (10 * x).round()).abs().max() < 1e-4 else x"
    klass.hand_in("ada", [RIGHT[0], of_tenths, RIGHT[2]])  # the numbers of snippets are tenths
    klass.grade()
    assert snippets_of(klass.result("ada")) == {"test_double": ""}
    assert NO_SNIPPET in page(klass, "ada")


def test_what_an_answer_says_is_escaped_and_cut(klass):
    """Markup, fences and lines of a student's error are text on one short line of both pages."""
    text = "</pre><script>alert(1)</script>```\\n# it should be\\n" + "x" * 100_000
    cell = f'def double(x):\n    raise RuntimeError("""{text}""".replace("x", "y"))'
    klass.hand_in("ada", [RIGHT[0], cell, RIGHT[2]])
    klass.grade()
    (snippet,) = snippets_of(klass.result("ada")).values()
    assert len(snippet) < 1_000
    assert sum(line.startswith("# it should be") for line in snippet.splitlines()) == 0
    assert "<script>" not in page(klass, "ada", ".html")
    fences = [line for line in page(klass, "ada").splitlines() if line.strip().startswith("```")]
    assert len(fences) % 2 == 0


def test_snippets_belong_to_the_diagnoses(klass, close_the_lab):
    """They are hidden with the diagnoses, and to show them later runs no student's code."""
    klass.settings("[feedback]\ndiagnoses = false\n")
    klass.hand_in("ada", [RIGHT[0], "def double(x):\n    return 3 * x", RIGHT[2]])
    klass.grade()
    assert "out = double(x)" not in page(klass, "ada")
    close_the_lab()
    klass.settings("")
    klass.grade()
    assert "out = double(x)" in page(klass, "ada")


@pytest.mark.parametrize("ending", ["while True: pass", "import os; os._exit(0)"])
def test_code_that_was_stopped_is_not_run_again(klass, ending):
    """A function that ends its process, or never ends, has no snippet."""
    klass.settings("[limits]\nquestion = 2\n")
    klass.hand_in("ada", [RIGHT[0], f"def double(x):\n    {ending}", RIGHT[2]])
    klass.grade()
    assert not snippets_of(klass.result("ada"))


@pytest.mark.parametrize("broken", ["case_text", "probes_of"])
@pytest.mark.parametrize("error", [RuntimeError("a fault of ours"), RecursionError(), MemoryError()])
def test_a_fault_of_the_graders_costs_only_the_snippet(klass, monkeypatch, broken, error):
    """Scores, messages and exit code are those of a run with snippets, and the run names the fault."""
    klass.hand_in("ada", [RIGHT[0], "def double(x):\n    return 3 * x", RIGHT[2]])
    klass.hand_in("ben", RIGHT)

    def breaks(*_, **__):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(snippets, broken, breaks)
        ended = klass.run("grade", klass.submissions, "--out", klass.out)
    without = klass.result("ada")
    assert ended.exit_code == 0
    (named,) = [line for line in ended.output.splitlines() if "no snippets" in line]
    assert "ada/01_tiny" in named and "ben/01_tiny" not in named and type(error).__name__ in named
    assert not snippets_of(without) and NO_SNIPPET not in page(klass, "ada")
    klass.grade("--force")
    with_snippets = klass.result("ada")
    assert snippets_of(with_snippets)
    for result in (without, with_snippets):
        del result["provenance"]
        for check in (check for question in result["questions"] for check in question["checks"]):
            del check["snippet"]
    assert without == with_snippets


def test_a_case_that_cannot_be_shown_is_no_fault(klass, monkeypatch):
    """The page says that no short example shows it, and the run names nothing."""

    def cannot(*_, **__):
        raise CannotShowError("no short form")

    monkeypatch.setattr(snippets, "case_text", cannot)
    klass.hand_in("ada", [RIGHT[0], "def double(x):\n    return 3 * x", RIGHT[2]])
    assert "no snippets" not in klass.run("grade", klass.submissions, "--out", klass.out).output
    assert page(klass, "ada").count(NO_SNIPPET) == 1


@pytest.mark.parametrize("path", ["x.grad; print('forged')", "x[__import__('os')]", "x\nforged", "x()", "y"])
def test_no_text_of_a_students_process_becomes_code(path):
    """Of the paths that a process sends, only those of arguments and their parts are in a snippet."""

    def check(f):
        raise AssertionError(f)

    def probes(path):
        before, after = ({path: {"kind": "value", "value": value}} for value in (1, 2))
        seen = {"side_effects": {"before": before, "after": after}}
        expected = {"side_effects": {"before": {}, "after": {}}}
        case = Case("f", DeclaredCase({}, {}), Rules(), [], seen, expected)
        return [*probes_of(check, "f", case, text)]

    text = CaseText((), (), ("out = f(x)",), (), {"x": "x"}, {}, {"x": "own"})
    assert not probes(path)
    assert probes("x.part")
