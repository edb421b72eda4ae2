"""On a student's machine: what is known of a notebook in Jupyter that is newer than its file."""

import os

import pytest
from click.testing import CliRunner
from student_notebooks import ANSWERS, STEM, released, worked, write

from grader.cli import main
from grader.student.notebook import open_notebook
from grader.student.unsaved import note_check, unsaved_line

SAVED = 1_000_000  # when the file was saved


@pytest.fixture
def path(tmp_path, warm_runners):
    path = write(tmp_path / f"{STEM}.ipynb", worked(q1=ANSWERS["q1"]))
    os.utime(path, (SAVED, SAVED))
    return path


@pytest.mark.parametrize(
    ("source", "ended", "is_unsaved"),
    [
        ("def double(x):\n    return 2 * x", SAVED + 1.0, True),
        ("def double(x):\n    return 2 * x", SAVED - 1.0, False),
        (ANSWERS["q1"] + "\n", SAVED + 1.0, False),
    ],
)
def test_code_that_was_checked_and_is_not_in_the_file_is_said(source, ended, is_unsaved, path):
    """It is said of a cell that ran after the save and is not in the file; never of one that may be older."""
    note_check(path, "q2", ANSWERS["q2"], SAVED - 5.0)
    note_check(path, "q1", source, ended)
    where = f"in Jupyter you checked other code of q1 than {STEM}.ipynb has"
    said = f"{where}. Save the notebook there, if it is still open."
    assert unsaved_line(open_notebook(path)) == (f"Not saved since: {said}" if is_unsaved else None)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"q1": 3}', b'{"q1": ["x", "later"]}'])
def test_notes_that_say_nothing_are_left_alone(content, path):
    notes = path.parent / ".ipynb_checkpoints" / f"{STEM}.checked.json"
    notes.parent.mkdir()
    notes.write_bytes(content)
    assert unsaved_line(open_notebook(path)) is None
    note_check(path, "q1", "x = 1", SAVED + 1.0)
    assert "q1" in unsaved_line(open_notebook(path))


def test_nothing_is_noted_where_no_file_is_open(tmp_path):
    note_check(tmp_path / "console-1", "q1", "x = 1", 1.0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["check", "status", "submit"])
def test_the_commands_say_it(command, path):
    write(path.parent / ".handout" / f"{STEM}.ipynb", released())
    note_check(path, "q1", "x = 1", SAVED + 1.0)
    done = CliRunner().invoke(main, [command, str(path)])
    assert "Not saved since: in Jupyter you checked other code of q1" in done.output
