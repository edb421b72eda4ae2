"""On a student's machine: `submit` says whether a notebook is ready, and which file to upload."""

import re

import pytest
from click.testing import CliRunner
from student_notebooks import ANSWERS, COVERAGE_OF_SEVERAL, STEM, code, released, worked, write

from grader.cli import main
from grader.student.process import RunnerPool


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, warm_runners):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / ".handout" / f"{STEM}.ipynb", released())
    return tmp_path


def submit(*arguments):
    done = CliRunner().invoke(main, ["submit", *arguments])
    return done.exit_code, done.output.splitlines()


def hand_out_another(folder):
    """A second notebook, which nobody has started."""
    later = released()
    later["metadata"]["otter"]["assignment_name"] = "02_later"
    for place in (folder, folder / ".handout"):
        write(place / "02_later.ipynb", later)


def test_a_notebook_that_is_ready_is_named_in_full(folder):
    path = write(folder / f"{STEM}.ipynb", worked(**ANSWERS))
    hand_out_another(folder)
    status, lines = submit()
    assert status == 0
    assert lines[:6] == [
        f"{STEM}.ipynb",
        "  ✔ All cells run from top to bottom in a fresh Python.",
        "  ✔ No question is still starter code.",
        "  ✔ The public checks pass.",
        "  ✔ The file has its original name.",
        "  Ready. Save the notebook in Jupyter, then upload this file, or commit and push it:",
    ]
    assert re.fullmatch(rf"  {re.escape(str(path))}  \(\d+ KB, saved \d{{4}}-\d\d-\d\d \d\d:\d\d\)", lines[6])
    assert lines[7:] == ["", COVERAGE_OF_SEVERAL, "Not started, so ignored: 02_later."]


def answered(q3=ANSWERS["q3"], *cells):
    """A notebook in which every question is answered, and these cells below."""
    notebook = worked(**{**ANSWERS, "q3": q3})
    notebook["cells"] += map(code, cells)
    return notebook


WRONG = "class Counter:\n    def __call__(self): return 1"


@pytest.mark.parametrize(
    ("notebook", "said"),
    [
        (worked(q1=ANSWERS["q1"]), "✘ Still the starter code: q2, q3. These questions would earn 0 points."),
        (answered(WRONG), "✘ The public check fails: q3. To see why: python -m grader check 01_small q3"),
        (answered("class Count:\n    pass"), "✘ Not defined: q3. This question would earn 0 points."),
        (answered(ANSWERS["q3"], "1 / 0"), "✘ A cell fails: fix or delete it, because Jupyter stops there."),
    ],
)
def test_problems_are_listed_with_the_file(notebook, said, folder):
    """Starter code, a failed check or a failed cell gives exit status 1; the file can still be submitted."""
    write(folder / f"{STEM}.ipynb", notebook)
    status, lines = submit(STEM)
    assert status == 1
    assert any(line.strip().startswith(said) for line in lines)
    assert "  Not ready yet. You can still submit it; this is the file:" in lines


def test_a_cell_that_does_not_run_follows_its_remark(folder):
    write(folder / f"{STEM}.ipynb", answered("class Counter\n    pass", "1 / 0"))
    status, lines = submit(STEM)
    assert status == 1
    assert lines[1:8] == [
        "  ✘ Cells fail: fix or delete them, because Jupyter stops there.",
        "    ! line 1 of the cell of q3 stopped with SyntaxError: expected ':'",
        "        class Counter",
        "    ! code cell 8 (`1 / 0`), line 1, stopped with ZeroDivisionError: division by zero",
        "        1 / 0",
        "  ✘ Not defined, because the cell does not run: q3. This question would earn 0 points.",
        "  ✔ The public checks pass.",
    ]


@pytest.mark.parametrize("earlier", [["status"], ["submit"], ["check", STEM]])
def test_only_what_has_changed_runs(earlier, folder, monkeypatch):
    """`submit` and `status` run no untouched notebook, and none that is as it was at its last report."""
    path = write(folder / f"{STEM}.ipynb", worked(**ANSWERS))
    hand_out_another(folder)
    CliRunner().invoke(main, earlier)
    with monkeypatch.context() as nothing:
        nothing.setattr(RunnerPool, "take", lambda _: pytest.fail("a notebook ran again"))
        status, lines = submit()
        CliRunner().invoke(main, ["status"])
    assert (status, lines[-1]) == (0, "Not started, so ignored: 02_later.")
    write(path, worked(q1=ANSWERS["q1"]))
    assert submit()[0] == 1


def test_a_renamed_notebook_and_its_copy_are_ready(folder):
    write(folder / "mine (1).ipynb", worked(**ANSWERS))
    write(folder / f"{STEM}-Copy1.ipynb", worked(**ANSWERS))
    status, lines = submit("mine (1).ipynb")
    assert status == 0
    assert (
        f"  - Its original name is {STEM}.ipynb. The grader still recognizes it, people might not." in lines
    )
    assert (
        f"  - Another notebook here answers the same assignment: {STEM}-Copy1.ipynb."
        " If you submit both, the one saved last counts." in lines
    )


@pytest.mark.parametrize(
    ("place", "content", "status", "said"),
    [
        (f"{STEM}.ipynb", "{", 1, "its text is not JSON"),
        (f".ipynb_checkpoints/{STEM}-checkpoint.ipynb", "{", 2, "is an older version that Jupyter keeps"),
        ("02_other", None, 2, "there is no notebook 02_other"),
        (".", None, 2, "there is no notebook such as 01_name.ipynb"),
    ],
)
def test_a_file_that_cannot_be_submitted_gets_advice(place, content, status, said, folder):
    if content is not None:
        path = folder / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    found, lines = submit(place)
    assert found == status
    assert said in " ".join(lines)


def test_without_a_started_notebook_there_is_nothing_to_submit(folder):
    write(folder / f"{STEM}.ipynb", released())
    start = f"There is nothing to submit yet. Start with: python -m grader check {STEM}"
    assert submit() == (1, [f"Not started, so ignored: {STEM}.", start])
