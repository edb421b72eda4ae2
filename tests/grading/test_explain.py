"""A result explained: how it came about, from what is stored, without running student code."""

import pytest
from tiny_course import HALF, RIGHT, write_notebook

from grader.notebooks.definitions import MAX_DEFINITIONS, find_definitions
from grader.notebooks.reader import Cell


def test_what_the_stub_passes_is_said(klass):
    """The sum shows what a check was not worth, and judging again comes to the same."""
    master = klass.course / "solutions" / "01_tiny.py"
    master.write_text(master.read_text().replace("    # return n\n", "    # return torch.zeros(n)\n"))
    klass.hand_in("ben", HALF)
    klass.grade()
    out = said(klass, "ben", "01_tiny", "q2")
    assert (
        "1 of 2 checks passed, worth 0 (the stub passes one of them too, which is worth nothing here)" in out
    )
    assert "judged now  the same, check by check" in out


@pytest.fixture
def graded(klass, close_the_lab):
    """A class that was graded, after which no process can be started that runs students' code."""
    klass.hand_in("ben", ["import torch", "1 / 0", *HALF[1:]])
    klass.grade()
    close_the_lab()
    return klass


def said(klass, *arguments):
    ended = klass.explain(*arguments)
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def refused(klass, *arguments):
    ended = klass.explain(*arguments)
    assert ended.exit_code == 2, ended.output
    return ended.stderr


def test_everything_an_appeal_needs(graded):
    """Who, what, when, the code, the verdicts, the facts on both sides, the checks and the probes."""
    out = said(graded, "ben", "01_tiny", "--all")
    result = graded.result("ben")
    for text in (
        "ben, 01_tiny: 2 of 6, graded",
        f"{graded.submissions / 'ben' / '01_tiny.ipynb'} (the file is still the same)",
        result["provenance"]["notebook_sha256"],
        f"{result['provenance']['graded_at']}, grader {result['provenance']['grader']}, torch",
        result["provenance"]["protection"],
        f"seed {graded.seed('ben')}",
        "Code cell 2 stopped with ZeroDivisionError",
        "judged now  the same, check by check",
        "q1 · Double: 0 of 2, answered",
        "      def double(x):\n          return x * x\n",
        "failed: It is twice as much (test_double, 0 of 2)",
        "diagnosis   This is not twice as much.",
        "1 of 2 checks passed, worth 3; as one failed, at most 0.5 of 4 is earned, which is 2",
        "result   expected <float32 (3,) 0 0 0, requires_grad True>",
        "seen <float32 (3,) 1 1 1, requires_grad False>   differs",
        "      @probe(fixed=True)\n      def made(student):\n          return student.leaf(3)\n",
        "      @points(1)\n      def test_requires_grad(made):\n",
        "facts       those of made, above",
    ):
        assert text in out


def test_what_failed_stands_on_the_first_screen(klass):
    """Without an option: whose result, when, each diagnosis with the student's line, and how to see more."""
    klass.hand_in("ben", ["import torch", "def double(x):\n    y = x + None\n    return y", HALF[2]])
    klass.grade()
    graded_at = klass.result("ben")["provenance"]["graded_at"]
    head, about_q1, about_q2 = said(klass, "ben", "01_tiny").split("\n\n")
    assert head.splitlines()[0] == "ben, 01_tiny: 2 of 6, graded"
    assert head.splitlines()[1].startswith(f"  graded      {graded_at}, grader ")
    assert about_q1.splitlines()[:2] == [
        "q1 · Double: 0 of 2, code cell 2",
        "  failed: It is twice as much",
    ]
    assert about_q1.splitlines()[2].startswith(
        "  diagnosis   In double (code cell 2): `y = x + None` stopped"
    )
    assert about_q1.splitlines()[3:] == ["  own line    code cell 2, line 2: y = x + None"]
    assert about_q2.splitlines()[-1].startswith("--all shows what was seen beside what was expected")
    for more in ("passed: ", "facts ", "seed 1", "check  ", "probe ", "sha256"):
        assert more not in head + about_q1 + about_q2


def test_the_first_screen_has_thirty_rows(klass):
    """Of very many failures, or very long ones, the first are shown, and how many more there are."""
    checks = "".join(
        f'\n\n@points(1)\ndef test_more_{number}(made):\n    """More."""\n'
        f'    assert made.seen.requires_grad, "{number}" * 90\n'
        for number in range(10, 40)
    )
    path = klass.course / "tests" / "hidden" / "test_01_tiny.py"
    path.write_text(path.read_text(encoding="utf-8") + checks, encoding="utf-8")
    klass.hand_in("ben", HALF)
    klass.grade()
    lines = said(klass, "ben", "01_tiny").splitlines()
    rows = sum(1 + (len(line) - 1) // 100 if line else 1 for line in lines)
    assert 26 <= rows <= 30
    shown = sum(line.startswith("  diagnosis") for line in lines)
    assert lines[-2] == f"... and {32 - shown} more diagnoses"
    assert said(klass, "ben", "01_tiny", "--all").count("  diagnosis") > 60


def test_of_a_right_answer_it_is_said_that_nothing_failed(klass):
    """And of what was not answered, which questions these are."""
    klass.hand_in("ada", RIGHT)
    klass.hand_in("kim", ["import torch", *RIGHT[2:]])
    klass.grade()
    assert "No check of what was answered failed." in said(klass, "ada", "01_tiny")
    assert "unanswered  q1\n" in said(klass, "kim", "01_tiny")


def test_a_named_question_begins_with_what_failed(graded):
    """First the diagnosis, then the code, then the checks, of which those that failed come first."""
    out = said(graded, "ben", "01_tiny", "q2")
    places = [
        out.index(text)
        for text in ("diagnosis", "sha256", "own code", "(test_requires_grad, 0", "(test_leaf, 3")
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
    graded.edit_checks(("assert made.seen.is_leaf", "assert not made.seen.is_leaf"))
    out = said(graded, "ben", "01_tiny", "--all")
    assert "judged now  not the same as what is stored" in out
    assert "q2, test_leaf: passed, now failed" in out
    assert "score: 2 of 6, now 0 of 6" in out
    assert "other probes" not in out


def test_other_points_are_a_difference(graded):
    """Settings that changed since the run are told too."""
    graded.settings("[points.01_tiny]\nq2 = 8\n")
    assert "score: 2 of 6, now 4 of 10" in said(graded, "ben", "01_tiny", "--all")


def test_a_changed_probe_is_said(graded):
    """What was seen then is judged by the reference on the same inputs; that the checks changed is said."""
    graded.edit_checks(("student.leaf(3)", "student.leaf(4)"))
    out = said(graded, "ben", "01_tiny", "--all")
    assert "The checks, the course or the grader's code have changed since this was graded." in out
    assert "inputs      seed" in out
    assert "judged now  the same, check by check" in out


def test_a_new_probe_cannot_be_replayed(graded):
    """Where the checks of now ask for other facts, nothing is judged, and what was seen is shown."""
    graded.edit_checks(
        ("def made(student)", "def created(student)"), ("(made)", "(created)"), ("made.seen", "created.seen")
    )
    out = said(graded, "ben", "01_tiny", "--all")
    assert "The checks of now ask for facts that were not observed then" in out
    assert "judged now" not in out


def test_without_a_reference_what_was_seen_is_shown(graded):
    """A reference that was deleted leaves the facts of the submission."""
    for path in (graded.out / "reference").glob("*.json"):
        path.unlink()
    out = said(graded, "ben", "01_tiny", "--all")
    assert "What was expected is not stored any more" in out
    assert "      result   <float32 (3,) " in out


def test_without_evidence_the_verdicts_are_shown(graded):
    """Evidence that was deleted or spoiled leaves what the result says."""
    (graded.out / "evidence" / "ben" / "01_tiny.json").write_text("0\n{", encoding="utf-8")
    out = said(graded, "ben", "01_tiny", "--all")
    assert "What was observed of this notebook is not stored any more" in out
    assert "failed: It is twice as much" in out


def test_another_notebook_at_its_place_is_not_taken_for_the_graded(graded):
    """Code of a file that changed since is marked, and of one that has gone nothing is shown."""
    path = graded.hand_in("ben", RIGHT)
    assert "code cell 2 (the file is ANOTHER now)" in said(graded, "ben", "01_tiny", "--all")
    path.unlink()
    out = said(graded, "ben", "01_tiny", "--all")
    assert "it is not there any more" in out
    assert "own code" not in out


def test_a_decoy_is_not_taken_for_the_code_that_counted(klass):
    """Of several definitions all are shown, and it is said that it is not known which counted."""
    decoy = 'notes = """\ndef double(x):\n    return x + x\n"""'
    klass.hand_in("ben", [*HALF, "def double(x):\n    return 2 * x\n)", decoy])
    klass.grade()
    out = said(klass, "ben", "01_tiny", "q1")
    assert "own code    3 places, found as text; which one counted is not known (the file is" in out
    assert "      code cell 2:\n      def double(x):\n          return x * x\n" in out
    assert (
        "      code cell 4, which did not run to its end:\n      def double(x):\n          return 2 * x"
        in out
    )
    assert "      code cell 5:\n      def double(x):\n          return x + x\n" in out


def test_nothing_is_longer_than_anybody_reads(klass):
    """Whatever a student made long is cut: a line of code, a key among the facts, the list of older files."""
    keys = "def double(x):\n    " + "\t" * 100_000 + "return {'k' * 50_000: x}"
    klass.hand_in("ben", ["import torch", keys])
    for number in range(15):
        name = f"01_tiny ({number}).ipynb"
        write_notebook(klass.submissions / "ben" / name, HALF, modified=1_600_000_000)
    klass.grade()
    out = said(klass, "ben", "01_tiny", "q1")
    assert max(map(len, out.splitlines())) <= 2_000
    assert out.count("(another version)") == 10
    assert "superseded  and 5 more" in out


def test_errors_and_what_was_not_answered_are_explained(klass):
    """A notebook that cannot be read, one of no assignment, and a stub that was left as it is."""
    klass.hand_in("dara", RIGHT).write_text("no notebook", encoding="utf-8")
    write_notebook(klass.submissions / "jun" / "homework.ipynb", ["x = 1"])
    klass.hand_in("kim", ["import torch", *RIGHT[2:]])
    klass.grade()
    out = said(klass, "dara", "01_tiny")
    assert "01_tiny.ipynb is not a notebook" in out
    assert "each check failed for this reason" in out
    assert "homework.ipynb is no assignment of this course" in said(klass, "jun", "homework")
    out = said(klass, "kim", "01_tiny", "q1")
    assert "q1 · Double: 0 of 2, missing" in out
    assert "reason      No cell of this notebook defines double" in out


def test_names_that_are_not_known_get_the_nearest(graded):
    """A misspelt name is met by what may have been meant; a path is only a name that no student has."""
    assert "bne is no student of this class: did you mean ben?" in refused(graded, "bne", "01_tiny")
    assert "no result of ben for 01_tine; there is 01_tiny" in refused(graded, "ben", "01_tine")
    assert "../zoe is no student of this class: there is ben" in refused(graded, "../zoe", "01_tiny")
    assert "no question q7; did you mean q" in refused(graded, "ben", "01_tiny", "q7")
    assert "zoe is no student of this class: there is ben" in refused(graded, "zoe", "01_tiny")


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
    klass.hand_in("ada", ["import torch", nasty])
    klass.grade()
    out = said(klass, "ada", "01_tiny")
    assert "[red]" in out
    assert "\x1b" not in out
    assert "::error" not in out
    assert "::set-output" not in out


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["def f(x):\n    return x\nprint(f)"], [(1, ["def f(x):", "    return x"])]),
        (
            ["def f(x): return 1", "@cache\ndef f(\n    x,\n):\n\n    return 2\n\n\ny = f(1)"],
            [(1, ["def f(x): return 1"]), (2, ["@cache", "def f(", "    x,", "):", "", "    return 2"])],
        ),
        (["class f(g):\n    a = 1\n# end"], [(1, ["class f(g):", "    a = 1", "# end"])]),
        (
            ["if x:\n    def f(x):\n        return 1\n    y = 2"],
            [(1, ["    def f(x):", "        return 1"])],
        ),
        (["def g(x):\n    return 1\nf = g"], [(1, ["f = g"])]),
        (["f: int = 3"], [(1, ["f: int = 3"])]),
        (["(g, f) = 1, 2"], [(1, ["(g, f) = 1, 2"])]),
        (["g = f = 1"], [(1, ["g = f = 1"])]),
        (["from g import (h, k as f)"], [(1, ["from g import (h, k as f)"])]),
        (["import f"], [(1, ["import f"])]),
        (["async def f():\n\tpass"], [(1, ["async def f():", "        pass"])]),
    ],
)
def test_own_code_is_found_as_text(sources, expected):
    """Every definition, with its decorators, as far as its indentation goes."""
    found, count, _ = find_definitions(
        [Cell(number, source) for number, source in enumerate(sources, 1)], "f"
    )
    assert [(one.cell, list(one.lines)) for one in found] == expected
    assert count == len(expected)


def test_own_code_is_cut():
    """Very long lines, very many lines and very many places are cut, also where each costs a look."""
    long, many = "f = '" + "\t" * 100_000, "def f():\n" + "    1\n" * 1_000
    places = ")f=1\nf=1\n" * 20_000  # each would be a part of the one before
    (first, second), count, _ = find_definitions([Cell(1, long), Cell(2, many)], "f")
    assert count == 2
    assert max(map(len, first.lines)) < 310
    assert second.lines[-1] == "... 801 more lines"
    found, count, _ = find_definitions([Cell(1, places)], "f")
    assert (len(found), count) == (MAX_DEFINITIONS, 20_000)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "f(1)",
        "def ff(x): pass",
        "print(f)",
        "f == 1",
        "f.x = 2",
        "x = f",
        "g(a, f=1)",
        "g[f] = 1",
        "f += 1",
    ],
)
def test_other_lines_define_nothing(source):
    """A use of the name is no definition of it."""
    assert find_definitions([Cell(1, source)], "f") == ([], 0, True)
