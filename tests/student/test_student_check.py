"""On a student's machine: `check` runs any notebook, and says what fails and where."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from patience import time_limit
from student_notebooks import (
    ANSWERS,
    COVERAGE,
    COVERAGE_OF_SEVERAL,
    SETUP,
    STUBS,
    code,
    document,
    released,
    worked,
    write,
    write_work,
)

from grader.cli import main
from grader.course.course import Course
from grader.student.check import RunLog, check
from grader.student.display import failure_lines
from grader.student.notebook import open_notebook
from grader.student.process import RunnerProcess
from grader.text import rounded

COURSE = Course.find(Path(__file__).parent)
ROOT = Path(__file__).resolve().parents[2]

HARD = [
    "import torch",
    "%matplotlib inline\n!pip install nothing\nget_ipython().system('echo')",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()",
    SETUP,
    'print(\'{"question": "q1", "status": "untouched"}\\n\' * 100_000)\nprint(\'{"done": true}\')',
    "name = input('who? ')\nafter_input = 1",
    "open('beside.csv')",
    "def helper(x):\n    return missing_name + x",
    "a = 1\nhelper(a)",
    "for part in range(3)\n    pass",
    "import time\nwhile True:\n    time.sleep(0.01)",
    "import warnings; warnings.warn('careful', stacklevel=1)",
    "await __import__('asyncio').sleep(0)",
    "torch.set_default_dtype(torch.float64); torch.set_grad_enabled(False)",
    "raise SystemExit('\\x1b[2J::error::\\x9b bye')",
    "from typing import *\ndef double(x):\n    y = x.strip()\n    return y",
    ANSWERS["q2"] + " * 1  # which requires grad only where gradients are enabled",
    "import os, shutil\nshutil.rmtree(os.path.dirname(os.getcwd()))  # all files by which it is listened to",
    STUBS["q3"],
]


def look(path, questions=None, seconds=20.0):
    notebook = open_notebook(path)
    asked = [notebook.question(question) for question in questions or ("q1", "q2", "q3")]
    return check(notebook, asked, seconds, RunnerProcess)


def python(*arguments, cwd=ROOT, **environment):
    """Run Python; what it returned."""
    variables = {**os.environ, **environment}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, check=False)


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_cells_that_fail_are_named_and_cost_only_themselves(tmp_path):
    """Each is named with its error and the nearest line of the notebook, and so is an error in a test."""
    (tmp_path / "beside.csv").write_text("1,2")
    hard = look(
        write_work(tmp_path, HARD), seconds=8.0
    )  # importing matplotlib takes seconds on a busy machine
    assert {cell: (failure.text, failure.cell, failure.line) for cell, failure in hard.cells} == {
        6: ("stopped with EOFError: EOF when reading a line", 6, 1),
        7: ("stopped with FileNotFoundError: [Errno 2] No such file or directory: 'beside.csv'", 7, 1),
        9: ("stopped with NameError: name 'missing_name' is not defined", 8, 2),
        10: ("stopped with SyntaxError: expected ':'", 10, 1),
        11: ("took longer than 8 s, and was stopped", 11, 3),
        15: ("stopped with SystemExit: \ufffd[2J::error::\ufffd bye", 15, 1),
    }
    assert [one.status for one in hard.questions] == ["fails", "passes", "untouched"]
    _, failure = hard.questions[0].tests[0]
    assert failure.text == "stopped with AttributeError: 'int' object has no attribute 'strip'"
    assert (failure.cell, failure.line, failure.code, failure.said) == (16, 3, "y = x.strip()", False)


def test_whatever_ends_the_process_is_found_and_the_rest_goes_on(tmp_path):
    """A cell and tests that end Python or never end are named, and everything else is checked."""
    loops = ANSWERS["q1"].replace("return", "while x == 3: __import__('time').sleep(0.01)\n    return")
    dies = "import os\nclass Counter:\n    def __call__(self):\n        os.kill(os.getpid(), 11)"
    cells = ["import os, shutil, torch", "os._exit(0)", loops, ANSWERS["q2"], dies]
    found = look(write_work(tmp_path, cells), seconds=1.0)
    ((cell, left_out),) = found.cells
    assert (cell, left_out.text) == (2, "ended Python (exit status 0), so it was left out")
    double, leaf, counter = found.questions
    assert (double.status, leaf.status, counter.status) == ("fails", "passes", "fails")
    (_, none), (_, late) = double.tests
    assert none is None
    assert (late.text, late.cell, late.line) == ("took longer than 1 s", 3, 2)
    _, ended = counter.tests[0]
    assert ended.text == "ended Python (SIGSEGV)"


@pytest.mark.parametrize(("guilty", "processes"), [(0, 3), (-1, 4)])
def test_a_notebook_that_always_ends_comes_to_an_end(guilty, processes, tmp_path):
    """However many cells end their process, the first or the last of those run, in the end none is run."""
    notebook = open_notebook(write_work(tmp_path, [f"cell = {n}" for n in range(100)]))
    log, rounds = RunLog(notebook, 1.0), 0
    while cells := log.request(notebook.questions)["cells"]:
        rounds += 1
        log.note({"cell": cells[guilty][0]})
        log.note({"ended": "died"})
    assert rounds == len(log.cells) == processes


def test_the_command_says_what_passes_and_what_is_next(tmp_path, monkeypatch, warm_runners):
    """`check` ends with 1 and says title, message and next step, also where Python would skip asserts."""
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    write(tmp_path / ".handout" / "01_small.ipynb", released())
    path = write(tmp_path / "01_small.ipynb", worked(q1="def double(x):\n    return x * x", q3=ANSWERS["q3"]))
    done = run("check", path)
    assert done.exit_code == 1
    said = f"""\
01_small.ipynb
  ✘ q1  Title of q1
      ✔ Two becomes four.
      ✘ Three becomes six.
        double(3) is not 6
  · q2  Title of q2  (not started yet)
  ✔ q3  Title of q3

1 of 3 public checks pass.
The graded checks test everything that the tasks say.
Next: q1, Title of q1.
Stuck? python -m grader hint {str(path).removesuffix(".ipynb")} q1
"""
    assert done.output == said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "01_smaal", "q1"], "did you mean 01_small.ipynb?"),
        (["check", "Small"], "did you mean 01_small.ipynb?"),
        (["check", "07_other"], "go to the folder that holds yours"),
        (["check", "."], "is a folder: name a notebook in it, such as 01_small.ipynb"),
        (["check", "01_small", "q9"], "it has q1 (double), q2 (leaf), q3 (Counter)"),
        (["check", "q2"], "q2 is a question: name its notebook first, as in 01_small q2."),
        (["check", "leaf"], "leaf is a question: name its notebook first, as in 01_small leaf."),
        (["check", "01_small", "q1", "--github"], "belongs into a workflow"),
        (["check"], "Missing argument 'NOTEBOOK'"),
        (["check", "99_letters.ipynb"], "is not a notebook of this course"),
        (["check", "98_broken.ipynb"], "is not a notebook: its text is not JSON"),
        (["check", "README.md"], "README.md is not a notebook: name one, such as 01_small.ipynb\n"),
        (["hint", "q2"], "q2 is a question: name"),
        (["hint", "01_small"], "Missing argument 'QUESTION'"),
        (["reset", "q2"], "q2 is a question: name"),
        (["reset", "01_small"], "Missing argument 'QUESTION'"),
    ],
)
def test_what_cannot_be_done_is_said(arguments, said, tmp_path, monkeypatch):
    """A wrong name, question or file ends with 2 and says what to do; nothing is run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_OUTPUT", raising=False)
    write_work(tmp_path, [])
    write(tmp_path / "99_letters.ipynb", {"cells": [], "metadata": {}})
    (tmp_path / "98_broken.ipynb").write_text("{")
    (tmp_path / "README.md").write_text("# Autograd")
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_question_that_is_not_started_shows_what_the_stub_does(tmp_path, warm_runners):
    """Asked for alone, a stub says what its public check finds; among others it stays one line."""
    write(tmp_path / ".handout" / "01_small.ipynb", released())
    path = write(tmp_path / "01_small.ipynb", worked(q1=ANSWERS["q1"]))
    alone, among = run("check", path, "q3"), run("check", path)
    assert (alone.exit_code, among.exit_code) == (1, 1)
    assert alone.output.splitlines()[1:5] == [
        "  · q3  Title of q3  (not started yet)",
        "      The starter code:",
        "      ✘ It counts.",
        "        The second call is not counted.",
    ]
    assert "\n  · q3  Title of q3  (not started yet)\n\n1 of 3 public checks pass." in among.output
    assert f"\n{COVERAGE_OF_SEVERAL}\nNext: q2, Title of q2.\n" in among.output


def test_an_endless_line_is_named(tmp_path):
    notebook = open_notebook(write_work(tmp_path, ["for_ever()", "def for_ever():\n    while 1: pass"]))
    log = RunLog(notebook, 1.0)
    log.note({"cell": 1})
    log.note({"ended": "took longer than 1 s", "at": [2, 2]})
    assert log.request([])["cells"] == [[2, "def for_ever():\n    while 1: pass"]]
    failure = log.cells[1]
    assert failure.text == "took longer than 1 s, so it was left out"
    assert (failure.cell, failure.line, failure.code) == (2, 2, "while 1: pass")


def test_a_question_that_passes_beside_a_failed_cell_is_told_of_it(tmp_path, warm_runners):
    """`check` of one question shows its own failed cell and those above; others are named in one line."""
    above, own = "# why\nimport no_such_package", "import no_such_package\n" + ANSWERS["q1"]
    path = write_work(tmp_path, [above, own, "1 / 0", ANSWERS["q2"]])
    reason = "stopped with ModuleNotFoundError: No module named 'no_such_package'"
    done = run("check", path, "q1")
    assert done.exit_code == 0
    assert COVERAGE in done.output
    assert [line for line in done.output.splitlines() if line.startswith(("  !", "But"))] == [
        f"  ! code cell 1 (`import no_such_package`), line 2, {reason}",
        f"  ! line 1 of the cell of q1 {reason}",
        "  ! Elsewhere code cell 3 (`1 / 0`) fails.",
        "But code cell 1 (`import no_such_package`) fails: fix or delete it, because Jupyter stops there.",
    ]


def test_a_syntax_error_below_a_question_is_one_line(tmp_path, warm_runners):
    write(tmp_path / ".handout" / "01_small.ipynb", released())
    path = write(tmp_path / "01_small.ipynb", worked(q1=ANSWERS["q1"], q3="class Counter\n    pass"))
    first, third = (run("check", path, question).output.splitlines() for question in ("q1", "q3"))
    assert [line for line in first if "!" in line or line.startswith("But")] == [
        "  ! Elsewhere the cell of q3 fails."
    ]
    assert third[1:5] == [
        "  ! line 1 of the cell of q3 stopped with SyntaxError: expected ':'",
        "      class Counter",
        "  ✘ q3  Title of q3  (its cell does not run)",
        "      Counter is not defined, because the cell of q3 does not run: fix that first.",
    ]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (f"%%bash\n{ANSWERS['q1']}", "double is defined in code cell 2, below `%%bash`,"),
        ("def Doubled(x): ...", "but code cell 2 defines Doubled: if that is your answer,"),
        ("%run answers.py", "Code cell 2 runs `%run answers.py`"),
        ("", "No cell defines double. Rename your function, or restore its cell:"),
    ],
)
def test_a_definition_that_does_not_count_is_found(tmp_path, warm_runners, answer, said):
    """`check` says where it is, as grading does."""
    write(tmp_path / ".handout" / "01_small.ipynb", released())
    path = write(tmp_path / "01_small.ipynb", worked(q1=answer))
    assert said in " ".join(run("check", path, "q1").output.split())


def test_an_answer_below_an_error_is_checked_as_grading_does(tmp_path, warm_runners):
    """The definition runs and replaces the starter code; the statements that were skipped are named."""
    path = write_work(tmp_path, ["1 / 0\nprint(2)\n" + ANSWERS["q1"] + "\nx = print(3)", "1 / 0\ndouble = 3"])
    found = look(path, ["q1"])
    assert found.questions[0].status == "passes"
    assert {cell: failure.text.splitlines()[1:] for cell, failure in found.cells} == {
        1: ["skipped below it: `print(2)`, `x = print(3)`"],
        2: ["skipped below it: `double = 3`"],
    }


def test_a_long_error_of_a_student_is_cut(tmp_path, warm_runners):
    cell = "def double(x):\n    if x == 3: return [1][::-1] + x\n    raise ValueError('y' * 300)"
    found = look(write_work(tmp_path, [cell]), ["q1"])
    (_, first), (_, second) = found.questions[0].tests
    assert first.text == "stopped with ValueError: " + "y" * 175 + " ..."
    where = "in double, line 2 of the cell of q1"
    assert list(failure_lines(second, found.notebook))[-1] == f"{where}: if x == 3: return [1][::-1] + x"


def test_a_timed_cell_keeps_its_line_numbers(tmp_path, warm_runners):
    cell = "%%time\ndef double(x):\n    y = x\n    return y.missing"
    (_, failure), *_ = look(write_work(tmp_path, [cell]), ["q1"]).questions[0].tests
    assert (failure.cell, failure.line, failure.code) == (1, 4, "return y.missing")


@pytest.mark.parametrize(
    ("sources", "number", "place"),
    [
        ([ANSWERS["q1"]], 1, "line 2 of the cell of q1"),
        (["def double(x) return x"], 1, "line 2 of the cell of q1"),
        ([ANSWERS["q1"], ANSWERS["q1"]], 1, "code cell 1 (`def double(x):`), line 2"),
        ([ANSWERS["q1"], ANSWERS["q1"]], 2, "line 2 of the cell of q1"),
        (["# a helper\n\ndef helper(x):\n    return x"], 1, "code cell 1 (`def helper(x):`), line 2"),
        (
            ["x = 'more than forty characters in a line'"],
            1,
            "(`x = 'more than forty characters in a lin ...`), line 2",
        ),
        (["# nothing"], 1, "code cell 1, line 2"),
        (["x = `1`"], 1, "code cell 1 (`x = '1'`), line 2"),
    ],
)
def test_a_line_is_named_as_jupyter_shows_it(sources, number, place, tmp_path):
    """A cell is named by its question or, because Jupyter shows no number, by its first line of code, too."""
    notebook = open_notebook(write_work(tmp_path, sources))
    assert notebook.place(number, 2).endswith(place)
    assert notebook.place(number, 0).endswith(place.removeprefix("line 2 of ").removesuffix(", line 2"))


def test_the_cell_of_a_question_has_the_id_of_its_starter_code(tmp_path):
    notebook = worked(q1="x = 1")
    notebook["cells"].append(code(ANSWERS["q1"], "later"))
    write(tmp_path / ".handout" / "01_small.ipynb", released())
    opened = open_notebook(write(tmp_path / "01_small.ipynb", notebook))
    assert opened.place(2, 1) == "line 1 of the cell of q1"
    assert opened.place(8, 1) == "code cell 8 (`def double(x):`), line 1"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("w is 6.164000034332275 instead of 6.163000106811523", "w is 6.164 instead of 6.163"),
        ("w is 6.164000034332275 instead of 6.163999557495117", "w is 6.164 instead of 6.1639996"),
        ("[0.30000001192092896, 2.0] is not [0.3, 1000000]", "[0.30000001, 2.0] is not [0.3, 1000000]"),
        ("1.250000000001 and 1.25, float32, 3.5", "1.250000000001 and 1.25, float32, 3.5"),
    ],
)
def test_numbers_are_rounded_until_they_differ(said, shown):
    assert rounded(said) == shown


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "its text is not JSON (line 1). If it is open in Jupyter, save it there once more. `git log "),
        ("", "01_small.ipynb is empty. If it is open in Jupyter"),
        ("{\n<<<<<<< HEAD\n", "conflict in it (line 2). Take one of the two versions. Before the merge "),
        ("%PDF-", "01_small.ipynb is a PDF, not a notebook. "),
    ],
)
@pytest.mark.parametrize("is_near", [True, False])
def test_a_broken_notebook_gets_advice_for_who_works_in_it(content, said, is_near, tmp_path, monkeypatch):
    """What to do in this folder is said, and nothing about submissions."""
    monkeypatch.chdir(tmp_path)
    path = write_work(tmp_path, [])
    if not is_near:
        shutil.rmtree(tmp_path / ".handout")
    path.write_text(content)
    done = run("check", "01_small")
    assert said in done.stderr
    assert "submi" not in done.stderr
    restart = f"egin again: move it aside, and copy {Path('.handout/01_small.ipynb')} to 01_small.ipynb."
    assert (restart in done.stderr) == is_near
    assert ("download the notebook again" in done.stderr.lower()) != is_near


def test_files_beside_the_notebooks_do_not_take_the_place_of_packages(tmp_path):
    for name in ("random", "re", "click", "torch", "rich"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('mine')")
    done = python("-m", "grader", "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("place", "option", "shows_all"),
    [("solutions", "--help", True), ("..", "--help", False), ("..", "--help-all", True)],
)
def test_the_help_shows_the_commands_of_whoever_reads_it(place, option, shows_all, tmp_path, monkeypatch):
    """In a course every command is listed once, the students' first; elsewhere theirs, and how to see all."""
    (tmp_path / "course" / "solutions").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "course" / place)
    output = run(option).output
    listed = re.findall(r"(?m)^  ([a-z]+)  ", output)
    students = ["check", "watch", "hint", "status", "reset", "submit"]
    assert sorted(listed) == sorted(main.commands if shows_all else students)
    assert listed[: len(students)] == students
    assert ("For instructors and authors: python -m grader --help-all" in output) == (not shows_all)


@contextlib.contextmanager
def checking(path, **environment):
    """`check` of a notebook that tells its process and then goes on for ever; gives both processes."""
    command = [sys.executable, "-m", "grader", "check", str(path), "-v", "--seconds", "600"]
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def wait_until_gone(number):
    """Return when there is no such process; it is nobody's child, so that nobody can wait for it."""
    with time_limit(60):
        while Path(f"/proc/{number}/stat").exists() and " Z " not in Path(f"/proc/{number}/stat").read_text():
            time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.long)])
def test_stopped_it_leaves_nothing_behind(number, tmp_path):
    """Ctrl-C ends `check` with one line, and however it ends, the notebook's process ends with it."""
    cell = "import os, time\nprint(os.getpid(), flush=True)\nwhile True:\n    time.sleep(0.01)"
    own = tmp_path / "own"
    own.mkdir()
    with checking(write_work(tmp_path, [cell]), TMPDIR=str(own)) as (process, child):
        assert list(own.iterdir())
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        wait_until_gone(child)
    assert not list(own.iterdir())
    assert (process.returncode, said) in {(130, b"grader: stopped.\n"), (-9, b"")}


WITHOUT_WHAT_WINDOWS_LACKS = """\
import os, signal
for name in ("setitimer", "getitimer", "SIGALRM", "SIGPROF", "ITIMER_REAL", "ITIMER_PROF", "pthread_sigmask"):
    delattr(signal, name)
del os.killpg
"""


def test_kernels_and_checks_import_where_there_is_no_alarm(tmp_path):
    program = f"{WITHOUT_WHAT_WINDOWS_LACKS}\nimport grader.notebook, grader.student.runner_cells"
    done = python("-c", program)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.long
def test_it_runs_where_there_is_no_alarm(tmp_path):
    """Without an alarm, as on Windows, an endless line is named, and all but its cell counts."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_WHAT_WINDOWS_LACKS)
    notebook = worked(**ANSWERS)  # and without the released one: it carries its own checks
    notebook["cells"].insert(2, code("def for_ever():\n    while True: pass"))
    notebook["cells"].insert(3, code("above = 1\nfor_ever()\nbelow = 1"))
    notebook["cells"].insert(4, code("above"))
    path = write(tmp_path / "01_small.ipynb", notebook)
    windows = {"PYTHONPATH": str(tmp_path), "PYTHONIOENCODING": "cp1252"}
    done = python("-m", "grader", "check", path, "--seconds", "1", **windows)
    assert done.stderr == b""
    assert done.stdout.decode("cp1252").splitlines()[:8] == [
        "01_small.ipynb",
        "  ! code cell 3 (`above = 1`) took longer than 1 s, so it was left out",
        "      while True: pass (code cell 2 (`def for_ever():`), line 2)",
        "  ! code cell 4 (`above`), line 1, stopped with NameError: name 'above' is not defined",
        "      above",
        "  + q1  Title of q1",
        "  + q2  Title of q2",
        "  + q3  Title of q3",
    ]


def test_the_commands_need_nothing_that_only_linux_has():
    program = """\
import importlib, pkgutil, sys
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
import grader.cli, grader.student
for module in pkgutil.iter_modules(grader.student.__path__):
    if module.name not in ("kernel", "public_tests", "runner_cells", "verdict"):  # where torch is, too
        importlib.import_module(f"grader.student.{module.name}")
assert "torch" not in sys.modules
"""
    done = python("-W", "error", "-c", program)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "stem", [pytest.param(s, marks=[pytest.mark.long] * (s != COURSE.stems[1])) for s in COURSE.stems]
)
def test_the_reference_passes(stem, tmp_path, warm_runners):
    (tmp_path / ".handout").mkdir()
    shutil.copy(COURSE.root / "assignments" / f"{stem}.ipynb", tmp_path / ".handout")
    cells = [code(source) for source in COURSE.assignment(stem).reference]
    notebook = open_notebook(write(tmp_path / "mine.ipynb", document(cells, assignment_name=stem)))
    found = check(notebook, notebook.questions, 20.0, RunnerProcess)
    assert [one.status for one in found.questions] == ["passes"] * len(COURSE.assignments[stem].questions)
    worth = COURSE.points(stem)  # a bonus task has none
    assert [one.question.points for one in found.questions] == [
        worth.get(one.question.id, 0) for one in found.questions
    ]
    assert found.cells == ()


@pytest.mark.long
@pytest.mark.parametrize("stem", COURSE.stems)
def test_starter_code_is_not_started(stem, tmp_path, warm_runners):
    content = (COURSE.root / "assignments" / f"{stem}.ipynb").read_bytes()
    for path in (tmp_path / f"{stem}.ipynb", tmp_path / ".handout" / f"{stem}.ipynb"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    found = look(tmp_path / f"{stem}.ipynb", list(COURSE.points(stem)))
    assert {one.status for one in found.questions} == {"untouched"}
    assert found.cells == ()


@pytest.mark.parametrize(
    ("torch", "status", "said"),
    [
        ("raise ImportError('no torch is here')", 2, "no torch is here. Install what the course needs"),
        ("import os; os._exit(3)", 1, "did not start: it ended Python (exit status 3)"),
    ],
)
def test_a_python_without_torch_is_said(torch, status, said, tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text(torch)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = run("check", write_work(tmp_path, []))
    assert done.exit_code == status
    assert said in done.stderr
