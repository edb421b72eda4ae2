"""On a student's machine: `status`, which looks at more than one notebook."""

import io
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from rich.console import Console
from student_notebooks import ANSWERS, STEM, code, document, released, worked, write

from grader.cli import main
from grader.errors import GraderError
from grader.student.check import NotebookReport, QuestionReport
from grader.student.display import focus_closing, print_table
from grader.student.notebook import notebooks_in


@pytest.fixture
def folder(tmp_path, warm_runners):
    write(tmp_path / ".handout" / f"{STEM}.ipynb", released())
    return tmp_path


def test_status_shows_every_notebook(folder):
    write(folder / f"{STEM}.ipynb", worked(q1="def double(x):\n    return 4", q3=ANSWERS["q3"]))
    (folder / "02_broken.ipynb").write_text("{")
    write(folder / "my work (1).ipynb", released())
    write(folder / "no_course.ipynb", {"cells": [], "metadata": {}})
    done = CliRunner().invoke(main, ["status", str(folder)])
    assert done.exit_code == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[:5] == [
        "notebook public checks questions",
        "01_small 1 of 3 q1✘ q2· q3✔",
        "my work (1) (of 01_small) 0 of 3 q1· q2· q3·",
        "02_broken - cannot be checked, see below",
        "",
    ]
    assert "02_broken.ipynb is not a notebook" in done.stdout
    assert "The graded checks test everything that the tasks say." in lines
    assert lines[-1] == f"Next: python -m grader check {folder / STEM} q1"
    assert done.stderr == ""


def line(name, *statuses):
    """A row of the table; without standings that of a notebook that cannot be read."""
    if not statuses:
        return Path(name), GraderError(f"{name} is broken.")
    notebook = SimpleNamespace(argument=Path(name).stem)
    questions = tuple(
        QuestionReport(SimpleNamespace(id=f"q{number}", title="Title", points=1, levels={}), status)
        for number, status in enumerate(statuses, start=1)
    )
    return Path(name), NotebookReport(notebook, (), questions)


def test_the_totals_count_each_assignment_once():
    lines = [
        line("01_a.ipynb", "passes", "fails"),
        line("01_a-Copy1.ipynb", "passes", "passes"),
        line("02_b.ipynb", "passes", "untouched", "missing"),
        line("03_c.ipynb"),
    ]
    shown = io.StringIO()
    stems = {path: path.stem[:4] for path, _ in lines}
    print_table(Console(file=shown, markup=False, width=200), dict(lines), stems)
    assert f"Progress: [{'#' * 16}{'-' * 24}] 2/5 public checks\n" in shown.getvalue()


@pytest.mark.parametrize(
    ("statuses", "focus", "said"),
    [
        (("passes", "untouched", "fails"), 0, "Press n to go on with q2, Title."),
        (("untouched", "passes", "fails"), 2, None),
        (("fails", "passes", "passes"), 2, "Press n to go on with q1, Title."),
        (
            ("passes", "passes"),
            1,
            "Check whether the notebook is ready to submit: python -m grader submit 01_a",
        ),
    ],
)
def test_n_goes_to_the_next_that_is_left(statuses, focus, said):
    """Once the question in focus passes, the next one after it is named that is left, at last the first."""
    _, report = line("01_a.ipynb", *statuses)
    closing = [*focus_closing(report, report.questions[focus])]
    assert closing[0] == f"{statuses.count('passes')} of {len(statuses)} public checks pass."
    assert closing[2:] == ([said] if said else [])


@pytest.mark.parametrize(
    ("lines", "following"),
    [
        ([line("01_a.ipynb"), line("03_b.ipynb", "fails")], "Next: fix 01_a.ipynb, as described above."),
        ([line("01_a.ipynb", "fails"), line("03_b.ipynb")], "Next: python -m grader check 01_a q1"),
        ([line("01_a.ipynb", "passes"), line("01_a-Copy1.ipynb", "fails")], "Next: python -m grader submit"),
        ([line("01_a.ipynb", "passes"), line("01_a (1).ipynb")], "Next: python -m grader submit"),
        ([line("01_a-Copy1.ipynb", "fails")], "Next: python -m grader check 01_a-Copy1 q1"),
        (
            [line("01_a.ipynb", "passes"), line("01_ab.ipynb", "fails")],
            "Next: python -m grader check 01_ab q1",
        ),
    ],
)
def test_the_next_step_is_the_first_that_is_open(lines, following):
    """What is broken is mended first, and a copy is not looked at where its original is there."""
    shown = io.StringIO()
    stems = {path: re.match(r"\d\d_[a-z]+", path.name)[0] for path, _ in lines}
    print_table(Console(file=shown, markup=False, width=200), dict(lines), stems)
    assert shown.getvalue().splitlines()[-1].startswith(following)


def test_the_notebooks_of_a_folder_are_known_as_in_grading(folder):
    """By metadata, else by name, else by what they define; of an assignment the one named so comes first."""
    for name in ("01_small-Copy1", "01_small", "02_other"):
        write(folder / f"{name}.ipynb", worked())
    write(folder / "renamed.ipynb", worked())
    write(folder / "03 defines it.ipynb", document([code(ANSWERS["q2"])]))
    write(folder / "notes.ipynb", document([code("x = 1")]))
    (folder / "01_small broken.ipynb").write_text("{")
    (folder / "broken.ipynb").write_text("{")
    found = notebooks_in(folder)
    assert {*found.values()} == {STEM}
    assert [path.stem for path in found] == [
        *("01_small", "01_small broken", "01_small-Copy1", "02_other", "03 defines it", "renamed")
    ]


@pytest.mark.parametrize("command", ["status", "watch"])
def test_a_folder_without_notebooks_is_said(command, tmp_path):
    for place, said in (
        (tmp_path, "there is no notebook such as 01_name.ipynb"),
        ("nowhere", "there is no folder"),
    ):
        done = CliRunner().invoke(main, [command, str(place)])
        assert done.exit_code == 2
        assert said in done.stderr


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"of": 3}'])
def test_a_damaged_report_is_ignored(content, folder):
    write(folder / f"{STEM}.ipynb", worked(q1=ANSWERS["q1"]))
    kept = folder / ".ipynb_checkpoints" / f"{STEM}.status.json"
    kept.parent.mkdir()
    kept.write_bytes(content)
    assert "q1✔" in CliRunner().invoke(main, ["status", str(folder)]).output


def test_a_mark_stays_with_its_question():
    shown = io.StringIO()
    path, report = line("08_functions_and_hooks.ipynb", *["passes"] * 9)
    print_table(Console(file=shown, width=80, soft_wrap=True), {path: report}, {path: path.stem})
    assert "9 of 9  q1✔ q2✔ q3✔ q4✔ q5✔ q6✔ q7✔ q8✔ q9✔" in shown.getvalue()


@pytest.mark.parametrize(
    "command",
    [
        *(f"check {STEM}", f"check {STEM} q1", f"check {STEM} q2", f"check {STEM} q9", "check"),
        *(f"check {STEM} --no-such-option-of-this-command", "status", "status a-folder/that-is/not-here"),
        *("submit", "submit 09_a_notebook_that_is_not_here", f"hint {STEM} q1", f"hint {STEM} q1 2"),
        *(f"hint {STEM} q1 9", f"hint {STEM}", f"reset {STEM} q2", f"reset {STEM} q2 --yes"),
        *(f"reset {STEM} q3", f"reset {STEM} q1 --yes"),
    ],
)
def test_every_command_wraps_at_words(command, folder, monkeypatch):
    """On a terminal no line is longer than it, except a command to copy, and none ends with spaces."""
    monkeypatch.chdir(folder)
    path = write(folder / f"{STEM}.ipynb", worked(q1="def double(x):\n    return x * x", q2="def leaf(n)"))
    terminal = {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "50", "TERM": "xterm"}
    done = CliRunner().invoke(main, command.split(), env=terminal, input="")
    plain = CliRunner().invoke(main, command.split(), input="")
    write(path, worked())
    lines = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", done.output).splitlines()
    assert len(lines) > 1 or len(lines[0]) <= 50
    for line in lines:
        if "Continue?" not in line and str(folder) not in line:  # a prompt; a path
            assert line == line.rstrip()
            assert len(line) <= 50 or line.lstrip().startswith("python -m grader ")
    for shown in re.findall("python -m grader .*", plain.output):
        assert any(line.endswith(shown) for line in lines)
