"""A result explained: how it came about, from what is stored, without running student code."""

import shlex
import shutil

import pytest
from tiny_course import HALF, RIGHT, write_notebook


@pytest.fixture
def graded(klass, close_the_lab):
    """A class that was graded, after which no process can be started that runs students' code."""
    klass.grade(ben=["import torch", "1 / 0", *HALF[1:]])
    close_the_lab()
    return klass


def said(klass, *arguments):
    ended = klass.explain(*arguments)
    assert ended.exit_code == 0, ended.output
    return " ".join(ended.stdout.split())


def refused(klass, *arguments):
    ended = klass.explain(*arguments)
    assert ended.exit_code == 2, ended.output
    return ended.stderr


def test_everything_an_appeal_needs(graded):
    """Who, what, when, the code, the verdicts, the facts on both sides, the checks and the contracts.

    No file changes.
    """
    before = graded.files()
    out = said(graded, "ben", "01_tiny", "--all")
    assert graded.files() == before
    result = graded.result("ben")
    for text in (
        "ben, 01_tiny: 1.5 of 6, graded",
        f"{graded.submissions / 'ben' / '01_tiny.ipynb'} (the same file as was graded)",
        result["provenance"]["notebook_sha256"],
        f"{result['provenance']['graded_at']}, grader {result['provenance']['grader']}, torch",
        result["provenance"]["protection"],
        f"seed {graded.seed('ben')}",
        "Code cell 2 stopped with ZeroDivisionError",
        "judged now the same, check by check",
        "q1 · Double: 0 of 2, answered",
        "counted double of code cell 3",
        "1 def double(x): 2 return x * x",
        "failed: It is twice as much (test_double, 0 of 2) This is not twice as much.",
        "1 of 2 checks passed: 1.5 points.",
        "requires grad>",
        "> differs",
        'made = contract("leaf", {"n": own(length, says="the length")}, name="made", cases=ONCE',
        "def test_requires_grad(made):",
        "Observations of made: above.",
    ):
        assert text in out


def screen_of(klass, *arguments):
    out = klass.explain(*arguments).stdout
    assert len(out.splitlines()) < 24, out
    assert max(map(len, out.splitlines())) <= 80
    return out


def test_what_failed_stands_on_the_first_screen(klass):
    """Whose result, when, which definition counted, each diagnosis with the student's line, and no more."""
    klass.grade(ben=["import torch", "def double(x):\n    y = x + None\n    return y", HALF[2]])
    out = screen_of(klass, "ben", "01_tiny", "q1")
    for text in (
        "ben, 01_tiny: 1.5 of 6, graded\n",
        f"graded  {klass.result('ben')['provenance']['graded_at']}, grader ",
        "\nq1 · Double: 0 of 2, answered\n",
        "counted  double of code cell 2\n",
        "\nfailed: It is twice as much\n",
        "  In `double` (code cell 2), `y = x + None` raised",
        "\n  code cell 2, line 2: y = x + None\n",
        "--all",
    ):
        assert text in out
    assert not [
        more for more in ("passed: It", "Observations of", "contract(", "sha256", "q2 ·") if more in out
    ]
    whole = screen_of(klass, "ben", "01_tiny")
    assert "\nq1 · Double: 0 of 2, answered, code cell 2 counted\nfailed: It is twice as much\n" in whole
    assert "q2 · A leaf" in whole


def test_the_command_for_more_can_be_typed_as_it_is_shown(klass):
    klass.hand_in("Ada Lovelace", HALF)
    klass.grade()
    shown = shlex.split(said(klass, "Ada Lovelace", "01_tiny", "q1").partition("python -m grader ")[2])
    assert shown == ["explain", "Ada Lovelace", "01_tiny", "q1", "--results", str(klass.out), "--all"]
    assert klass.run(*shown).exit_code == 0


def test_of_many_failures_the_first_are_shown(klass):
    checks = "".join(
        f'\n\n@points(1)\ndef test_more_{number}(made):\n    """More."""\n'
        f'    assert made.seen.tensor().requires_grad, "{number} " * 900\n'
        for number in range(10, 40)
    )
    path = klass.course / "tests" / "hidden" / "test_01_tiny.py"
    path.write_text(path.read_text(encoding="utf-8") + checks, encoding="utf-8")
    klass.grade(ben=HALF)
    assert "and 30 more diagnoses" in screen_of(klass, "ben", "01_tiny")
    assert "and 28 more diagnoses" in said(klass, "ben", "01_tiny", "q2")
    assert said(klass, "ben", "01_tiny", "--all").count("failed: More") == 30


def test_of_a_right_answer_it_is_said_that_nothing_failed(klass):
    klass.grade(ada=RIGHT, kim=["import torch", *RIGHT[2:]])
    assert "No check of an answer failed." in said(klass, "ada", "01_tiny")
    assert "unanswered q1 " in said(klass, "kim", "01_tiny")


def test_of_a_named_question_what_failed_comes_first(graded):
    """How the score came about, which definition counted, then its checks, those that failed first."""
    out = said(graded, "ben", "01_tiny", "q2", "--all")
    parts = "sha256", "q2 · A leaf", "score 1 of 2", "counted", "(test_requires_grad, 0", "(test_leaf, 1.5"
    places = [out.index(text) for text in parts]
    assert places == sorted(places)
    assert "q1 · Double" not in out


NOT_LEAF = ("assert made.seen.tensor().is_leaf", "assert not made.seen.tensor().is_leaf")
RENAMED = [("made = ", "created = "), ('name="made"', 'name="created"'), ("(made)", "(created)")]
RENAMED.append(("made.seen", "created.seen"))
REPLAYED = {
    "an assertion": (
        lambda klass: klass.edit_checks(NOT_LEAF),
        [
            "now not the same as what is stored",
            "q2: test_leaf passed -> failed",
            "score: 1.5 of 6, now 0 of 6",
        ],
    ),
    "points": (lambda klass: klass.settings("[points.01_tiny]\nq2 = 8\n"), ["score: 1.5 of 6, now 3 of 10"]),
    "inputs": (
        lambda klass: klass.edit_checks(("randint(3, 9", "randint(4, 9")),
        ["the grader's code have changed since this was graded.", "judged now the same, check by check"],
    ),
    "a contract": (
        lambda klass: klass.edit_checks(*RENAMED),
        ["The current checks need observations that were not made then"],
    ),
    "no reference": (
        lambda klass: shutil.rmtree(klass.out / "reference"),
        ["The expected observations are no longer stored", "result <float32 ("],
    ),
    "spoiled evidence": (
        lambda klass: (klass.out / "evidence" / "ben" / "01_tiny.json").write_text("0\n{"),
        ["What was observed of this notebook is not stored any more", "failed: It is twice as much"],
    ),
}


@pytest.mark.parametrize("changed", REPLAYED)
def test_what_was_observed_is_judged_by_the_checks_of_now(graded, changed):
    """Where that cannot be done, `explain` shows what is stored, and says why."""
    change, told = REPLAYED[changed]
    change(graded)
    out = said(graded, "ben", "01_tiny", "--all")
    assert [text for text in told if text not in out] == []
    assert ("judged now" in out) == (changed in {"an assertion", "points", "inputs"})


def test_another_notebook_at_its_place_is_not_taken_for_the_graded(graded):
    path = graded.submissions / "ben" / "01_tiny.ipynb"
    for change in (lambda: graded.hand_in("ben", RIGHT), path.unlink):
        change()
        out = said(graded, "ben", "01_tiny", "--all")
        assert "missing, unreadable, or another file than was graded" in out
        assert "double of code cell 3" in out
        assert "return x * x" not in out


def test_the_definition_that_counted_is_named(klass):
    decoy = 'notes = """\ndef double(x):\n    return x + x\n"""'
    again = "if True:\n    def double(x):\n        return x * x"
    klass.grade(ben=[*HALF, again, "def double(x):\n    return 2 * x\n)", decoy])
    expected = "counted double of code cell 4; also defined in code cells 2, 5"
    assert expected in said(klass, "ben", "01_tiny", "q1")
    assert f"{expected} code cell 4: 1 if True:" in said(klass, "ben", "01_tiny", "q1", "--all")


def test_nothing_is_longer_than_anybody_reads(klass):
    keys = "def double(x):\n    " + "\t" * 100_000 + "return {'k' * 50_000: x}"
    klass.hand_in("ben", ["import torch", keys])
    for number in range(15):
        name = f"01_tiny ({number}).ipynb"
        write_notebook(klass.submissions / "ben" / name, HALF, modified=1_600_000_000)
    klass.grade()
    out = klass.explain("ben", "01_tiny", "q1", "--all").stdout
    assert max(map(len, out.splitlines())) <= 2_000
    out = " ".join(out.split())
    assert out.count("(another version)") == 10
    assert "superseded and 5 more" in out


def test_errors_and_what_was_not_answered_are_explained(klass):
    klass.hand_in("dara", RIGHT).write_text("no notebook", encoding="utf-8")
    write_notebook(klass.submissions / "jun" / "homework.ipynb", ["x = 1"])
    klass.grade(kim=["import torch", *RIGHT[2:]])
    out = said(klass, "dara", "01_tiny")
    assert "01_tiny.ipynb is not a notebook" in out
    assert "each check failed for this reason" in out
    assert "homework.ipynb is not an assignment of this course" in said(klass, "jun", "homework")
    out = said(klass, "kim", "01_tiny", "q1")
    assert "q1 · Double: 0 of 2, missing" in out
    assert "reason No cell of this notebook defines double" in out


def test_names_that_are_not_known_get_the_nearest(graded):
    assert "bne is not a student of this class: did you mean ben?" in refused(graded, "bne", "01_tiny")
    assert "no result of ben for 01_tine; there is 01_tiny" in refused(graded, "ben", "01_tine")
    assert "../zoe is not a student of this class: there is ben" in refused(graded, "../zoe", "01_tiny")
    assert "no question q7; did you mean q" in refused(graded, "ben", "01_tiny", "q7")


def test_results_that_are_missing_or_spoiled_are_named(klass):
    told = refused(klass, "ada", "01_tiny")
    assert "holds no results: grade first, or name their folder by --results" in told
    klass.grade(ada=RIGHT)
    (klass.out / "submissions" / "ada" / "01_tiny.json").write_text("[]", encoding="utf-8")
    assert "is spoiled: run the same `grade` again" in refused(klass, "ada", "01_tiny")
