"""What jupytext made of a master is remembered where the doctor remembers things, and nowhere else."""

import pytest
from tiny_course import edit, write_course

from grader.course.notebook_source import read_assignment
from grader.memory import FOLDER


@pytest.fixture
def master(tmp_path):
    """A master whose author has asked the doctor before."""
    root = write_course(tmp_path / "course")
    (root / FOLDER).mkdir()
    return root / "solutions" / "01_tiny.py"


def test_an_unchanged_master_is_not_read_by_jupytext_again(master, monkeypatch):
    first = read_assignment(master)
    monkeypatch.setattr("jupytext.reads", lambda *_, **__: pytest.fail("it was read again"))
    assert read_assignment(master) == first


def test_an_edit_is_read(master):
    """What is remembered belongs to the text, not to the file."""
    read_assignment(master)
    edit(master, "# 1. Tiny", "# 1. Another title")
    assert read_assignment(master).title == "Another title"


def test_a_spoiled_memory_is_read_anew(master):
    first = read_assignment(master)
    (remembered,) = (master.parent.parent / FOLDER).glob("*.source.json")
    remembered.write_text('{"', encoding="utf-8")
    assert read_assignment(master) == first


def test_nothing_is_written_where_the_doctor_was_not(master):
    folder = master.parent.parent / FOLDER
    folder.rmdir()
    read_assignment(master)
    assert not folder.exists()
