"""`release` writes what students get, keeps what others wrote there, and gives nothing away."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from leaks import EVERYDAY_NAMES, Secrets, _texts
from packaging.version import Version
from tiny_course import HALF, RIGHT, add_assignment, built, edit, write_course, write_notebook
from workflow import read_workflow, run_steps

import grader.integrations.release
from grader.cli import main
from grader.course.course import Course
from grader.course.new import write_new
from grader.errors import GraderError
from grader.files import write_atomic
from grader.integrations.release import MANIFEST, release
from grader.integrations.release.wheel import SOURCES, build_wheel
from grader.version import __version__

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "grader"
MASTERS = sorted((ROOT / "solutions").glob("*.py"))
TEXTS = [path.read_text(encoding="utf-8") for path in MASTERS]
WITH_BONUS_TASKS = sum(len(re.findall(r'tags=\["question ', text)) for text in TEXTS)


def tiny(tmp_path):
    """The tiny course, with its assignments built."""
    return built(write_course(tmp_path / "course"))


def bytes_of(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(SOURCES, tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def one_wheel(wheel, monkeypatch):
    """Lets releases take the wheel that is built, seconds each time on a busy machine."""
    monkeypatch.setattr(grader.integrations.release, "build_wheel", lambda *_: wheel)


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The student repository of this course."""
    folder = tmp_path_factory.mktemp("real") / "repository"
    release(Course.find(ROOT), folder)
    return folder


@pytest.fixture(scope="module")
def secrets():
    return Secrets(ROOT)


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    """The wheel as it would be installed: a folder to import from, and nothing of the course near it."""
    site = tmp_path_factory.mktemp("installed") / "site"
    zipfile.ZipFile(wheel).extractall(site)
    return site


def test_a_release_gives_nothing_away(real, secrets):
    assert secrets.found_in(real) == []


def test_autograders_for_classroom_50_give_nothing_away(real, secrets, tmp_path, monkeypatch):
    """Everybody can read them, so the same holds for them; the wheel in each is the student repository's."""
    (wheel,) = real.glob("wheels/*.whl")
    monkeypatch.setattr(grader.integrations.release, "build_wheel", lambda *_: wheel)
    release(Course.find(ROOT), tmp_path, classroom50=True)
    wheels = [*tmp_path.glob("autograders/*/*.whl")]
    assert len(wheels) == len([*tmp_path.glob("autograders/*/autograder.py")]) == len(MASTERS)
    for path in wheels:
        assert path.read_bytes() == wheel.read_bytes()
        path.unlink()  # it is searched above
    assert secrets.found_in(tmp_path) == []


@pytest.mark.usefixtures("one_wheel")
def test_solutions_are_released_on_request_only(tmp_path):
    course = Course.find(ROOT)
    done = CliRunner().invoke(main, ["release", "--out", str(tmp_path), "--solutions"])
    assert done.exit_code == 0
    for stem in course.stems:
        page = (tmp_path / "solutions" / f"{stem}.md").read_text(encoding="utf-8")
        for question in course.assignment(stem).questions:
            for text in (question.answer, question.afterword):
                _, found, page = page.partition(text)
                assert found, f"{stem} {question.id}"
    release(course, tmp_path)
    assert not (tmp_path / "solutions").exists()


def test_the_search_knows_every_answer_and_every_check(secrets):
    assert all(secrets.answers.values())
    assert len(secrets.answers) >= WITH_BONUS_TASKS  # more, where an answer stands in two places of its cell
    for stem in (path.stem for path in MASTERS):
        for place in (f"tests/hidden/test_{stem}.py", f"tests/answers/{stem}.py"):
            assert list(secrets.lines.values()).count(place) > 50
            assert list(secrets.words.values()).count(place) > 20
    assert "interrupt_of_the_worker" in secrets.words


def test_all_that_is_called_everyday_is():
    """The list of what the search leaves out holds nothing that the package does not say."""
    paths = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.txt")]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    assert set(re.findall(r"\w+", texts)) >= EVERYDAY_NAMES


def zipped(name, content):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, content)
    return made.getvalue()


def leaks():
    """What a release may give away: by what it is, a file's path and its content."""
    notebook = json.loads((ROOT / "assignments/01_leaves.ipynb").read_text(encoding="utf-8"))
    checks = (ROOT / "tests/hidden/test_01_leaves.py").read_text(encoding="utf-8")
    (assertion,) = re.findall(r"^def test_\w+\(.*?(?=^@|\Z)", checks, re.DOTALL | re.MULTILINE)[:1]
    diagnosis = max(re.findall(r'"(The [^"{}]+)"', checks), key=len)
    known = (ROOT / "tests/answers/05_inplace_reinit.py").read_text(encoding="utf-8")[-600:]
    (answer,) = re.findall(r"# BEGIN SOLUTION\n(.*?)# STUB", TEXTS[0], re.DOTALL)[:1]
    comment = [f"#   {line}" for line in answer.splitlines(keepends=True)]
    output = {"output_type": "stream", "name": "stdout", "text": answer}
    deep = {**notebook["metadata"]["otter"], "kept": [{"deep": answer}]}
    wheel, first = "autograd_grader-1.0.0-py3-none-any.whl", "01_leaves.ipynb"

    def with_cell(**fields):
        cell = {"cell_type": "code", "metadata": {}, "source": "", "outputs": [], **fields}
        return json.dumps({**notebook, "cells": [*notebook["cells"], cell]})

    return {
        "metadata": (first, json.dumps({**notebook, "metadata": {"otter": deep}})),
        "a comment of a cell": (first, with_cell(source=comment)),
        "an output": (first, with_cell(outputs=[output])),
        "the wheel": (wheel, zipped("grader/more.py", checks[len(checks) // 2 :])),
        "compiled checks": (wheel, zipped("grader/__pycache__/more.cpython-311.pyc", b"\0\0\0\0")),
        "a known answer in a nested archive": ("outer.zip", zipped("inner.bin", zipped("a.txt", known))),
        "a diagnosis": ("README.md", f"You may read: {diagnosis} And so on.\n"),
        "the name of an attack": ("README.md", "See interrupt_of_the_worker for this.\n"),
        "a check in a docstring": (
            wheel,
            zipped("grader/contracts/check.py", f'"""As in:\n\n{assertion}\n"""\n'),
        ),
        "a file by its name": ("tests/hidden/empty.py", ""),
    }


@pytest.mark.parametrize(("path", "content"), leaks().values(), ids=leaks())
def test_the_search_would_find_a_leak(path, content, secrets, tmp_path):
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_bytes(content.encode() if isinstance(content, str) else content)
    assert secrets.found_in(tmp_path)


@pytest.mark.parametrize(
    "name", ["results/run.json", "assignments/x.json", "course.toml.bak", "assignments/tests/notes.txt"]
)
def test_the_seed_of_a_run_stays_at_home(tmp_path, one_wheel, name):
    course = tiny(tmp_path)
    (course.root / name).parent.mkdir(parents=True, exist_ok=True)
    (course.root / name).write_text('{"seed": 918273645546}')
    release(course, tmp_path / "out")
    for file, content in bytes_of(tmp_path / "out").items():
        assert not [text for _, text in _texts(file, content) if "918273645546" in text]


def test_the_notebooks_are_those_of_assignments_byte_for_byte(real):
    files = bytes_of(real)
    stems = [path.stem for path in (ROOT / "assignments").glob("*.ipynb")]
    for stem in stems:
        expected = (ROOT / "assignments" / f"{stem}.ipynb").read_bytes()
        assert files[f"{stem}.ipynb"] == files[f".handout/{stem}.ipynb"] == expected
    checks = {name: content for name, content in files.items() if name.startswith("tests/")}
    assert checks == {name: (ROOT / "assignments" / name).read_bytes() for name in checks}
    assert len(checks) == WITH_BONUS_TASKS and len(stems) == len(MASTERS)
    assert sum(name.endswith(".ipynb") for name in files) == 2 * len(stems)


def test_what_is_installed_is_pinned(real):
    """requirements.txt asks for the versions the course is tested with, and for the wheel that lies there."""
    lines = (real / "requirements.txt").read_text().splitlines()
    pins = {line for line in lines if "==" in line}
    assert pins <= set((ROOT / "constraints.txt").read_text().splitlines())
    assert {pin.partition("==")[0] for pin in pins} == {"torch", "jupyterlab"}
    (wheel,) = [line for line in lines if line.endswith(".whl")]
    assert (real / wheel).is_file()


def test_every_way_to_install_tries_the_small_build_first(real):
    container = json.loads((real / ".devcontainer/devcontainer.json").read_text())
    workflow = read_workflow(real / ".github/workflows/classroom.yml")
    (install,) = [step for step in workflow["jobs"]["feedback"]["steps"] if step.get("name") == "Install"]
    readme = (real / "README.md").read_text(encoding="utf-8")
    first, second = container["postCreateCommand"].split("; ")
    assert f"{first}\n{second}\n" in readme and f"{first}\n{second}\n" in install["run"]
    (torch,) = re.findall(r"(?m)^torch==\S+$", (real / "requirements.txt").read_text())
    assert f" {torch} || echo '" in first


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash", "fish"])
def test_where_the_small_build_is_not_to_be_had_a_sentence_says_so(real, shell, tmp_path):
    """The first command then ends well, at once, with what to do."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    container = json.loads((real / ".devcontainer/devcontainer.json").read_text())
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = [shell, "-c", container["postCreateCommand"].split("; ")[0]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "cannot be reached. Go on with the next line" in done.stdout


def test_the_readme_names_commands_and_files_that_exist(real):
    text = (real / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"python -m grader (\w+)", text)) <= set(main.commands)
    assert all((real / name).is_file() for name in re.findall(r"`?(\d\d_\w+\.ipynb)", text))
    assert "50 % of its points" in text and text.count("`make_weight` | 5 |") == 1
    assert "[[" not in text and "[%" not in text


@pytest.fixture
def workflow(real):
    return read_workflow(real / ".github/workflows/classroom.yml")


def test_the_workflow_can_do_little_and_not_for_long(workflow):
    job = workflow["jobs"]["feedback"]
    assert workflow["permissions"] == {"contents": "read"}
    assert set(workflow["on"]) == {"push", "workflow_dispatch"}
    assert job["timeout-minutes"] <= 30 and workflow["concurrency"]["cancel-in-progress"]
    assert "secrets" not in json.dumps(workflow)
    assert not [step for step in job["steps"] if "${{" in step.get("run", "")]


def test_what_is_installed_is_saved_before_anything_can_be_red(workflow):
    """A push installs what no earlier push kept, and keeps it; then one step checks all questions."""
    steps = workflow["jobs"]["feedback"]["steps"]
    names = [step.get("name") or step["uses"].partition("@")[0] for step in steps]
    restore, install, save, check = (
        names.index(name)
        for name in ("actions/cache/restore", "Install", "actions/cache/save", "All questions")
    )
    assert restore < install < save < check
    assert {"requirements.txt", "wheels/*"} <= set(re.findall(r"'([^']+)'", steps[restore]["with"]["key"]))
    assert steps[save]["with"]["path"] == steps[restore]["with"]["path"] == ".venv"
    missed = f"steps.{steps[restore]['id']}.outputs.cache-hit != 'true'"
    assert {steps[number]["if"] for number in (install, save)} == {missed}
    assert ".venv/bin/python -P -m grader check --github ||" in steps[check]["run"]
    assert "continue-on-error" not in steps[check]


def run_workflow(repository, site):
    """Run the steps of the workflow here, but for actions and the network: the status and the summary."""
    workflow = read_workflow(repository / ".github/workflows/classroom.yml")
    steps = workflow["jobs"]["feedback"]["steps"]
    steps[:] = [step for step in steps if step.get("name") != "Install"]
    (repository / ".venv").symlink_to(sys.prefix)
    summary = repository.parent / "summary.md"
    files = {"GITHUB_OUTPUT": str(repository.parent / "output"), "GITHUB_STEP_SUMMARY": str(summary)}
    environment = {**os.environ, "PYTHONPATH": str(site), **files}
    printed, status = run_steps(workflow, "feedback", repository, environment, {})
    assert status in (0, 1), printed
    return status, summary.read_text(encoding="utf-8")


@pytest.mark.usefixtures("one_wheel")
@pytest.mark.parametrize(
    "name", ["grader.py", "grader/__init__.py", "grader/__main__.py", "json.py", "pip.py"]
)
def test_a_file_of_a_students_does_not_run_instead_of_the_checks(name, unpacked, tmp_path):
    release(tiny(tmp_path), tmp_path / "out")
    shadow = tmp_path / "out" / name
    shadow.parent.mkdir(exist_ok=True)
    shadow.write_text("raise SystemExit(0)\n", encoding="utf-8")
    status, summary = run_workflow(tmp_path / "out", unpacked)
    assert (status, "0 of 2 questions pass" in summary) == (0, True)


def test_a_check_without_a_report_is_red(workflow, tmp_path):
    steps = workflow["jobs"]["feedback"]["steps"]
    steps[:] = [step for step in steps if step.get("name") == "All questions"]
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to("/bin/true")
    files = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        Path(path).touch()
    printed, status = run_steps(workflow, "feedback", tmp_path, {"PATH": os.environ["PATH"], **files}, {})
    assert status == 1
    assert "::error::The checks ended without a report" in printed["All questions"]


@pytest.mark.long
@pytest.mark.usefixtures("one_wheel")
@pytest.mark.parametrize(
    ("sources", "status", "passing"), [(RIGHT, 0, "2 of 2"), (HALF, 1, "1 of 2"), (None, 0, "0 of 2")]
)
def test_the_steps_run_and_tell_what_is_right(sources, status, passing, unpacked, tmp_path):
    """The workflow's lines pass a right or untouched notebook and fail a wrong one, from the wheel alone."""
    release(tiny(tmp_path), tmp_path / "out")
    if sources:
        notebook = json.loads((tmp_path / "out/01_tiny.ipynb").read_text())
        cells = json.loads(write_notebook(tmp_path / "n.ipynb", sources).read_text())["cells"]
        notebook["cells"] = [*notebook["cells"], *cells]
        (tmp_path / "out/01_tiny.ipynb").write_text(json.dumps(notebook))
    ended, summary = run_workflow(tmp_path / "out", unpacked)
    assert ended == status and f"{passing} questions pass" in summary
    assert (tmp_path / "out/feedback.md").read_text(encoding="utf-8") == summary


def test_the_wheel_holds_the_package_and_no_course(unpacked):
    names = set(bytes_of(unpacked))
    modules = {p.relative_to(ROOT).as_posix() for p in PACKAGE.rglob("*.py")}
    templates = {p.relative_to(ROOT).as_posix() for p in (PACKAGE / "templates").rglob("*") if p.is_file()}
    inside = {name for name in names if not name.startswith("autograd_grader-")}
    assert inside == modules | templates | {"grader/py.typed", "grader/inside.pyi"}
    (metadata,) = [name for name in names if name.endswith("/METADATA")]
    assert "make grade" not in (unpacked / metadata).read_text(encoding="utf-8")


def test_a_released_wheel_holds_the_released_notebooks(real, unpacked):
    (wheel,) = (real / "wheels").iterdir()
    archive = zipfile.ZipFile(wheel)
    inside = {name: archive.read(name) for name in archive.namelist() if name.startswith("grader/")}
    handout = {name: content for name, content in inside.items() if name.startswith("grader/handout/")}
    notebooks = {f"grader/handout/{path.name}": path.read_bytes() for path in real.glob("*.ipynb")}
    assert len(notebooks) == len(MASTERS) and handout == notebooks
    assert inside.keys() - handout.keys() == {
        name for name in bytes_of(unpacked) if name.startswith("grader/")
    }


def test_the_same_sources_give_the_same_wheel(wheel, tmp_path):
    """Neither the time nor the umask gets into it; one of another content has another version, for pip."""
    before = set(ROOT.iterdir())
    old = os.umask(0o077)
    try:
        again = build_wheel(SOURCES, tmp_path / "again")
    finally:
        os.umask(old)
    assert again.read_bytes() == wheel.read_bytes()
    one, other = (build_wheel(SOURCES, tmp_path, {"01_a.ipynb": content}) for content in (b"{}", b"{ }"))
    assert set(ROOT.iterdir()) == before
    assert len({path.name for path in (wheel, one, other)}) == 3
    for path in (one, other):
        version = Version(path.name.split("-")[1])
        assert (version.public, path.name.split("-")[1]) == (__version__, str(version))


def test_a_wheel_without_sources_is_an_error_in_a_sentence(tmp_path):
    with pytest.raises(GraderError, match="has no pyproject"):
        build_wheel(tmp_path, tmp_path / "out")


FOREIGN = """
import sys
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
"""


def run_python(code, site, folder):
    environment = {"PYTHONPATH": str(site), "PATH": os.environ["PATH"], "HOME": str(folder)}
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_command_line_is_there_without_a_course_and_without_linux(unpacked, tmp_path):
    """From the wheel alone, where the modules of Unix are missing, `--help` of every command answers."""
    code = FOREIGN + (
        "import grader, grader.cli\n"
        "from click.testing import CliRunner\n"
        "assert 'site' in grader.__file__\n"
        "for name in (None, *grader.cli.main.commands):\n"
        "    said = CliRunner().invoke(grader.cli.main, [*([name] if name else []), '--help'])\n"
        "    assert said.exit_code == 0 and 'Usage' in said.output, (name, said.output)\n"
    )
    done = run_python(code, unpacked, tmp_path)
    assert done.returncode == 0, done.stderr


SPARED = """
import sys
for name in ("PIL", "allpairspy", "jupytext", "matplotlib", "nbformat", "resvg_py", "ruff", "yaml"):
    sys.modules[name] = None
"""
OF_STUDENTS = """
import os
import grader.integrations.github_check
from grader import xray
from click.testing import CliRunner
from grader.cli import main
import torch

assert '<img' in xray(loss=torch.ones(2, requires_grad=True).sum())._repr_html_()
for command in ('hint 01_tiny q1', 'check 01_tiny', 'status', 'reset 01_tiny q1 -y'):
    said = CliRunner().invoke(main, command.split())
    assert said.exit_code in (0, 1) and isinstance(said.exception, SystemExit | None), (command, said)
said = CliRunner().invoke(main, ['build'])
assert said.exit_code == 2 and "pip install '.[instructor]'" in said.output, said.output
import watchfiles
print('done', end='', flush=True)
os._exit(0)
"""


def test_students_are_spared_the_libraries_of_instructors(unpacked, tmp_path, one_wheel):
    """Their commands run from the wheel without the extra `instructor`; others say that it is missing."""
    course, heading = tiny(tmp_path), "# ## q1 · Double\n"
    hint = "# <details><summary>Hint 1</summary>\n#\n# Add it.\n#\n# </details>"
    edit(course.root / "solutions/01_tiny.py", heading, f"{heading}#\n{hint}\n")
    release(built(course.root), tmp_path / "out")
    done = run_python(SPARED + OF_STUDENTS, unpacked, tmp_path / "out")
    assert done.stdout == "done", done.stderr + done.stdout


def test_every_extra_is_known_and_installed_here():
    """`make` installs all of them, and what students are spared is what the extra `instructor` brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert f'".[{",".join(sorted(extras))}]"' in (ROOT / "Makefile").read_text(encoding="utf-8")
    modules = {"PyYAML": "yaml", "Pillow": "PIL"}
    spared = {modules.get(name, name) for name in extras["instructor"]}
    assert spared == set(re.findall(r'"(\w+)"', SPARED))


def test_a_second_release_is_the_same_byte_for_byte(tmp_path, one_wheel):
    course = tiny(tmp_path)
    release(course, tmp_path / "one")
    release(course, tmp_path / "two")
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "one").rglob("*")}
    assert not release(course, tmp_path / "one").changes.written
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "one").rglob("*")} == times


def test_what_somebody_changed_is_kept_and_told(tmp_path, one_wheel):
    """A README with the instructor's own words survives releases, until --overwrite; `.git` always does."""
    course, out = tiny(tmp_path), tmp_path / "out"
    (out / ".git").mkdir(parents=True)
    (out / ".git/HEAD").write_text("ref")
    release(course, out)
    (out / "README.md").write_text("mine")
    (out / "notes.md").write_text("mine")
    for _ in range(2):
        assert release(course, out).changes.edited == ("README.md",)
    assert release(course, out, overwrite=True).changes.written == ("README.md",)
    assert (out / "README.md").read_text() != "mine"
    assert (out / "notes.md").read_text() == "mine" and (out / ".git/HEAD").read_text() == "ref"


def test_a_changed_course_updates_and_removes(tmp_path, one_wheel):
    """A new text replaces the old, a smaller choice removes what is no longer asked for, strangers stay."""
    course, out = tiny(tmp_path), tmp_path / "out"
    add_assignment(course.root, 2)
    release(built(course.root), out)
    (out / "tests/02_tiny/mine.py").write_text("mine")
    edit(course.root / "solutions/01_tiny.py", "Twice x.", "Twice the tensor x.")
    changes = release(built(course.root), out, ["01_tiny"]).changes
    assert "01_tiny.ipynb" in changes.written
    notebooks, checks = ["02_tiny.ipynb", ".handout/02_tiny.ipynb"], ["q1.py", "q2.py"]
    assert set(changes.removed) == {*notebooks, *(f"tests/02_tiny/{name}" for name in checks)}
    assert [path.name for path in (out / "tests/02_tiny").iterdir()] == ["mine.py"]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_release_that_was_stopped_goes_on(tmp_path, one_wheel, monkeypatch, is_first):
    """Wherever it stopped, the same command writes the rest, keeps nothing, and ends as if it had not."""
    course, out = tiny(tmp_path), tmp_path / "out"
    if not is_first:
        release(course, out)
        edit(course.root / "solutions/01_tiny.py", "Twice x.", "Twice the tensor x.")
        course = built(course.root)
        shutil.copytree(out, tmp_path / "whole")
    expected = release(course, tmp_path / "whole").changes
    written = []

    def stop_after_two(path, content):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(path)
        write_atomic(path, content)

    monkeypatch.setattr(grader.integrations.release, "write_atomic", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        release(course, out)
    monkeypatch.setattr(grader.integrations.release, "write_atomic", write_atomic)
    changes = release(course, out).changes
    assert set(changes.written) < set(expected.written) and not changes.edited
    assert bytes_of(out) == bytes_of(tmp_path / "whole")


def test_the_finished_assignments_are_released_meanwhile(tmp_path, monkeypatch, one_wheel):
    """One that is being written stops no release of the others and is named; asked for, it is refused."""
    course = tiny(tmp_path)
    write_new(course.root, "02_signs")
    monkeypatch.chdir(course.root)
    for more in ([], ["--assignment", "01_tiny"]):
        said = CliRunner().invoke(main, ["release", "--out", str(tmp_path / "out"), *more])
        assert said.exit_code == 0 and "holds 1 assignment" in said.output
        assert ("not written yet: 02_signs" in said.output) == (not more)
    assert not list((tmp_path / "out").rglob("*02_signs*"))
    refused = CliRunner().invoke(main, ["release", "--out", str(tmp_path / "no"), "--assignment", "02_signs"])
    assert refused.exit_code == 2 and "02_signs still says TODO" in refused.output


def test_a_release_follows_the_term(tmp_path, monkeypatch, one_wheel):
    """It holds the assignments of the term and names the others; --assignment releases any of them."""
    course, out = tiny(tmp_path), tmp_path / "out"
    add_assignment(course.root, 2)
    built(course.root)
    (course.root / "course.toml").write_text('[term]\nassignments = ["02_tiny"]\n', encoding="utf-8")
    monkeypatch.chdir(course.root)
    for options, released, is_told in (
        ([], "02_tiny", True),
        (["--assignment", "01_tiny"], "01_tiny", False),
    ):
        said = CliRunner().invoke(main, ["release", "--out", str(out), *options])
        assert said.exit_code == 0, said.output
        assert [path.stem for path in out.glob("*.ipynb")] == [released]
        assert ("doesn't list it in [term]: 01_tiny" in said.output) == is_told


def test_an_outdated_assignment_is_not_released(tmp_path, one_wheel):
    course = tiny(tmp_path)
    (course.root / "assignments/01_tiny.ipynb").write_text("{}")
    with pytest.raises(GraderError, match="make build"):
        release(course, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("full", "is not empty and not"),
        ("file", "is a file"),
        ("broken", "is damaged"),
        ("escape", "leads out of"),
        ("absolute", "leads out of"),
        ("link", "is a link"),
        ("folder link", "is a link"),
        ("folder", "is a folder"),
    ],
)
def test_a_folder_that_is_no_release_is_refused_untouched(case, words, tmp_path, one_wheel):
    course, out, stranger = tiny(tmp_path), tmp_path / "out", tmp_path / "stranger"
    stranger.write_text("precious")
    named = {"escape": "../stranger", "absolute": str(stranger)}
    (tmp_path if case == "file" else out).mkdir(exist_ok=True)
    (out if case == "file" else out / "precious").write_text("precious")
    if case not in {"full", "file"}:
        (out / ".handout").mkdir()
        files = {named[case]: [hashlib.sha256(b"precious").hexdigest()]} if case in named else {}
        said = json.dumps({"schema": "autograd-grader/release/v1", "files": files})
        (out / MANIFEST).write_text("[" if case == "broken" else said)
    if case == "link":
        (out / "README.md").symlink_to(stranger)
    elif case == "folder link":
        (out / "wheels").symlink_to(tmp_path)
    elif case == "folder":
        (out / "README.md").mkdir()
    before = bytes_of(tmp_path)
    with pytest.raises(GraderError, match=words):
        release(course, out)
    assert bytes_of(tmp_path) == before


def test_the_command_says_what_it_did(tmp_path, monkeypatch, one_wheel):
    course, out = tiny(tmp_path), str(tmp_path / "out")
    monkeypatch.chdir(course.root)

    def said():
        return CliRunner().invoke(main, ["release", "--out", out])

    assert said().output == f"{out} holds 1 assignment: 11 files written, 0 removed.\n"
    (tmp_path / "out/README.md").write_text("mine")
    assert "unchanged, because it was edited: README.md" in said().output
    shutil.rmtree(course.root / "assignments")
    failed = said()
    assert failed.exit_code == 2 and failed.output.startswith("grader: assignments/01_tiny.ipynb")
