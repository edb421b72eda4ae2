"""On a student's machine: `watch` and `status`, which look at more than one notebook."""

import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from patience import time_limit
from rich.console import Console
from student_notebooks import ANSWERS, STEM, code, document, handed_out, worked, write

from grader.cli import main
from grader.errors import GraderError
from grader.student.display import print_table
from grader.student.folder import Watcher
from grader.student.notebook import notebooks_in
from grader.student.process import RunnerPool

ROOT = Path(__file__).resolve().parents[2]
WAITING = "Waiting for the next save. Ctrl-C ends this."


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / ".handout" / f"{STEM}.ipynb", handed_out())
    return tmp_path


def saves(path, versions):
    """Save one version after the other, each when it is asked for."""
    for version in versions:
        if isinstance(version, str):
            path.write_text(version)
        else:
            write(path, version)
        yield {path}


@pytest.mark.long
def test_each_save_is_answered_by_what_it_changed(folder):
    """First how it stands, then what passes now or no more; code that stayed is not run again."""
    path = folder / f"{STEM}.ipynb"
    shown = io.StringIO()
    same = worked(**ANSWERS)
    same["cells"][0]["source"] = "# Another title"
    versions = [worked(q1=ANSWERS["q1"]), worked(**ANSWERS), same, "{", worked(q2=ANSWERS["q2"])]
    with RunnerPool() as supply:
        Watcher(Console(file=shown, markup=False), 20, supply).watch(saves(path, versions))
    parts = [part.splitlines() for part in shown.getvalue().split(WAITING)]
    assert len(parts) == 5  # of six, one says nothing
    first, second, broken, third, _ = parts
    assert [line for line in first if line.startswith("Start")] == ["Start with q2, Title of q2."]
    assert second[-2:] == ["✔ q2 now passes", "✔ q3 now passes"]
    assert "is not a notebook" in " ".join(broken)
    assert third[-2:] == ["✘ q1 does not pass any more", "✘ q3 does not pass any more"]


def test_a_terminal_is_cleared_and_a_pipe_is_not(folder):
    """On a terminal every look begins on an empty screen, and what was shown stays above it."""
    path = write(folder / f"{STEM}.ipynb", worked())
    path.write_text("{")
    shown = {is_terminal: io.StringIO() for is_terminal in (True, False)}
    with RunnerPool() as supply:
        for is_terminal, file in shown.items():
            console = Console(file=file, force_terminal=is_terminal, height=7, width=80, _environ={})
            Watcher(console, 20, supply).check(path)
    assert shown[True].getvalue().startswith("\n" * 6 + "\x1b[H")
    assert "\x1b[H" not in shown[False].getvalue()


def read_until(stream, end):
    lines = []
    while not lines or end not in lines[-1]:
        line = stream.readline().decode()
        assert line, f"it ended after {lines}"
        lines.append(line.rstrip())
    return lines


def test_watch_sees_a_save_and_ends_with_one_line(folder):
    """The command begins with the newest notebook, answers a save, and Ctrl-C ends it and all it started."""
    path = write(folder / f"{STEM}.ipynb", worked())
    with subprocess.Popen(
        [sys.executable, "-m", "grader", "watch", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            with time_limit(120):
                assert "0 of 3 questions pass." in read_until(process.stdout, WAITING)
                new = write(folder / ".new.ipynb", worked(q1=ANSWERS["q1"]))
                new.replace(path)  # as Jupyter saves
                assert "✔ q1 now passes" in read_until(process.stdout, WAITING)
                process.send_signal(signal.SIGINT)
                _, said = process.communicate()
        finally:
            process.kill()
    assert (process.returncode, said) == (130, b"grader: stopped watching.\n")


def test_status_shows_every_notebook(folder):
    """One row for each notebook, points of public checks, what cannot be read, and where to go on."""
    write(folder / f"{STEM}.ipynb", worked(q1="def double(x):\n    return 4", q3=ANSWERS["q3"]))
    (folder / "02_broken.ipynb").write_text("{")
    write(folder / "my work (1).ipynb", handed_out())
    write(folder / "no_course.ipynb", {"cells": [], "metadata": {}})
    done = CliRunner().invoke(main, ["status", str(folder)])
    assert done.exit_code == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[:5] == [
        "notebook points questions",
        "01_small 2.5 of 9.5 q1 ✘ q2 · q3 ✔",
        "my work (1) (of 01_small) 0 of 9.5 q1 · q2 · q3 ·",
        "02_broken - cannot be checked, see below",
        "",
    ]
    assert "02_broken.ipynb is not a notebook" in done.stdout
    assert lines[-1] == f"Next: python -m grader check {folder / STEM} q1"
    assert done.stderr == ""


def line(name, *statuses):
    """A row of the table; without standings that of a notebook that cannot be read."""
    if not statuses:
        return Path(name), GraderError(f"{name} is broken.")
    notebook = SimpleNamespace(argument=Path(name).stem)
    questions = [
        SimpleNamespace(status=status, points=0, question=SimpleNamespace(id=f"q{number}", points=1))
        for number, status in enumerate(statuses, start=1)
    ]
    following = next((question for question in questions if question.status != "passes"), None)
    return Path(name), SimpleNamespace(notebook=notebook, questions=questions, next_question=following)


@pytest.mark.parametrize(
    ("lines", "following"),
    [
        ([line("01_a.ipynb"), line("03_b.ipynb", "fails")], "Next: mend 01_a.ipynb, as said above."),
        ([line("01_a.ipynb", "fails"), line("03_b.ipynb")], "Next: python -m grader check 01_a q1"),
        ([line("01_a.ipynb", "passes"), line("01_a-Copy1.ipynb", "fails")], "Everything passes."),
        ([line("01_a.ipynb", "passes"), line("01_a (1).ipynb")], "Everything passes."),
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
    assert [(path.stem, stem) for path, stem in notebooks_in(folder).items()] == [
        ("01_small", STEM),
        ("01_small broken", STEM),
        ("01_small-Copy1", STEM),
        ("02_other", STEM),
        ("03 defines it", STEM),
        ("renamed", STEM),
    ]


@pytest.mark.parametrize("command", ["status", "watch"])
def test_a_folder_without_notebooks_is_said(command, tmp_path):
    """An empty folder, or none, ends with 2 and says where to go."""
    for place, said in (
        (tmp_path, "there is no notebook such as 01_name.ipynb"),
        ("nowhere", "there is no folder"),
    ):
        done = CliRunner().invoke(main, [command, str(place)])
        assert done.exit_code == 2
        assert said in done.stderr
