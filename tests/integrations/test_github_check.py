"""`check --github`: a student's workflow runs each notebook once and reports all questions from there."""

import base64
import json
import re
from functools import partial
from html import unescape

import committing
import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt
from student_notebooks import ANSWERS, code, released, worked, write, write_work

from grader.cli import main
from grader.student.process import RunnerPool

REPORT = '::notice title=Autograding report::{{"totalPoints":{},"maxPoints":{}}}'


@pytest.fixture
def step(tmp_path, monkeypatch, warm_runners):
    """Runs `check ... --github` as a step of a workflow, in a student's repository."""
    repository = tmp_path / "repository"
    repository.mkdir()
    monkeypatch.chdir(repository)
    return Step(repository, monkeypatch)


class Step:
    def __init__(self, repository, monkeypatch):
        self.repository = repository
        self.output = repository.parent / "output"
        self.summary = repository.parent / "summary.md"
        self.output.write_text("before=1\n", encoding="utf-8")
        monkeypatch.setenv("GITHUB_OUTPUT", str(self.output))
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(self.summary))

    def run(self, *arguments):
        return CliRunner().invoke(main, ["check", *arguments, "--github"])

    def hold(self, notebook):
        """Let the repository contain this notebook of 01_small, beside the released one."""
        write(self.repository / ".handout" / "01_small.ipynb", released())
        write(self.repository / "01_small.ipynb", notebook)

    def results(self):
        """The outputs by name, as GitHub Classroom's reporter reads them."""
        before, *lines = self.output.read_text(encoding="utf-8").splitlines()
        assert before == "before=1"
        outputs = dict(line.split("=", 1) for line in lines)
        return {name: json.loads(base64.b64decode(text)) for name, text in outputs.items()}

    def message(self, name):
        return self.results()[name]["tests"][0]["message"]


def second(folder, **answers):
    """The notebook of another assignment, with the same questions."""
    notebook, handout = worked(**answers), released()
    for one in (notebook, handout):
        one["metadata"]["otter"]["assignment_name"] = "02_more"
    write(folder / ".handout" / "02_more.ipynb", handout)
    return write(folder / "02_more.ipynb", notebook)


def test_all_questions_of_all_notebooks_are_reported_by_one_step(step):
    step.hold(worked(**ANSWERS))
    second(step.repository, q1=ANSWERS["q1"], q3="def Counter():\n    return lambda: 7")
    done = step.run()
    results = step.results()
    names = [f"{question}_{stem}" for stem in ("01_small", "02_more") for question in ("q1", "q2", "q3")]
    assert [*results] == names
    assert [results[name]["status"] for name in names] == ["pass"] * 4 + ["fail"] * 2
    earned = sum(test["score"] for result in results.values() for test in result["tests"])
    possible = sum(result["max_score"] for result in results.values())
    assert 0 < earned < possible
    assert done.output.splitlines()[-1] == REPORT.format(f"{earned:g}", f"{possible:g}")
    assert done.exit_code == 1


WRONG = "def double(x):\n    return x * x"


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        (ANSWERS, 0),
        ({}, 0),
        ({"q1": ANSWERS["q1"]}, 0),
        ({"q2": "x = ("}, 1),
        ({"q1": WRONG}, 1),
        ({"q2": "n = 1"}, 1),
    ],
    ids=["all right", "not begun", "one right", "syntax error", "wrong", "not defined"],
)
def test_only_what_fails_is_red(step, answers, status):
    step.hold(worked(**answers))
    assert step.run().exit_code == status
    earned = {name[:2] for name, result in step.results().items() if result["tests"][0]["score"]}
    assert earned == {name for name, source in answers.items() if source == ANSWERS[name]}


def test_the_summary_reads_like_a_terminal(step):
    """Of what is begun each line that `check` prints, with code as code; the other notebooks in a line."""
    notebook = worked(q1=WRONG, q2=ANSWERS["q2"])
    notebook["cells"].insert(2, code("raise ValueError('# <b>@all</b> `x` 1. *y*')"))
    step.hold(notebook)
    second(step.repository)
    step.run()
    printed = CliRunner().invoke(main, ["check", "01_small"]).output.splitlines()
    page = MarkdownIt().render(step.summary.read_text(encoding="utf-8"))
    shown = [unescape(re.sub("<[^>]*>", "", line)).replace("\u2060", "") for line in page.splitlines()]
    assert [" ".join(line.replace("`", "").split()) for line in shown] == [
        "Public checks: 1 of 6 questions pass",
        "These checks test one example each. Your grade comes from hidden checks, which test more.",
        "1. Small: 1 of 3 questions pass",
        *(" ".join(line.replace("`", "").split()) for line in printed if line),
        "Not started yet: 02_more.",
    ]
    assert "<b>" not in page and "@all" not in page
    assert sum("ValueError" in line for line in shown) == 2  # the cell's failure, and its line


def test_each_notebook_runs_once(step, tmp_path):
    runs = tmp_path / "runs"
    counting = f"with open({str(runs)!r}, 'a') as file:\n    file.write('x')"
    write_work(step.repository, [counting, ANSWERS["q1"]])
    step.run()
    assert len(step.results()) == 3
    assert runs.read_text(encoding="utf-8") == "x"


def test_a_notebook_that_nobody_has_begun_is_not_run(step, monkeypatch):
    step.hold(released())
    monkeypatch.setattr(RunnerPool, "take", None)
    assert step.run().exit_code == 0
    assert [result["status"] for result in step.results().values()] == ["fail"] * 3


def test_a_notebook_that_is_missing_or_broken_costs_only_itself(step):
    write(step.repository / ".handout" / "01_small.ipynb", released())
    (step.repository / "01_small.ipynb").write_text('{\n<<<<<<< HEAD\n"cells": []}', encoding="utf-8")
    write(step.repository / ".handout" / "00_gone.ipynb", released())
    second(step.repository, **ANSWERS)
    done = step.run()
    results = step.results()
    assert {name: result["status"] for name, result in results.items() if name.startswith("q1")} == {
        "q1_00_gone": "error",
        "q1_01_small": "error",
        "q1_02_more": "pass",
    }
    assert "there is no notebook 00_gone.ipynb" in step.message("q3_00_gone")
    assert "markers of a merge conflict in it (line 2)" in step.message("q1_01_small")
    assert (results["q3_01_small"]["max_score"], results["q3_01_small"]["tests"][0]["score"]) == (2.5, 0)
    assert done.exit_code == 1
    assert "::notice title=Autograding complete" in done.output
    assert step.summary.read_text(encoding="utf-8").count("markers of a merge conflict") == 1


@pytest.mark.parametrize(
    ("places", "told"),
    [
        (["work/01_small.ipynb"], "yours is in work/. Move it back to 01_small.ipynb"),
        (["a/b/mine.ipynb"], "yours is a/b/mine.ipynb. Move"),
        (["mine.ipynb", "mine (1).ipynb"], "yours is mine (1).ipynb or mine.ipynb. Move"),
        ([".trash/01_small.ipynb", "env/lib/01_small.ipynb"], "copy .handout/01_small.ipynb here"),
    ],
)
def test_a_notebook_that_was_moved_is_named_with_its_place(step, places, told):
    """To copy the released notebook beside it would replace the work by starter code."""
    write(step.repository / ".handout" / "01_small.ipynb", released())
    (step.repository / "env").mkdir()
    (step.repository / "env" / "pyvenv.cfg").touch()
    for place in places:
        (step.repository / place).parent.mkdir(parents=True, exist_ok=True)
        write(step.repository / place, worked(**ANSWERS))
    done = step.run()
    assert done.exit_code == 1
    assert told in step.results()["q1_01_small"]["tests"][0]["message"]
    assert ("copy .handout" in done.output) == ("copy .handout" in told)


@pytest.mark.parametrize("is_committed", [False, True])
def test_the_advice_for_a_merge_conflict_works(step, is_committed):
    """Its commands bring a version of the notebook back, whether or not the conflict is committed."""
    name, git = "01_small.ipynb", partial(committing.git, step.repository)
    write(step.repository / ".handout" / name, released())
    git("init", "--quiet", "--initial-branch", "main")
    for branch, answer in (("main", ""), ("theirs", "x = 1"), ("ours", ANSWERS["q1"])):
        git("checkout", "--quiet", "-B", branch, *(["main"] if answer else []))
        write(step.repository / name, worked(q1=answer) if answer else released())
        git("add", "--all")
        git("commit", "--quiet", "--message", "work")
    assert git("merge", "theirs", check=False).returncode == 1
    if is_committed:
        git("add", "--all")
        git("commit", "--quiet", "--message", "merged")
    step.run()
    message = step.results()["q1_01_small"]["tests"][0]["message"]
    commands = [command.split() for command in re.findall(r"`git ([^`]+)`", message)]
    ours, theirs, log, take, add, commit = commands
    if is_committed:
        commits = [line.split()[0] for line in git(*log).stdout.splitlines()]
        taken = [[one if word == "COMMIT" else word for word in take] for one in commits[1:]]
        assert sum(git(*command, check=False).returncode == 0 for command in taken) == 3
    else:
        git(*theirs)
        git(*ours)
        assert ANSWERS["q1"].splitlines()[0] in (step.repository / name).read_text(encoding="utf-8")
    git(*add)
    git(*commit, "--message", "taken")
    json.loads((step.repository / name).read_text(encoding="utf-8"))


def test_a_notebook_in_the_place_of_another_earns_nothing_there(step):
    write_work(step.repository, [ANSWERS["q1"]])
    path = second(step.repository, **ANSWERS)
    path.write_bytes((step.repository / "01_small.ipynb").read_bytes())
    step.run()
    results = step.results()
    assert len(results) == 6
    assert results["q1_01_small"]["status"] == "pass"
    assert "holds the notebook of 01_small" in results["q1_02_more"]["tests"][0]["message"]


def test_nothing_a_notebook_says_is_a_command(step):
    """Its messages stand between a stop and its token; it cannot write outputs; the notices are ours."""
    message = "::error::mine\n::notice title=Autograding complete::Points 99/9"
    inside = f"import os\nprint({message!r})\nassert 'GITHUB_OUTPUT' not in os.environ"
    write_work(step.repository, [inside, f"def double(x):\n    raise ValueError({message!r})"])
    done = step.run()
    lines = done.output.splitlines()
    token = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", lines[0])[1]
    commands = [line for line in lines[lines.index(f"::{token}::") + 1 :] if line.startswith("::")]
    assert len(commands) == 2
    assert commands[0].startswith("::notice title=Autograding complete::Points 0/")
    assert "::error::mine" in done.output
    assert "Code cell 1" not in step.results()["q1_01_small"]["tests"][0]["message"]


def test_a_named_question_is_the_output_result(step):
    """The output of a step for one question, which workflows of one step for each question read."""
    write_work(step.repository, ["def double(x):\n    return x * x"])
    done = step.run("01_small", "q1")
    (result,) = step.results().values()
    assert [*step.results()] == ["result"]
    assert (result["status"], result["max_score"], result["tests"][0]["score"]) == ("fail", 4, 0)
    assert [test["name"][:10] for test in result["tests"]] == ["q1.1 (0/2)", "q1.2 (0/2)"]
    assert done.exit_code == 1
    assert "::notice" not in done.output
    assert not step.summary.exists()


@pytest.mark.parametrize(
    ("arguments", "output", "told"),
    [
        ([], "", "belongs into a workflow"),
        (["01_small", "q9"], "output", "it has q1 (double), q2 (leaf), q3 (Counter)"),
        (["07_other"], "output", "there is no notebook 07_other"),
        (["01_small"], "no/such/folder", "cannot be written"),
        (None, "output", "there is no notebook such as 01_name.ipynb"),
    ],
)
def test_what_cannot_be_reported_is_told(step, monkeypatch, arguments, output, told):
    if arguments is not None:
        write_work(step.repository, [])
    monkeypatch.setenv("GITHUB_OUTPUT", output)
    done = step.run(*(arguments or ()))
    assert done.exit_code == 2
    assert told in done.stderr
    assert "::notice" not in done.output


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe{", b'{"cells": []}', None])
@pytest.mark.parametrize("arguments", [[], ["01_small"], ["01_small", "q1"]])
def test_a_broken_notebook_is_red_even_where_nothing_says_what_was_released(step, arguments, content):
    """Whatever a student pushes, the exit status is 1 with a sentence, never that of a broken workflow."""
    path = step.repository / "01_small.ipynb"
    if content is None:
        path.symlink_to("/etc/hostname")
    else:
        path.write_bytes(content)
    done = step.run(*arguments)
    assert done.exit_code == 1, done.output
    assert "01_small.ipynb" in done.stdout
    if arguments[1:]:
        (result,) = step.results().values()
        assert (result["status"], result["max_score"]) == ("error", 0)
        assert "01_small.ipynb" in result["tests"][0]["message"]
    else:
        assert REPORT.format(0, 0) in done.stdout
