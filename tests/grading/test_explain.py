"""A result explained: how it came about, from what is stored, without running student code."""

import re
import shlex

import pytest
from tiny_course import HALF, RIGHT, edit, write_notebook


def test_what_the_stub_passes_is_said(klass):
    """The sum shows what a check was not worth, and judging again comes to the same."""
    edit(klass.course / "solutions/01_tiny.py", "    # return n\n", "    # return torch.zeros(n)\n")
    klass.grade(ben=HALF)
    out = said(klass, "ben", "01_tiny", "q2", "--all")
    assert "1 of 2 checks passed: 0 points. A check earns nothing while another" in out
    assert "judged now the same, check by check" in out


@pytest.fixture
def graded(klass, close_the_lab):
    """A class that was graded, after which no process can be started that runs students' code."""
    klass.grade(ben=["import torch", "1 / 0", *HALF[1:]])
    close_the_lab()
    return klass


def said(klass, *arguments):
    """What `explain` says, with the lines of each paragraph joined."""
    ended = klass.explain(*arguments)
    assert ended.exit_code == 0, ended.output
    return " ".join(ended.stdout.split())


def refused(klass, *arguments):
    ended = klass.explain(*arguments)
    assert ended.exit_code == 2, ended.output
    return ended.stderr


def test_everything_an_appeal_needs(graded):
    """Who, what, when, the code, the verdicts, the facts on both sides, the checks and the contracts."""
    out = said(graded, "ben", "01_tiny", "--all")
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
    """What is shown, and that it fits on a screen of 24 lines of 80 columns."""
    lines = klass.explain(*arguments).stdout.splitlines()
    assert len(lines) < 24, "\n".join(lines)
    assert max(map(len, lines)) <= 80
    return lines


def test_what_failed_stands_on_the_first_screen(klass):
    """Whose result, when, which definition counted, each diagnosis with the student's line, and no more."""
    klass.grade(ben=["import torch", "def double(x):\n    y = x + None\n    return y", HALF[2]])
    out = "\n".join(screen_of(klass, "ben", "01_tiny", "q1"))
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
    for more in ("passed: It", "Observations of", "seed 1", "contract(", "sha256", "q2 ·"):
        assert more not in out
    whole = "\n".join(screen_of(klass, "ben", "01_tiny"))
    assert "\nq1 · Double: 0 of 2, answered, code cell 2 counted\nfailed: It is twice as much\n" in whole
    assert "q2 · A leaf" in whole


def test_the_command_for_more_can_be_typed_as_it_is_shown(klass):
    """A name with a blank is quoted, and the folder of results is named."""
    klass.hand_in("Ada Lovelace", HALF)
    klass.grade()
    shown = said(klass, "Ada Lovelace", "01_tiny", "q1").partition("python -m grader ")[2]
    assert shlex.split(shown) == [
        *("explain", "Ada Lovelace", "01_tiny", "q1", "--results", str(klass.out), "--all"),
    ]
    assert klass.run(*shlex.split(shown)).exit_code == 0


def test_of_many_failures_the_first_are_shown(klass):
    """Of very many diagnoses, or very long ones, the first are shown, and how many more there are."""
    checks = "".join(
        f'\n\n@points(1)\ndef test_more_{number}(made):\n    """More."""\n'
        f'    assert made.seen.tensor().requires_grad, "{number} " * 900\n'
        for number in range(10, 40)
    )
    path = klass.course / "tests" / "hidden" / "test_01_tiny.py"
    path.write_text(path.read_text(encoding="utf-8") + checks, encoding="utf-8")
    klass.grade(ben=HALF)
    assert "and 30 more diagnoses" in "\n".join(screen_of(klass, "ben", "01_tiny"))
    assert "and 28 more diagnoses" in said(klass, "ben", "01_tiny", "q2")
    assert said(klass, "ben", "01_tiny", "--all").count("failed: More") == 30


def test_of_a_right_answer_it_is_said_that_nothing_failed(klass):
    """And of what was not answered, which questions these are."""
    klass.grade(ada=RIGHT, kim=["import torch", *RIGHT[2:]])
    assert "No check of an answer failed." in said(klass, "ada", "01_tiny")
    assert "unanswered q1 " in said(klass, "kim", "01_tiny")


def test_of_a_named_question_what_failed_comes_first(graded):
    """How the score came about, which definition counted, then the checks, those that failed first."""
    out = said(graded, "ben", "01_tiny", "q2", "--all")
    places = [
        out.index(text)
        for text in ("sha256", "score 1 of 2", "counted", "(test_requires_grad, 0", "(test_leaf, 1.5")
    ]
    assert places == sorted(places)


def test_one_question_is_explained_alone(graded):
    """A question that is named leaves the others out."""
    out = said(graded, "ben", "01_tiny", "q2")
    assert "q2 · A leaf" in out
    assert "q1 · Double" not in out


def test_nothing_is_written(graded):
    """An explanation changes no file of the results."""
    before = graded.files()
    said(graded, "ben", "01_tiny", "--all")
    assert graded.files() == before


def test_a_changed_assertion_is_replayed_and_the_difference_told(graded):
    """What was observed then is judged by the checks of now, and both are said."""
    graded.edit_checks(("assert made.seen.tensor().is_leaf", "assert not made.seen.tensor().is_leaf"))
    out = said(graded, "ben", "01_tiny", "--all")
    assert "judged now not the same as what is stored" in out
    assert "q2: test_leaf passed -> failed" in out
    assert "score: 1.5 of 6, now 0 of 6" in out
    assert "other cases" not in out


def test_other_points_are_a_difference(graded):
    """Settings that changed since the run are told too."""
    graded.settings("[points.01_tiny]\nq2 = 8\n")
    assert "score: 1.5 of 6, now 3 of 10" in said(graded, "ben", "01_tiny", "--all")


def test_a_changed_contract_is_said(graded):
    """What was seen then is judged by the reference on the same inputs; that the checks changed is said."""
    graded.edit_checks(("randint(3, 9", "randint(4, 9"))
    out = said(graded, "ben", "01_tiny", "--all")
    assert "The checks, the course or the grader's code have changed since this was graded." in out
    assert "inputs seed" in out
    assert "judged now the same, check by check" in out


def test_a_new_contract_cannot_be_replayed(graded):
    """Where the checks of now ask for other facts, nothing is judged, and what was seen is shown."""
    graded.edit_checks(
        (
            'made = contract("leaf", {"n": own(length, says="the length")}, name="made"',
            'created = contract("leaf", {"n": own(length, says="the length")}, name="created"',
        ),
        ("(made)", "(created)"),
        ("made.seen", "created.seen"),
    )
    out = said(graded, "ben", "01_tiny", "--all")
    assert "The current checks need observations that were not made then" in out
    assert "judged now" not in out


def test_without_a_reference_what_was_seen_is_shown(graded):
    """A reference that was deleted leaves the facts of the submission."""
    for path in (graded.out / "reference").glob("*.json"):
        path.unlink()
    out = said(graded, "ben", "01_tiny", "--all")
    assert "The expected observations are no longer stored" in out
    assert re.search(r"result <float32 \(\d,\) ", out)


def test_without_evidence_the_verdicts_are_shown(graded):
    """Evidence that was deleted or spoiled leaves what the result says."""
    (graded.out / "evidence" / "ben" / "01_tiny.json").write_text("0\n{", encoding="utf-8")
    out = said(graded, "ben", "01_tiny", "--all")
    assert "What was observed of this notebook is not stored any more" in out
    assert "failed: It is twice as much" in out


def test_another_notebook_at_its_place_is_not_taken_for_the_graded(graded):
    """Of a file that changed since, or is gone, no code is shown; which cell counted is stored."""
    path = graded.submissions / "ben" / "01_tiny.ipynb"
    for change in (lambda: graded.hand_in("ben", RIGHT), path.unlink):
        change()
        out = said(graded, "ben", "01_tiny", "--all")
        assert "missing, unreadable, or another file than was graded" in out
        assert "double of code cell 3" in out
        assert "return x * x" not in out


def test_the_definition_that_counted_is_named(klass):
    """Of several cells that define a function one counted; others are named, and a text is no definition."""
    decoy = 'notes = """\ndef double(x):\n    return x + x\n"""'
    again = "if True:\n    def double(x):\n        return x * x"
    klass.grade(ben=[*HALF, again, "def double(x):\n    return 2 * x\n)", decoy])
    expected = "counted double of code cell 4; also defined in code cells 2, 5"
    assert expected in said(klass, "ben", "01_tiny", "q1")
    assert f"{expected} code cell 4: 1 if True:" in said(klass, "ben", "01_tiny", "q1", "--all")


def test_nothing_is_longer_than_anybody_reads(klass):
    """Whatever a student made long is cut: a line of code, a key among the facts, the list of older files."""
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
    """A notebook that cannot be read, one of no assignment, and a stub that was left as it is."""
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
    """A misspelt name is met by what may have been meant; a path is only a name that no student has."""
    assert "bne is not a student of this class: did you mean ben?" in refused(graded, "bne", "01_tiny")
    assert "no result of ben for 01_tine; there is 01_tiny" in refused(graded, "ben", "01_tine")
    assert "../zoe is not a student of this class: there is ben" in refused(graded, "../zoe", "01_tiny")
    assert "no question q7; did you mean q" in refused(graded, "ben", "01_tiny", "q7")
    assert "zoe is not a student of this class: there is ben" in refused(graded, "zoe", "01_tiny")


def test_without_results_it_says_what_to_do(klass):
    """A folder that holds nothing is named, with the option that names another."""
    assert "holds no results: grade first, or name their folder by --results" in refused(
        klass, "ada", "01_tiny"
    )


def test_a_spoiled_result_is_said(graded):
    """A result that is no result asks for another run."""
    (graded.out / "submissions" / "ben" / "01_tiny.json").write_text("[]", encoding="utf-8")
    assert "is spoiled: run the same `grade` again" in refused(graded, "ben", "01_tiny")


def test_a_strangers_text_controls_no_terminal(klass):
    """Control characters, markup and commands of runners in a student's code and errors are only text."""
    nasty = "def double(x):\n    raise ValueError('[red]\\x1b[31m ::error::x')  # \x1b[2J ::set-output::"
    klass.grade(ada=["import torch", nasty])
    out = klass.explain("ada", "01_tiny").stdout
    assert "[red]" in out
    assert "\x1b" not in out
    assert not [line for line in out.splitlines() if line.lstrip().startswith(("::", "##["))]
