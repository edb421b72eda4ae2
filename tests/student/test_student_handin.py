"""On a student's machine: `handin`, which says whether a notebook is ready, and which file to upload."""

import re

import pytest
from click.testing import CliRunner
from student_notebooks import ANSWERS, STEM, code, handed_out, worked, write

from grader.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, warm_runners):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / ".handout" / f"{STEM}.ipynb", handed_out())
    return tmp_path


def handin(*arguments):
    """The exit status and what is said, by lines."""
    done = CliRunner().invoke(main, ["handin", *arguments])
    return done.exit_code, done.output.splitlines()


def test_a_notebook_that_is_ready_is_named_in_full(folder):
    """Everything that was looked at is listed, then the file, its size and when it was saved."""
    path = write(folder / f"{STEM}.ipynb", worked(**ANSWERS))
    later = handed_out()
    later["metadata"]["otter"]["assignment_name"] = "02_later"
    for place in (folder, folder / ".handout"):
        write(place / "02_later.ipynb", later)
    status, lines = handin()
    assert status == 0
    assert lines[:6] == [
        f"{STEM}.ipynb",
        "  ✔ All cells run from top to bottom in a fresh Python.",
        "  ✔ No question is as it was handed out.",
        "  ✔ The public checks pass.",
        "  ✔ The file has the name it was handed out with.",
        "  Ready. Save it in Jupyter if you have not, then upload this file, or commit and push it:",
    ]
    assert re.fullmatch(rf"  {re.escape(str(path))}  \(\d+ KB, saved \d{{4}}-\d\d-\d\d \d\d:\d\d\)", lines[6])
    assert lines[7:] == ["", "Not started, so left out: 02_later."]


def with_a_cell_that_stops():
    notebook = worked(**ANSWERS)
    notebook["cells"].append(code("1 / 0"))
    return notebook


@pytest.mark.parametrize(
    ("notebook", "said"),
    [
        (worked(q1=ANSWERS["q1"]), "✘ Not started, or not defined: q2, q3. They would earn nothing."),
        (
            worked(**{**ANSWERS, "q3": "class Counter:\n    def __call__(self): return 1"}),
            "✘ The public check does not pass: q3. Look: python -m grader check 01_small q3",
        ),
        (with_a_cell_that_stops(), "✘ Not all cells run: mend or delete those named below"),
    ],
)
def test_what_should_be_looked_at_first_is_said(notebook, said, folder):
    """A stub, a failed check or a cell that stops ends with 1, and the file can be handed in all the same."""
    write(folder / f"{STEM}.ipynb", notebook)
    status, lines = handin(STEM)
    assert status == 1
    assert any(line.strip().startswith(said) for line in lines)
    assert "  Not ready yet. You can hand it in all the same; this is the file:" in lines


def test_a_renamed_notebook_and_its_copy_are_ready(folder):
    """The name is advice only; where two answer the same assignment, which one counts is said."""
    write(folder / "mine (1).ipynb", worked(**ANSWERS))
    write(folder / f"{STEM}-Copy1.ipynb", worked(**ANSWERS))
    status, lines = handin("mine (1).ipynb")
    assert status == 0
    assert (
        f"  - It was handed out as {STEM}.ipynb. The grader knows it all the same, people may not." in lines
    )
    assert (
        f"  - For the same assignment there is {STEM}-Copy1.ipynb."
        " Where you hand in both, the last saved one counts." in lines
    )


@pytest.mark.parametrize(
    ("place", "content", "status", "said"),
    [
        (f"{STEM}.ipynb", "{\n<<<<<<< HEAD\n", 1, "Take one of the two versions, `git checkout --ours"),
        (f"{STEM}.ipynb", "{", 1, "its text is not JSON"),
        (f".ipynb_checkpoints/{STEM}-checkpoint.ipynb", "{", 2, "is an older version that Jupyter keeps"),
        ("02_other", None, 2, "there is no notebook 02_other"),
        (".", None, 2, "there is no notebook such as 01_name.ipynb"),
    ],
)
def test_what_cannot_be_handed_in_is_said(place, content, status, said, folder):
    """A conflict, a damaged file, a checkpoint or a wrong name, each with what to do."""
    if content is not None:
        path = folder / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    found, lines = handin(place)
    assert found == status
    assert said in " ".join(lines)


def test_where_nothing_is_begun_there_is_nothing_to_hand_in(folder):
    """Notebooks as handed out are not looked at, and where to begin is said."""
    write(folder / f"{STEM}.ipynb", handed_out())
    assert handin() == (
        1,
        [
            f"Not started, so left out: {STEM}.",
            f"There is nothing to hand in yet. Begin with: python -m grader check {STEM}",
        ],
    )
