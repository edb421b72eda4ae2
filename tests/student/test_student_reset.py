"""On a student's machine: `reset` changes one cell and nothing else, and keeps what was there."""

import json
import os
import stat

import pytest
from click.testing import CliRunner
from student_notebooks import ANSWERS, STEM, STUBS, code, document, markdown, released, worked, write

from grader.cli import main
from grader.errors import GraderError
from grader.student.notebook import open_notebook
from grader.student.reset import carry_out, plan


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / ".handout" / f"{STEM}.ipynb", released())
    return tmp_path


def reset(path, question="q1"):
    notebook = open_notebook(path)
    planned = plan(notebook, notebook.question(question))
    return planned, carry_out(notebook, planned)


def test_a_notebook_worked_in_and_reset_is_the_released_one(folder):
    path = write(folder / "01_small.ipynb", worked(q2=ANSWERS["q2"]))
    handed = path.read_bytes()
    write(path, worked(q2=ANSWERS["q2"], q1=ANSWERS["q1"])).chmod(0o640)
    _, kept = reset(path)
    assert path.read_bytes() == handed
    assert kept.read_text() == ANSWERS["q1"] + "\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("form", ["text", "lines"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("indent", [1, 3, "\t", None])
def test_every_other_character_stays(encoding, form, line_end, indent, folder):
    notebook = worked(q1="def double(x):\n    return 'é 漢'")
    for cell in notebook["cells"]:
        cell["metadata"]["odd"] = [1.5, 10**30, "\u2028 \U0001f600 \x1b", {"b": 1, "a": 2}]
        if form == "lines":
            cell["source"] = cell["source"].splitlines(keepends=True)
    path = folder / "01_small.ipynb"

    def written():
        text = json.dumps(notebook, indent=indent, ensure_ascii=False).replace("\n", line_end)
        return text.encode(encoding)

    path.write_bytes(written())
    reset(path)
    stub = STUBS["q1"]
    notebook["cells"][3]["source"] = stub if form == "text" else stub.splitlines(keepends=True)
    assert path.read_bytes() == written()


def test_half_a_pair_of_surrogates_is_no_obstacle(folder):
    notebook = worked(q1=ANSWERS["q1"])
    notebook["cells"][0]["metadata"]["odd"] = "\ud83d"
    path = folder / "01_small.ipynb"
    path.write_text(json.dumps(notebook))
    reset(path)
    notebook["cells"][3]["source"] = STUBS["q1"].splitlines(keepends=True)
    after = json.loads(path.read_text())
    assert "".join(after["cells"][3]["source"]) == STUBS["q1"]
    assert after["cells"][0] == notebook["cells"][0]


def test_a_version_is_never_overwritten(folder):
    path = folder / "01_small.ipynb"
    for answer in ("return 1", "return 2", "return 1"):
        write(path, worked(q1=f"def double(x):\n    {answer}"))
        reset(path)
    kept = {one.name: one.read_text().split()[-1] for one in folder.glob("*.py")}
    assert kept == {"01_small.q1.before-reset.py": "1", "01_small.q1.before-reset-2.py": "2"}


def test_a_cell_that_is_gone_comes_back_in_its_place(folder):
    notebook = worked(q1=ANSWERS["q1"])
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["id"] != "stub-q2"]
    path = write(folder / "01_small.ipynb", notebook)
    planned, kept = reset(path, "q2")
    cells = json.loads(path.read_text())["cells"]
    assert [cell["id"] for cell in cells] == [cell["id"] for cell in released()["cells"]]
    assert (planned.cell, kept, planned.later) == (None, None, ())


def test_without_ids_the_definition_that_counts_is_reset(folder):
    """Of several cells without ids that define the function, the last is replaced; the others are named."""
    sources = ["def double(x):\n    return 1", "double = abs", "def double(x:\n", "double(1)"]
    path = write(folder / "01_small.ipynb", document([*map(code, sources)], assignment_name=STEM))
    planned, kept = reset(path)
    after = json.loads(path.read_text())["cells"]
    sources[2] = STUBS["q1"]
    assert ["".join(cell["source"]) for cell in after] == sources
    assert kept.read_text() == "def double(x:\n"
    assert (planned.others, planned.later) == ((1, 2), ())


def test_a_later_definition_is_told_about(folder):
    notebook = worked(q1=ANSWERS["q1"])
    notebook["cells"].append(code("def double(x):\n    return 2 * x", "mine"))
    path = write(folder / "01_small.ipynb", notebook)
    done = CliRunner().invoke(main, ["reset", str(path), "q1"], input="y\n")
    assert done.exit_code == 0
    assert "Delete code cell 8 (`def double(x):`): it defines double again, and runs later.\n" in done.output
    assert json.loads(path.read_text())["cells"][-1] == notebook["cells"][-1]


def test_nothing_happens_unless_somebody_agrees(folder):
    path = write(folder / "01_small.ipynb", worked(q1=ANSWERS["q1"]))
    before = path.read_bytes(), sorted(folder.iterdir())
    refused = CliRunner().invoke(main, ["reset", str(path), "q1"], input="n\n")
    assert refused.output.startswith(
        "This replaces the cell of q1 in 01_small.ipynb by its starter code, and saves your version.\n"
        "Continue? [y/N]"
    )
    silent = CliRunner().invoke(main, ["reset", str(path), "q1"], input="")
    assert (refused.exit_code, silent.exit_code) == (0, 2)
    assert "Nothing was changed." in refused.output
    assert "add --yes" in silent.stderr
    assert (path.read_bytes(), sorted(folder.iterdir())) == before


def test_a_stub_is_left_alone(folder):
    path = write(folder / "01_small.ipynb", released())
    os.utime(path, (1, 1))
    done = CliRunner().invoke(main, ["reset", str(path), "double", "--yes"])
    assert (done.exit_code, path.stat().st_mtime) == (0, 1)
    assert "Nothing was changed." in done.output


def test_what_was_saved_meanwhile_is_not_lost(folder):
    path = write(folder / "01_small.ipynb", worked(q1=ANSWERS["q1"]))
    notebook = open_notebook(path)
    planned = plan(notebook, notebook.question("q1"))
    newer = write(path, worked(q1=ANSWERS["q1"] + "  # newer")).read_bytes()
    with pytest.raises(GraderError, match="saved meanwhile"):
        carry_out(notebook, planned)
    assert path.read_bytes() == newer
    assert not list(folder.glob(".*.unfinished"))


OLD = {"worksheets": [{"cells": [{"cell_type": "code", "input": "1"}]}], "metadata": {}}
WORKED = json.dumps(worked(q1=ANSWERS["q1"])).encode()


@pytest.mark.parametrize(
    ("content", "is_near", "told"),
    [
        (WORKED, False, "put the notebook that you were given into a folder .handout beside yours"),
        (json.dumps(OLD).encode(), True, "open it there, save it"),
        (WORKED.replace(b"return x + x", b"return x + x  # \xff"), True, "open it there, save it"),
    ],
    ids=["the starter code is not known", "format 3", "bytes that are no UTF-8, so other cells would change"],
)
def test_what_cannot_be_reset_safely_stays_as_it_is(content, is_near, told, folder):
    path = folder / "01_small.ipynb"
    path.write_bytes(content)
    if not is_near:
        (folder / ".handout" / f"{STEM}.ipynb").unlink()
    done = CliRunner().invoke(main, ["reset", str(path), "q1", "--yes"])
    assert done.exit_code == 2
    assert told in done.stderr
    assert path.read_bytes() == content


def test_a_notebook_whose_cells_are_all_gone_gets_one_back(folder):
    path = write(folder / "01_small.ipynb", document([], assignment_name=STEM))
    done = CliRunner().invoke(main, ["reset", str(path), "q1"], input="y\n")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.output.startswith("This inserts the starter code of q1 into 01_small.ipynb.\nContinue? [y/N]")
    (cell,) = json.loads(path.read_text())["cells"]
    assert "".join(cell["source"]) == STUBS["q1"]


def test_a_heading_alone_is_enough_to_find_the_place(folder):
    cells = [
        code("print('hello')"),
        *({**cell, "id": ""} for cell in released()["cells"] if cell["cell_type"] == "markdown"),
    ]
    for cell in cells:
        cell.pop("id", None)
    path = write(folder / "01_small.ipynb", document([*cells, markdown("The end.")], assignment_name=STEM))
    reset(path, "q3")
    after = json.loads(path.read_text())["cells"]
    assert "".join(after[-2]["source"]) == STUBS["q3"]
    assert "id" not in after[-2]
