"""What an instructor sees of a class, small or large: on the terminal, in the report and in its figures."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from fabricated import row
from rich.console import Console

from grader import class_table, drawings, observer, result
from grader.attention import cases
from grader.charts import CHARTS, Charts
from grader.class_table import print_class
from grader.evidence import UNANSWERED, Evidence
from grader.folder import ResultsFolder
from grader.index import Index
from grader.outcome import Outcome
from grader.pages import MAX_FAILED_CELLS, failed_cells
from grader.report import report_html
from grader.summary import summarise
from grader.told import Told, counted


@pytest.fixture
def shown(monkeypatch, tmp_path):
    """Print a class; what stood on the terminal."""

    def shown(rows, absent=(), without=(), note=None):
        screen = StringIO()
        monkeypatch.setattr(class_table, "Console", lambda **_: Console(file=screen, width=120))
        outcome = Outcome(list(rows), list(absent), "landlock+seccomp", 1, list(without), note)
        print_class(outcome, tmp_path)
        return screen.getvalue()

    return shown


def test_a_class_of_ordinary_size_is_shown_row_by_row(shown):
    """Up to a hundred, everybody has a line."""
    text = shown([row(f"s{number:03}") for number in range(99)], [("zoe", "01_tiny")])
    assert sum(line.startswith("s0") for line in text.splitlines()) == 99
    assert "zoe" in text


def test_a_large_class_is_summed_up(shown):
    """Of more than a hundred a person is told how each assignment went, and whom to look at."""
    rows = [row(f"s{number:04}", score=number % 4) for number in range(4_000)]
    rows += [row(f"t{number:04}", score=0, error="It is empty.") for number in range(17)]
    rows += [row(f"u{number:04}", flags=["ctypes"]) for number in range(40)]
    lines = shown(rows, [("zoe", "01_tiny")]).splitlines()
    assert len(lines) < 40
    assert lines[1].split() == ["01_tiny", "4057", "1.5", "of", "3", "17", "40", "1"]
    named = [line for line in lines if line.startswith(("s", "t0", "u0")) and "01_tiny" in line]
    assert len(named) == 20
    assert "It is empty." in named[0]
    assert "flagged: ctypes" in named[-1]
    assert "... and 37 more, see report.html" in lines
    assert "4040 graded, 17 in error, 1 new. Protection: landlock+seccomp." in lines


def test_a_notebook_of_no_assignment_is_named_in_a_large_class(shown):
    """It belongs to no row of the summary, and is not forgotten."""
    rows = [row(f"s{number:03}") for number in range(200)]
    text = shown([*rows, row("zed", stem=None, error="zed/None.ipynb is no assignment of this course.")])
    assert "zed" in text
    assert "no assignment of this course" in text


def test_long_lists_of_names_are_cut(shown):
    """Thousands of folders without a notebook do not push everything else off the screen."""
    text = shown([row("ada")], without=[f"n{number:04}" for number in range(1_000)])
    assert "and 980 more" in " ".join(text.split())
    assert len(text.splitlines()) < 20


def test_a_note_is_printed(shown):
    """What else whoever grades should know stands at the end."""
    assert shown([row("ada")], note="Before, a was graded into b.").splitlines()[-1].startswith("Before, a")


def test_figures_of_an_assignment():
    """Scores, how many earned a question in full, in part, not at all, and why a check failed."""
    rows = [
        row("a"),
        row("b", score=1.0, message="It is not."),
        row("c", score=0.0, message="It was."),
        row("d", score=1.0, message="It is not."),
        row("e", score=0.0, status="untouched", message="e is still as it was handed out."),
        row("f", score=0.0, status="missing", message="It is empty.", error="It is empty.", flags=["gc"]),
        row("g", stem=None, error="?"),
        row("h", stem="00_other"),
    ]
    other, tiny = summarise(rows)
    assert (other.stem, other.scores, other.mean) == ("00_other", [3.0], 3.0)
    assert (tiny.scores, tiny.max_score) == ([3.0, 1.0, 0.0, 1.0, 0.0, 0.0], 3.0)
    assert (tiny.errors, tiny.flagged) == (1, 1)
    (question,) = tiny.questions
    assert (question.full, question.part, question.none, question.untouched) == (1, 2, 3, 2)
    (check,) = question.checks
    assert (check.failed, check.of, check.message) == (3, 4, "It is not.")
    assert check.diagnoses == [("It is not.", 2), ("It was.", 1)]


def test_the_newest_result_says_what_was_asked():
    """Titles and worth are those of the course as it is now, of whatever course the others are."""
    (one,) = summarise([row("a", at="2025", id="q2"), row("b", at="2026", title="Do it well"), row("c")])
    assert [(question.id, question.title, question.full) for question in one.questions] == [
        ("q1", "Do it well", 2)
    ]


def test_the_report_of_a_large_class_names_everybody():
    """The page has a line for each, with a link to the feedback."""
    page = report_html([row(f"s{number:04}") for number in range(1_000)], [("zoe", "01_tiny")], "none")
    assert page.count('.html"><bdi>01_tiny</bdi></a>') == 1_000
    assert 'href="feedback/s0999/01_tiny.html"' in page
    assert "zoe" in page


def test_diagnoses_that_differ_in_numbers_are_one():
    """The most frequent wording stands for all; digits of names are no numbers, and None stays apart."""
    told = [
        ("Minibatch 3 keeps its graph (2.5e-3).", 2),
        ("Minibatch 12 keeps its graph (-1).", 3),
        ("fc1 is float32.", 2),
        ("fc2 is float32.", 1),
        (None, 4),
    ]
    assert counted(told) == [
        Told("Minibatch 12 keeps its graph (-1).", 5, 2),
        Told(None, 4, 0),
        Told("fc1 is float32.", 2, 0),
        Told("fc2 is float32.", 1, 0),
    ]


def test_what_a_class_misunderstood_counts_students():
    """Several checks that say the same to a student count once; what only followed does not count."""
    late = "This part was not reached, because the time of the question was used up before."
    rows = [row(f"a{number}", message=["Step 2 is wrong.", "Step 3 is wrong.", late]) for number in range(3)]
    rows += [
        row("b", message=["Step 3 is wrong.", None, "Alone."]),
        row("c", status="untouched", message="?"),
    ]
    (tiny,) = summarise(rows)
    ((question, told),) = tiny.misunderstood
    assert (question.id, question.answered, told) == ("q1", 4, Told("Step 2 is wrong.", 4, 1))
    page = report_html(rows, [], "landlock")
    assert "<strong>4 of 4</strong> in q1: Step 2 is wrong." in page
    assert "(1 of them with other numbers)" in page


def test_a_question_that_is_worth_nothing_is_earned_by_whoever_answers_it():
    """It counts once, and not as earned by somebody who left it as it was."""
    rows = [row("a", score=0.0, max_score=0.0), row("b", score=0.0, max_score=0.0, status="untouched")]
    assert summarise(rows)[0].questions[0].outcomes == (1, 0, 0, 1)


def test_who_needs_a_human_is_named_with_the_reason():
    """Errors first, then checks without a verdict, flags, ended processes, several notebooks; nobody else."""
    rows = [
        row("fine", message="It is not."),
        replace(row("several"), superseded=("several/old.ipynb",)),
        row("endless", message=["Your code still ran after 10 s and was stopped.", "No."]),
        replace(row("flagged"), flags=(("ctypes", 4), ("gc", None), ("ctypes", 7))),
        row("unjudged", message="This check did not come to a verdict; your instructor has to look at it."),
        row("broken", error="It is empty.", flags=["gc"], message="Your code still ran on."),
    ]
    found = cases(rows)
    assert [case.row.student for case in found] == ["broken", "unjudged", "flagged", "endless", "several"]
    assert [case.reasons for case in found] == [
        ("It is empty.", "Flagged: gc (code cell 1)."),
        ("A check could not be judged in q1.",),
        ("Flagged: ctypes (code cells 4, 7); gc.",),
        ("q1: Your code still ran after 10 s and was stopped.",),
        ("Several notebooks: several/01_tiny.ipynb counts; left aside: several/old.ipynb.",),
    ]


@pytest.mark.parametrize("kind", ["timeout", "late", "closed", "killed", "forged", "malformed"])
def test_ended_processes_are_known_by_the_words_of_the_observer(kind):
    """Whatever it says of a process that did not answer as one does, a human looks at it."""
    said = observer._SAYS[kind].format(seconds=10, question=30)
    assert cases([row("a", message=f"{said[0].upper()}{said[1:]}.")])


def test_checks_without_a_verdict_are_known_by_the_words_of_the_result():
    """The sentence that stands for a missing verdict is one a human looks at; one for a stub is not."""
    assert cases([row("a", message=result._UNJUDGED.message)])
    assert not cases([row("a", status="untouched", message=UNANSWERED["untouched"].format(name="f"))])


@pytest.fixture
def folder(tmp_path):
    """An open folder of results."""
    with ResultsFolder(tmp_path / "out", Index("")) as folder:
        yield folder


@pytest.fixture
def drawn(monkeypatch):
    """Every chart that is really drawn, by the name of its kind."""
    kinds = []
    for name in "scores", "questions":
        function = getattr(drawings, name)
        noted = lambda *data, name=name, function=function: kinds.append(name) or function(*data)  # noqa: E731
        monkeypatch.setattr(drawings, name, noted)
    return kinds


def report(folder, rows):
    """The report as a run writes it."""
    charts = Charts.load(folder.path)
    page = report_html(rows, [], "landlock", {}, charts)
    charts.save(folder)
    return page


def test_a_chart_is_drawn_when_its_data_change(folder, drawn):
    """An unchanged class is not drawn again; of a changed one only what is other; none is kept in vain."""
    rows = [row(f"s{number}", score=number / 2) for number in range(5)]
    first = report(folder, rows)
    assert sorted(drawn) == ["questions", "scores"]
    written = (folder.path / CHARTS).stat()
    assert report(folder, list(reversed(rows))).count("<svg") == first.count("<svg") == 2
    assert len(drawn) == 2
    assert (folder.path / CHARTS).stat().st_mtime_ns == written.st_mtime_ns
    report(folder, [replace(rows[0], score=3.0), *rows[1:]])
    assert drawn[2:] == ["scores"]
    assert len(json.loads((folder.path / CHARTS).read_text().partition("\n")[2])) == 2


@pytest.mark.parametrize(
    "spoil", [lambda text: text[:-9], lambda text: text.replace("<svg", "<b><svg"), str.upper]
)
def test_charts_that_were_spoiled_are_drawn_again(folder, drawn, spoil):
    """What is not exactly what was stored never reaches a page."""
    rows = [row(f"s{number}") for number in range(5)]
    first = report(folder, rows)
    stored = folder.path / CHARTS
    stored.write_text(spoil(stored.read_text()))
    assert report(folder, rows) == first
    assert len(drawn) == 4


def test_a_single_submission_needs_no_chart(drawn):
    """Its numbers say the same, and nobody waits for a drawing."""
    assert "<svg" not in report_html([row("a")], [], "landlock")
    assert not drawn


def test_text_in_a_chart_is_no_markup():
    """Whatever a question is called, it is text in the drawing."""
    rows = [row(f"s{number}", id="<b>&") for number in range(4)]
    svg = Charts().questions(summarise(rows)[0])
    assert "&lt;b&gt;&amp;" in svg
    assert "<b>" not in svg


@pytest.mark.parametrize(
    "scores", [[0.0, 0.0], [0.5, 1.0], [31.0, 30.5], [0.1, 99.9, 100.0], [1e4, 2.0]], ids=str
)
def test_scores_of_any_size_are_drawn(scores):
    """Few bars or many, the chart has one for each place where a score lies, and a tick at zero."""
    (tiny,) = summarise([replace(row(str(n)), score=s, max_score=max(scores)) for n, s in enumerate(scores)])
    svg = Charts().scores(tiny)
    assert svg.startswith("<svg")
    assert ">0</text>" in svg
    assert "NaN" not in svg


def test_an_absent_student_has_nothing_of_all_points():
    """The row says of how many points, where that is known."""
    page = report_html(
        [row("ada")], [("zoe", "01_tiny"), ("zoe", "02")], "landlock", {"01_tiny": {"q1": 3.0}}
    )
    assert page.count('<td class="number">0 of 3</td>') == 1
    assert page.count('<td class="number">0</td><td>absent</td>') == 1


def test_the_head_says_how_the_class_was_graded():
    """How many, with which protection, and when the last one was."""
    rows = [row("a", at="2026-01-02T03:04:05Z"), row("b", at="2025-01-02T03:04:05Z", flags=["gc"])]
    page = report_html(rows, [("zoe", "01_tiny")], "none")
    for name, value in {
        "submissions": 2,
        "not handed in": 1,
        "in error": 0,
        "flagged": 1,
        "protection in force": "none",
        "last graded": "2026-01-02 03:04:05 UTC",
    }.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in page
    assert "Graded without a sandbox" in page


def test_of_very_many_failed_cells_the_first_are_told():
    """A page is no way out for thousands of messages."""
    cells = [{"cell": number, "raised": None, "fault": "it was too slow"} for number in range(1, 31)]
    told = failed_cells(Evidence(cells=cells))
    assert (len(told), told[-1]) == (MAX_FAILED_CELLS + 1, "And 10 more.")
    assert len(failed_cells(Evidence(cells=cells[:MAX_FAILED_CELLS]))) == MAX_FAILED_CELLS
