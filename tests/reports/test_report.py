"""What an instructor sees of a class, small or large: on the terminal, in the report and in its figures."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from statistics import correlation

import pytest
from factories import check, made, question, report_of, row
from rich.console import Console
from tiny_course import RIGHT

from grader.contracts.finding import Finding
from grader.contracts.observation import finding_without_observation
from grader.course.course import Course
from grader.course.outcomes import Misconception, Outcome, read_misconceptions
from grader.course.rubric import Rubric
from grader.grading import terminal as class_table
from grader.grading.run_summary import RunSummary
from grader.grading.scoring import PartialCredit, graded
from grader.grading.submission import Submission
from grader.grading.terminal import print_class
from grader.reports.class_report import histogram, parts_of_bar
from grader.reports.review import reviews_of
from grader.results.model import MAX_CELLS, Adjustment, Flag, MissingSubmission, Provenance
from grader.results.similar import SameWork, Sides
from grader.results.statistics import Mistake, summarise
from grader.results.store import result_from_json
from grader.results.students import students_of
from grader.sandbox.evidence import (
    REASONS,
    UNJUDGED,
    CellFailure,
    Evidence,
    FailedCell,
    Failure,
    not_observed,
)
from grader.sandbox.values import Raised
from grader.text import capital

ABSENT = MissingSubmission("zoe", "01_tiny", {"q1": 10.34, "q2": 10.33, "q3": 10.33})


@pytest.fixture
def shown(monkeypatch, tmp_path):
    def shown(rows, absent=(), without=(), notes=()):
        screen = StringIO()
        monkeypatch.setattr(class_table, "Console", lambda **_: Console(file=screen, width=120))
        run = RunSummary(
            results=list(rows), missing=list(absent), fresh=1, without_notebook=list(without), notes=[*notes]
        )
        print_class(run, tmp_path)
        return screen.getvalue()

    return shown


def test_a_class_of_ordinary_size_is_shown_row_by_row(shown):
    text = shown([row(f"s{number:03}") for number in range(99)], [ABSENT])
    assert sum(line.startswith("s0") for line in text.splitlines()) == 99
    assert "zoe" in text


def test_an_absent_student_has_nothing_of_what_there_is(shown):
    (line,) = [line.split() for line in shown([row("ada")], [ABSENT]).splitlines() if line.startswith("zoe")]
    assert line == ["zoe", "01_tiny", "0", "of", "31", "missing"]
    page = report_of([row("ada")], [ABSENT], "landlock")
    assert "<small>of 3</small>" in page
    assert page.count('data-value="-1.0"><span class="mark missing">missing</span></td>') == 1


def test_who_needs_a_human_is_the_same_on_the_terminal_and_in_the_report(shown):
    odd = [
        row("unjudged", message=Finding("broken", UNJUDGED)),
        row("endless", message=not_observed(Failure.TIMEOUT, seconds=10)),
        row("slow", cells=[{"cell": 5, "ended": "stopped", "text": ""}]),
        replace(row("several"), superseded=tuple(f"several/{number}.ipynb" for number in range(6_000))),
    ]
    rows = [*odd, *(row(f"s{number:03}", message="It is not.") for number in range(200))]
    text = shown(rows)
    told = " ".join(text.partition("Needs review:")[2].partition("Graded:")[0].split())
    for name in "unjudged", "endless", "slow", "several":
        assert f"{name} 01_tiny" in told
    assert "s000" not in told
    assert "and 5988 more" in told
    assert len(text.splitlines()) < 40
    small = shown(odd[:3])
    assert small.count("needs review") == 3
    _, _, named = report_of(odd, [], "none").partition('<h2 id="look">')
    assert all(f"<bdi>{result.student}</bdi>" in named for result in odd)


def test_a_large_class_is_summed_up(shown):
    rows = [row(f"s{number:04}", score=number % 4) for number in range(4_000)]
    rows += [row(f"t{number:04}", score=0, error="It is empty.") for number in range(17)]
    rows += [row(f"u{number:04}", flags=["ctypes"]) for number in range(40)]
    lines = shown(rows, [ABSENT]).splitlines()
    assert len(lines) < 40
    assert lines[1].split() == ["01_tiny", "4057", "1.5", "of", "3", "17", "40", "1"]
    named = [line for line in lines if line.startswith(("s", "t0", "u0")) and "01_tiny" in line]
    assert len(named) == 20
    assert "It is empty." in named[0]
    assert "Flagged: ctypes (code cell 1)." in named[-1]
    assert "... and 37 more, see report.html" in lines
    assert "Graded: 4040 of 4057 submissions, 17 in error" in lines
    assert "Needs review: 57 submissions" in lines


def test_a_notebook_of_no_assignment_is_named_in_a_large_class(shown):
    rows = [row(f"s{number:03}") for number in range(200)]
    text = shown([*rows, row("zed", stem=None, error="zed/None.ipynb is not an assignment of this course.")])
    assert "zed" in text and "not an assignment of this course" in text


def test_long_lists_of_names_are_cut(shown):
    text = shown([row("ada")], without=[f"n{number:04}" for number in range(1_000)])
    assert "and 980 more" in " ".join(text.split())
    assert len(text.splitlines()) < 20


def test_the_last_lines_are_one_fact_each_and_say_what_to_do_next(shown, tmp_path):
    several = replace(row("several"), superseded=("several/old.ipynb",))
    rows = [row("ada"), several, row("ben", flags=["gc"]), row("eve", error="It is empty.", score=0.0)]
    rows[0] = replace(rows[0], provenance=Provenance(protection="landlock+seccomp"))
    assert shown(rows, [ABSENT]).splitlines()[-10:] == [
        "Graded: 3 of 4 submissions, 1 in error",
        "This run: 1 new",
        "Missing: 1 submission",
        "Sandbox: landlock+seccomp",
        "Needs review: 2 submissions",
        f"Report: {tmp_path / 'report.html'}",
        f"Gradebook: {tmp_path / 'gradebook.csv'}",
        f"Feedback: {tmp_path / 'feedback'}",
        'Next: see "Needs review" in the report, then export the scores: python -m grader export --help',
        f"Details: python -m grader explain STUDENT ASSIGNMENT --results {tmp_path}",
    ]


def test_without_anything_to_review_the_next_step_is_the_export(shown):
    """Notes stand below it."""
    lines = shown([row("ada")], notes=["Before, a was graded into b."]).splitlines()
    assert "Needs review: nothing" in lines
    assert "Next: export the scores: python -m grader export --help" in lines
    assert lines[-1].startswith("Before, a")


def test_figures_of_an_assignment():
    rows = [
        row("a"),
        row("b", score=1.0, message="It is not."),
        row("c", score=0.0, message="It was."),
        row("d", score=1.0, message="It is not."),
        row("e", score=0.0, status="untouched", message="e is still the starter code."),
        row("f", score=0.0, status="missing", message="It is empty.", error="It is empty.", flags=["gc"]),
        row("g", stem=None, error="?"),
        row("h", stem="00_other"),
    ]
    other, tiny = summarise(rows)
    assert (other.stem, other.scores, other.mean) == ("00_other", [3.0], 3.0)
    assert (tiny.scores, tiny.max_score) == ([3.0, 1.0, 0.0, 1.0, 0.0], 3.0)
    assert (tiny.errors, tiny.flagged, tiny.submissions) == (1, 1, 6)
    (question,) = tiny.questions
    assert question.outcomes == {"full": 1, "part": 2, "nothing": 1, "unanswered": 1}
    (check,) = question.checks
    assert (check.failed, check.of) == (3, 4)
    assert [(one.text, one.number) for one in question.mistakes] == [("It is not.", 2), ("It was.", 1)]


def test_the_newest_result_says_what_was_asked():
    """Titles and worth are those of the course as it is now, of whatever course the others are."""
    (one,) = summarise([row("a", at="2025", id="q2"), row("b", at="2026", title="Do it well"), row("c")])
    assert [(q.id, q.title, q.outcomes["full"]) for q in one.questions] == [("q1", "Do it well", 2)]


def step_is_wrong(number):
    return Finding("wrong", f"Step {number} is wrong.", group="test_step+3")


def test_one_mistake_in_several_wordings_is_one():
    told = [step_is_wrong(3)] * 2 + [step_is_wrong(12)] * 3 + ["It is.", None]
    results = [row(f"s{number}", message=[message, "?"]) for number, message in enumerate(told)]
    title = results[0].questions[0].checks[0].title
    assert summarise(results)[0].questions[0].mistakes == [
        Mistake(f"Check failed: {title}", (), ("s0", "s1", "s2", "s3", "s4"), "Step 12 is wrong."),
        Mistake("It is.", (), ("s5",), "It is."),
        Mistake("?", (), ("s6",), "?"),
    ]


def test_a_student_has_one_mistake_in_a_question():
    late = not_observed(Failure.QUESTION_OVER)
    both = [step_is_wrong(2), step_is_wrong(3), late]
    rows = [row(f"a{number}", message=both) for number in range(3)]
    rows += [row("b", message=[step_is_wrong(3), None, "Alone."]), row("c", status="untouched", message="?")]
    (tiny,) = summarise(rows)
    ((question, mistake),) = tiny.misunderstood
    assert (question.id, question.answered, mistake.students) == ("q1", 4, ("a0", "a1", "a2", "b"))
    page = report_of(rows, [], "landlock")
    assert page.count(f"<strong>4 of 4</strong> in q1: {mistake.text}") == 1
    assert page.count("<strong>4 of 4</strong>") == 2  # and once in the details of the question


BELIEF = Misconception("halved", "Believes that the loss is halved.", Outcome(("test_0",), "group a"))


def failing(student, *groups):
    return row(student, message=[group and Finding("wrong", "12 != 6", group=group) for group in groups])


def mistakes_of(rows, *known):
    return summarise(rows, {"01_tiny": {"q1": known}})[0].questions[0].mistakes


def test_a_mistake_is_named_by_the_known_wrong_answer_that_fails_in_the_same_way():
    """The docstring of the answer with the same failed checks and the same first finding names it."""
    ids = [check.id for check in failing("a", "a", "b").questions[0].checks]
    belief = replace(BELIEF, outcome=Outcome((ids[0],), "a"))
    other = replace(BELIEF, name="both", text="Believes in both.", outcome=Outcome((*ids,), "a"))
    rows = [failing("s0", "a", None), failing("s1", "a", None)]
    rows += [failing("s2", "a", "b"), failing("s3", "b", None)]
    found = mistakes_of(rows, belief, other)
    assert [(one.text, one.names, one.students) for one in found[:2]] == [
        ("Believes that the loss is halved.", ("halved",), ("s0", "s1")),
        ("Believes in both.", ("both",), ("s2",)),
    ]
    assert (found[2].names, found[2].students) == ((), ("s3",))
    page = report_of(rows, [], "landlock", known={"01_tiny": {"q1": [belief, other]}})
    assert "<strong>2 of 4</strong> in q1: Believes that the loss is halved." in page


def test_where_many_known_wrong_answers_fail_alike_none_is_named():
    (first, _) = (check.id for check in failing("a", "a", "b").questions[0].checks)
    alike = [replace(BELIEF, name=name, text=f"{name}.", outcome=Outcome((first,), "a")) for name in "ABCD"]
    rows = [failing("s0", "a", None)]
    assert mistakes_of(rows, *alike[:2])[0].text == "A. Or: B."
    assert mistakes_of(rows, *alike)[0].names == ()


def test_the_course_says_what_its_known_wrong_answers_misunderstand():
    course = Course.find(Path(__file__).parent)
    known = read_misconceptions(course.answers_file("01_leaves"))
    texts = {each.name: each for question in known.values() for each in question}
    named = texts["requires_grad_on_a_non_leaf"]
    assert named.text.startswith("Believes that requires_grad_() makes a leaf")
    assert named.outcome.fails[1] == "test_values_and_training"
    assert named.outcome.first.startswith("test_w_is_a_trainable_leaf")
    assert texts["tails_cut_off"].text


def test_a_mistake_names_its_students():
    page = report_of([row("a b", message="It is not."), row("c", message="It is not.")], [], "landlock")
    names = '<a href="students/a%20b.html#01_tiny"><bdi>a b</bdi></a>, <a href="students/c.html#01_tiny">'
    assert " ".join(page.split()).count(names) == 2  # of the whole class, and of the question


def scored(*students):
    """The results of students who have these scores, of four points for each question."""
    results = []
    for student, scores in enumerate(students):
        questions = [
            question(number, score, [check("it", 4.0)]) for number, score in enumerate(scores, start=1)
        ]
        results.append(result_from_json(made(f"s{student}", questions=questions), "01_tiny"))
    return results


def figures_of(*students):
    return [question.figures for question in summarise(scored(*students))[0].questions]


def test_a_question_has_a_mean_a_spread_and_a_discrimination():
    """They are of the scores of the class, and the discrimination leaves the question's own points out."""
    first, second, third = figures_of((4, 4, 1), (4, 3, 2), (2, 2, 3), (0, 1, 4), (0, 0, 4))
    assert (first.mean, first.percent, first.spread) == (2.0, 50.0, pytest.approx(1.788854))
    rest = [5, 5, 5, 5, 4]
    assert first.discrimination == pytest.approx(correlation([4, 4, 2, 0, 0], rest))
    assert second.discrimination == pytest.approx(correlation([4, 3, 2, 1, 0], [5, 6, 5, 4, 4]))
    assert third.discrimination < -0.9


def test_what_stands_out_of_a_question_is_said():
    students = [(4, n / 5, 4 - n / 5, 4 * (n % 2), 0) for n in range(20)]
    strong = "strong students fail this more often"
    remarks = [figures.remarks for figures in figures_of(*students)]
    few = "fewer than 1 in 5 earned points"
    assert remarks == [("nearly all solved it",), (strong,), (strong,), (), (few,)]
    assert strong in report_of(scored(*students), [], "landlock")


def test_of_few_submissions_nothing_is_said():
    """Four answers, or equal scores, tell nothing about a question; nor does what could not be graded."""
    assert {(one.discrimination, one.remarks) for one in figures_of(*[(4, 0), (0, 4)] * 2)} == {(None, ())}
    assert [one.discrimination for one in figures_of(*[(4, n) for n in range(6)])] == [None, None]
    (tiny,) = summarise([row("a", error="It is empty.", score=0.0)])
    assert tiny.questions[0].figures is None


#: The scores of students of whom the best fail the second question.
TRIED = [(4, 0, 4), (4, 1, 3), (3, 2, 3), (2, 2, 2), (1, 3, 1), (0, 4, 1)]


@pytest.mark.parametrize(("scores", "left"), [((0, 0, 0), ["q1", "q2", "q3"]), ((1, 0, 0), ["q2"])])
def test_unanswered_questions_do_not_hide_a_badly_made_question(scores, left):
    """Weak students who leave a question as it was count in its mean, and not in its discrimination."""

    def leave(question):
        return replace(question, status="untouched") if question.id in left else question

    weak = [replace(one, questions=tuple(map(leave, one.questions))) for one in scored(*[scores] * 3)]
    results = [*scored(*TRIED), *weak]
    figures = summarise(results)[0].questions[1].figures
    assert figures.discrimination == pytest.approx(correlation([0, 1, 2, 2, 3, 4], [8, 7, 6, 4, 2, 1]))
    assert figures.mean == pytest.approx(12 / 9)
    assert "strong students fail this more often" in figures.remarks
    marks = report_of(results, [], "landlock").count('<span class="mark starter-code">starter code</span>')
    assert marks == (3 if len(left) == 3 else 0)


def test_an_error_counts_in_no_statistic():
    rows = [row(f"s{n}", score=3.0) for n in range(4)]
    (alone,) = summarise(rows)
    broken = row("t", error="It is empty.", score=0.0, status="missing", message="It is empty.")
    (with_error,) = summarise([*rows, broken])
    assert with_error == replace(alone, errors=1)
    page = report_of([*rows, broken], [], "landlock")
    assert "5 submissions: mean 3, median 3 of 3 points; 4 with all points; 1 in error." in page
    assert "1 submission; 1 in error." in report_of([broken], [], "landlock")


def test_excused_work_counts_in_no_statistic():
    rows = [row(f"s{n}", score=3.0) for n in range(4)]
    given = (Adjustment(None, 0.0, "Ill.", excused=True),)
    ill = replace(row("t", score=0.0, flags=["gc"]), adjustments=given)
    assert summarise([*rows, ill]) == [replace(one, excused=1) for one in summarise(rows)]
    assert reviews_of([ill]) == []
    (student,) = students_of([ill], [])
    assert (student.score, student.max_score, student.marks) == (0, 0, ["excused"])


def test_resubmissions_are_folded():
    rows = [replace(row(f"s{number}"), superseded=("old.ipynb",)) for number in range(3)]
    rows += [replace(rows[0], assignment="02_other", name="02_other"), row("f", flags=["gc"])]
    rows += [replace(row("both", flags=["gc"]), superseded=("old.ipynb",))]
    page = report_of(rows, [], "landlock")
    shown, _, folded = page.partition('<h2 id="look">')[2].partition("<summary>")
    assert folded.startswith("3 students submitted several notebooks</summary>")
    assert "<bdi>f<" in shown and "<bdi>both<" in shown and "<bdi>s" not in shown
    assert folded.count("<bdi>02_other</bdi>") == 1
    assert '<a href="#look">Needs review</a>: 2' in page


def test_same_work_is_named_as_a_hint():
    sides = (Sides("q1", "x < 1", "y < 1"),)
    file = SameWork("01_tiny", ("c", "d"), is_file=True)
    answers = SameWork("01_tiny", ("a", "<b>"), False, ("q1", "q3"), ("q2",), 2.0, sides)
    page = " ".join(report_of([row("a")], [], "landlock", [file, answers]).split())
    assert "a hint, not proof" in page
    assert '01_tiny: <a href="students/a.html#01_tiny"><bdi>a</bdi></a>, ' in page
    assert "<bdi>&lt;b&gt;</bdi></a>: the same answers to q1, q3; the same mistake in q2" in page
    assert "<pre><code>x &lt; 1</code></pre></div> <div>" in page
    assert "the same notebook file" in page
    assert "Same work" not in report_of([row("a")], [], "landlock")


def test_a_question_that_is_worth_nothing_is_earned_by_whoever_answers_it():
    rows = [row("a", score=0.0, max_score=0.0), row("b", score=0.0, max_score=0.0, status="untouched")]
    outcomes = {"full": 1, "part": 0, "nothing": 0, "unanswered": 1}
    assert summarise(rows)[0].questions[0].outcomes == outcomes


def test_who_needs_a_human_is_named_with_the_reason():
    """Errors first, then checks without a verdict, flags, ended processes, several notebooks; no others."""
    rows = [
        row("fine", message="It is not."),
        replace(row("several"), superseded=("several/old.ipynb",)),
        row("endless", message=[not_observed(Failure.KILLED), "No."]),
        replace(row("flagged"), flags=(Flag("ctypes", 4), Flag("gc", None, "Look."), Flag("ctypes", 7))),
        row("unjudged", message=Finding("broken", UNJUDGED)),
        row("broken", error="It is empty.", flags=["gc"], message=not_observed(Failure.CLOSED)),
    ]
    assert [(review.result.student, *review.reasons) for review in reviews_of(rows)] == [
        ("broken", "It is empty.", "Flagged: gc (code cell 1)."),
        ("unjudged", "A check could not be judged in q1."),
        ("flagged", "Flagged: ctypes (code cells 4, 7); gc. Gc: Look."),
        ("endless", f"q1: {capital(REASONS[Failure.KILLED])}."),
        ("several", "several/01_tiny.ipynb is the version that counts. Superseded: several/old.ipynb."),
    ]


def observed_result(*cells):
    submission = Submission("ada", "01_tiny", "01_tiny", Path(), "ada/01_tiny.ipynb", "0")
    rubric = Rubric("01_tiny", Path(), (), (), {}, {})
    provenance = Provenance("0", None, None, None, None, "1")
    return graded(submission, rubric, Evidence(cells=list(cells)), {}, provenance, PartialCredit(0.5))


def raised(cell, *types, text=""):
    return CellFailure(cell, Raised((*types, "BaseException"), text, ""), None)


def test_a_cell_whose_time_ran_out_needs_a_human():
    """Time-outs and cells that were left out, which no check may tell of; not an error in a cell."""
    unreached = "the cells before it used up the time of the notebook"
    result = observed_result(
        raised(2, "NameError", "Exception", text="name 'x'"),
        raised(5, "CellTimeout", text="too long"),
        raised(7, "CellTimeout", text="too long"),
        *(CellFailure(cell, None, unreached) for cell in range(8, 40)),
    )
    assert [cell.cell for cell in result.cells] == [2, 5, 7, *range(8, 28)]
    assert result.cells[0] == FailedCell(2, "raised", "NameError: name 'x'")
    ((found, (reason,)),) = [(review.result, review.reasons) for review in reviews_of([result])]
    assert [(cell.cell, cell.text) for cell in found.stopped_cells[:2]] == [(5, ""), (7, "")]
    assert reason == (
        "Code cells 5, 7 were stopped, because they took too long."
        f" Code cells {', '.join(map(str, range(8, 20)))}, and 8 more were left out:"
        " the cells before it used up the time of the notebook."
    )
    assert not reviews_of([observed_result(raised(2, "NameError"))])


def test_an_endless_loop_after_an_answer_needs_a_human(klass):
    klass.hand_in("ada", [*RIGHT[:-1], f"{RIGHT[-1]}\nwhile True:\n    pass"])
    klass.hand_in("ben", ["1 / 0", *RIGHT])
    klass.grade("--cell-seconds", "1")
    assert klass.result("ada")["score"] == 6
    assert [cell["ended"] for cell in klass.result("ada")["cells"]] == ["stopped"]
    page = (klass.out / "report.html").read_text(encoding="utf-8")
    assert page.count("Code cell 3 was stopped, because it took too long.") == 1


def test_a_result_of_an_older_grader_is_read_too():
    """It does not tell of its cells, nor of the kinds of failures, and nothing is noticed about them."""
    result = row("ada", message=not_observed(Failure.TIMEOUT, seconds=10))
    stored = replace(result, cells=observed_result(raised(5, "CellTimeout")).cells).to_json()
    assert len(reviews_of([result_from_json(stored, "01_tiny")])) == 1
    del stored["cells"], stored["end_task"]
    for name in ("failure", "kind", "group", "stopped"):
        del stored["questions"][0]["checks"][0][name]
    older = result_from_json(stored, "01_tiny")
    assert (older.stopped_cells, reviews_of([older])) == ([], [])


@pytest.mark.parametrize("kind", ["timeout", "late", "closed", "killed", "forged", "malformed"])
def test_ended_processes_are_known_by_their_kind(kind):
    failure = not_observed(Failure(kind), seconds=10, question=30)
    stored = row("a", message=failure).to_json()
    assert json.loads(json.dumps(stored))["questions"][0]["checks"][0]["failure"] == kind
    assert reviews_of([result_from_json(stored, "01_tiny")])
    assert not reviews_of([row("a", message=finding_without_observation(failure).message)])


def test_an_unknown_kind_of_failure_is_refused():
    stored = row("a", message=not_observed(Failure.KILLED)).to_json()
    stored["questions"][0]["checks"][0]["failure"] = "bored"
    with pytest.raises(ValueError, match="Invalid enum value 'bored'"):
        result_from_json(stored, "01_tiny")


def test_a_single_submission_needs_no_chart():
    assert "<figure" not in report_of([row("a")], [], "landlock")


def summary(*scores, max_score=None):
    most = max(scores) if max_score is None else max_score
    (tiny,) = summarise([replace(row(f"s{n}"), score=s, max_score=most) for n, s in enumerate(scores)])
    return tiny


def test_a_bar_counts_a_tenth_of_the_points():
    """The highest bar is as high as there is room, and full marks have a bar of their own."""
    bars = histogram(summary(0.0, 2.9, 3.0, 29.5, 30.0, 30.0))
    numbers = {bar.percent: bar.number for bar in bars if bar.number}
    assert numbers == {0: 2, 10: 1, 90: 1, 100: 2}
    assert [bar.height for bar in bars if bar.percent in {10, 100}] == [50.0, 100.0]
    assert [bar.percent for bar in histogram(summary(2.1, max_score=3.0)) if bar.number] == [70]


@pytest.mark.parametrize(
    "scores",
    [[0.0, 0.0], [0.5, 1.0], [0.1, 99.9, 100.0], [1e4, 2.0], [0.25] * 12_345],
    ids=lambda scores: str(scores[:3]),
)
def test_scores_of_any_size_are_drawn(scores):
    bars = histogram(summary(*scores))
    assert sum(bar.number for bar in bars) == len(scores)
    assert max(bar.height for bar in bars) == 100


def test_a_question_is_divided_by_how_it_ended():
    rows = [row("a", score=1.0), *(row(f"s{n}") for n in range(19))]
    ((name, pieces),) = parts_of_bar(summarise(rows)[0])
    found = [(piece.outcome, piece.number, piece.share, piece.text) for piece in pieces]
    assert (name, found) == ("q1", [("full", 19, 95.0, "19"), ("part", 1, 5.0, "")])


def test_text_in_a_chart_is_no_markup():
    page = report_of([row(f"s{number}", id="<b>&") for number in range(4)], [], "landlock")
    assert '<span class="id">&lt;b&gt;&amp;</span>' in page


def test_the_head_says_how_the_class_was_graded():
    rows = [row("a", at="2026-01-02T03:04:05Z"), row("b", at="2025-01-02T03:04:05Z", flags=["gc"])]
    page = report_of(rows, [ABSENT], "none")
    for name, value in {
        "submissions": 2,
        "missing": 1,
        "in error": 0,
        "flagged": 1,
        "sandbox": "none",
        "last graded": "2026-01-02 03:04:05 UTC",
    }.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in page
    assert "Graded without a sandbox" in page


def test_of_very_many_failed_cells_the_first_are_told():
    cells = [CellFailure(number, None, "it was too slow") for number in range(1, 31)]
    told = observed_result(*cells).about_cells
    assert (len(told), told[-1]) == (MAX_CELLS + 1, "And 10 more.")
    assert len(observed_result(*cells[:MAX_CELLS]).about_cells) == MAX_CELLS


@pytest.mark.parametrize(("assignments", "is_open"), [(3, True), (4, False)])
def test_a_report_of_many_assignments_folds_its_details(assignments, is_open):
    rows = [row("ada", stem=f"0{number}_tiny", score=0.0, message="Wrong.") for number in range(assignments)]
    page = report_of(rows, [], "landlock+seccomp")
    assert page.count('<details class="questions" open>') == (assignments if is_open else 0)
    assert page.count('<details class="questions"') == assignments
