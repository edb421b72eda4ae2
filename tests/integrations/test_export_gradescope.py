"""The autograder zip: what is in it, and that Otter grades with it in our sandbox and nowhere else."""

import importlib
import io
import json
import os
import pickle
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tiny_course import HALF, RIGHT, write_course, write_notebook

from grader.course.course import Course
from grader.course.settings import read_settings
from grader.errors import SandboxError
from grader.grading import executor
from grader.grading.submission import find_submissions
from grader.integrations.export.gradescope import autograder, settings_toml

# Otter is imported by the tests, not by all who collect them; its imports warn about each other.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

COURSE = Path(__file__).parents[2]
SETTINGS = "[score]\npartial_credit = 0.3\n[points.01_tiny]\nq1 = 3.5\n[feedback]\nhints = false\n"
# As the container of Gradescope does, whose folder is /autograder.
CONTAINER = """
import sys
from grader.integrations.otter_plugin import set_aside
from otter.run.run_autograder import main
set_aside(sys.argv[1])
main(sys.argv[1])
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = write_course(tmp_path_factory.mktemp("zip") / "course")
    (root / "course.toml").write_text(SETTINGS, encoding="utf-8")
    return Course.find(root)


@pytest.fixture(scope="module")
def made(course):
    return autograder(course, "01_tiny")


@pytest.fixture
def container(tmp_path, made):
    """The folder /autograder with the zip unpacked, and its plugin for one notebook."""
    root = tmp_path / "autograder"
    for folder in ("submission/tests", "results", "source"):
        (root / folder).mkdir(parents=True)
    (root / "submission_metadata.json").write_text("{}", encoding="utf-8")
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        archive.extractall(root / "source")
    return root


def plugin_of(container, name="01_tiny.ipynb"):
    sandboxed = importlib.import_module("grader.integrations.otter_plugin").SandboxedGrader
    return sandboxed(str(container / "submission" / name), {}, {"stem": "01_tiny"})


def no_results():
    return importlib.import_module("otter.test_files").GradingResults([])


def otter_config(settings):
    return importlib.import_module("otter.run").AutograderConfig(settings)


def otter_run(archive, notebook, folder):
    """What `otter run` writes, or nothing where it fails; and how it ended."""
    folder.mkdir(parents=True)
    otter = [sys.executable, "-c", "from otter.cli import cli; cli()", "run"]
    command = [*otter, "-a", archive, notebook, "-o", folder]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    results = folder / "results.json"
    return json.loads(results.read_text(encoding="utf-8")) if results.is_file() else None, ended


def grade(folder, submissions, out, students):
    command = [sys.executable, "-m", "grader", "grade", submissions, "--out", out, "--jobs", "1"]
    command += [argument for student in students for argument in ("--student", student)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    return {
        (path.parent.name, path.stem): json.loads(path.read_text(encoding="utf-8"))
        for path in out.glob("submissions/*/*.json")
    }


def test_the_zip_holds_one_assignment_and_what_gradescope_starts(made):
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        names = archive.namelist()
        environment = archive.read("environment.yml").decode()
        config = json.loads(archive.read("otter_config.json"))
        scripts = {name: archive.getinfo(name).external_attr >> 16 for name in ("setup.sh", "run_autograder")}
    assert {"course/solutions/01_tiny.py", "course/tests/hidden/test_01_tiny.py"} <= set(names)
    assert [name for name in names if name.startswith("tests/")] == ["tests/placeholder.py"]
    assert not [name for name in names if name.startswith("files/") or "answers" in name]
    assert all(mode & 0o111 for mode in scripts.values())
    wheel = next(name for name in names if name.endswith(".whl"))
    assert f"- /autograder/source/{wheel}[instructor]\n" in environment
    assert "jupytext==" in environment
    assert "--extra-index-url https://download.pytorch.org/whl/cpu" in environment
    assert f"python={sys.version_info.major}.{sys.version_info.minor}" in environment
    assert "torch==" in environment
    assert config["plugins"] == [{"grader.integrations.otter_plugin.SandboxedGrader": {"stem": "01_tiny"}}]


def test_the_plugin_is_found_by_the_zips_script(container):
    plugin = importlib.import_module("grader.integrations.otter_plugin")
    script = runpy.run_path(container / "source" / "run_otter.py", run_name="imported")
    assert script["set_aside"] is plugin.set_aside


def test_the_same_course_gives_the_same_zip(course, made):
    assert autograder(course, "01_tiny") == made


def test_settings_travel_with_the_zip(course, tmp_path):
    path = tmp_path / "course.toml"
    path.write_text(settings_toml(course.settings, "01_tiny"), encoding="utf-8")
    assert read_settings(path, lambda: {"01_tiny": ["q1", "q2"]}) == course.settings
    path.write_text(settings_toml(course.settings, "02_other"), encoding="utf-8")
    assert read_settings(path, lambda: {"02_other": ["q1"]}).points == {"02_other": {}}


def test_nothing_of_a_student_is_left_where_otter_looks(container):
    submission = container / "submission"
    write_notebook(submission / "01_tiny.ipynb", RIGHT)
    for name in (".OTTER_LOG", "otter.py", "__init__.py", "conftest.py"):
        (submission / name).write_text("raise SystemExit", encoding="utf-8")
    (submission / "course").symlink_to(container)
    (submission / "torch").mkdir()
    plugin = plugin_of(container)
    plugin.before_grading(otter_config({"zips": True}))
    assert sorted(path.name for path in submission.iterdir()) == ["01_tiny.ipynb", "tests"]
    assert (container / "source").is_dir()
    assert plugin.before_execution({"cells": ["anything"]})["cells"] == []


def test_without_a_sandbox_there_is_no_score(container, monkeypatch):
    def no_sandbox(**_):
        raise SandboxError("no seccomp here")

    monkeypatch.setattr(executor, "Zygote", no_sandbox)
    write_notebook(container / "submission" / "01_tiny.ipynb", RIGHT)
    results = no_results()
    with pytest.raises(SandboxError, match="no seccomp"):
        plugin_of(container).after_grading(results)
    assert results.results == {}
    assert type(results).__module__.startswith("otter.")


@pytest.mark.parametrize(
    ("name", "cells", "score"),
    [("01_tiny.ipynb", RIGHT, 7.5), ("essay.ipynb", HALF, 0.9), ("essay.ipynb", ["x = 1"], 0)],
)
def test_the_plugin_gives_otter_our_exact_scores(container, shared_zygote, name, cells, score):
    write_notebook(container / "submission" / name, cells)
    results = no_results()
    plugin_of(container, name).after_grading(results)
    document = results.to_gradescope_dict(otter_config({}))
    assert document["score"] == pytest.approx(score, abs=0) == results.total
    assert [test["max_score"] for test in document["tests"]] == [3.5, 4]
    assert results.possible == 7.5


def test_a_zip_without_a_course_grades_by_no_other(container):
    write_notebook(container / "submission" / "01_tiny.ipynb", RIGHT)
    (container / "source" / "course" / "solutions" / "01_tiny.py").unlink()
    with pytest.raises(Exception, match="contains no course"):
        plugin_of(container).after_grading(no_results())


def odd_folder(folder):
    """A folder has the assignment's name, beside a notebook that answers it under another."""
    for inner in ("01_tiny.ipynb", "named_1"):
        write_notebook(folder / inner / "draft.ipynb", RIGHT[:1], modified=1_600_000_000)
    write_notebook(folder / "essay.ipynb", RIGHT[:1])


def odd_pipe(folder):
    """A pipe, at which a reader would wait, a link to nowhere, and a socket's like."""
    os.mkfifo(folder / "01_tiny.ipynb")
    (folder / "02.ipynb").symlink_to("/dev/zero")
    (folder / "inner").symlink_to(folder)


def odd_names(folder):
    """Names that are long, hidden, or not UTF-8."""
    deep = folder.joinpath(*["d" * 200] * 3)
    deep.mkdir(parents=True)
    write_notebook(deep / ("n" * 240 + ".ipynb"), RIGHT[:1])
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.ipynb")).write_bytes(b"")


@pytest.mark.parametrize("odd", [odd_folder, odd_pipe, odd_names])
def test_whatever_was_submitted_becomes_one_notebook_of_the_assignment(odd, course, tmp_path):
    lay_out = importlib.import_module("grader.integrations.otter_plugin")._lay_out
    submitted = tmp_path / "submitted"
    submitted.mkdir()
    odd(submitted)
    folder = tmp_path / "submissions" / "student"
    lay_out(course, "01_tiny", submitted, folder)
    found = find_submissions(folder.parent, course.functions)
    assert [one.assignment for one in found].count("01_tiny") == 1
    entries = list(folder.rglob("*"))
    assert all(path.is_dir() or path.is_file() for path in entries)
    assert not any(path.is_symlink() for path in entries)


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@pytest.mark.long
def test_a_container_grades_whatever_was_submitted(container, tmp_path):
    """Two notebooks, of which the newer counts, a log that is a trap, a course of the student's own."""
    submission, mark = container / "submission", tmp_path / "mark"
    write_notebook(submission / "old" / "01_tiny.ipynb", HALF, modified=1_600_000_000)
    write_notebook(submission / "01_tiny (1).ipynb", RIGHT)
    (submission / ".OTTER_LOG").write_bytes(pickle.dumps(Trap(mark)))
    (submission / "otter.py").write_text(f"open({str(mark)!r}, 'w')", encoding="utf-8")
    write_course(submission / "course")
    subprocess.run([sys.executable, "-c", CONTAINER, container], check=True, capture_output=True, timeout=120)
    document = json.loads((container / "results" / "results.json").read_text(encoding="utf-8"))
    assert document["score"] == 7.5
    assert not mark.exists()


@pytest.mark.long
@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_a_container_gives_a_broken_notebook_nothing_and_says_why(container, content):
    (container / "submission" / "01_tiny.ipynb").write_text(content, encoding="utf-8")
    subprocess.run([sys.executable, "-c", CONTAINER, container], check=True, capture_output=True, timeout=120)
    document = json.loads((container / "results" / "results.json").read_text(encoding="utf-8"))
    assert document["score"] == 0
    assert "could not be graded" in document["output"]


@pytest.mark.long
def test_otter_run_gives_exactly_the_scores_of_grade(tmp_path):
    students = ("emil", "kim", "ivo", "omar", "gus", "dara")
    results = grade(COURSE, COURSE / "submissions", tmp_path / "results", students)
    course = Course.find(COURSE)
    zips = {stem: tmp_path / f"{stem}.zip" for stem in course.stems}
    for stem, path in zips.items():
        path.write_bytes(autograder(course, stem))
    compared = 0
    for (student, stem), result in results.items():
        notebook = COURSE / "submissions" / result["notebook"]
        document, ended = otter_run(zips[stem], notebook, tmp_path / "runs" / student / stem)
        if student == "dara":  # no notebook at all, of which Otter makes no result
            assert document is None
            continue
        assert document is not None, ended.stderr[-2000:]
        assert document["score"] == result["score"], (student, stem)
        scores = [(test["score"], test["max_score"]) for test in document["tests"]]
        assert scores == [(one["score"], one["max_score"]) for one in result["questions"]]
        compared += 1
    assert compared == len(results) - 1 >= 5
