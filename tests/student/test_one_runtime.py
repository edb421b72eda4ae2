"""A kernel, `check` and a worker run awkward notebooks alike: the same cells fail, with the same verdicts."""

import pytest
from observing import look
from student_notebooks import ANSWERS, STUBS, write_work
from warm_runner import in_ipython

from grader.sandbox.plan import TimeLimits
from grader.student.check import check
from grader.student.notebook import open_notebook
from grader.student.process import RunnerProcess

#: A minute, because each case runs a notebook three times.
pytestmark = pytest.mark.long
LIMITS = TimeLimits(cell=20, question=20, notebook=60)
FIRST = """\
import torch
try:
    from grader.notebook import Notebook
except ImportError:
    from otter import Notebook
grader = Notebook("01_small.ipynb")"""
#: Runs cells in IPython as Jupyter does, and writes which of them failed, and the status of q1.
KERNEL = """\
import json, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
failed = [n for n, cell in enumerate(json.loads(sys.argv[1]), 1) if not shell.run_cell(cell).success]
shell.run_cell("torch.set_grad_enabled(True)")
verdict = shell.run_cell("grader.check('q1')").result
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump([failed, verdict.found.status], file)
"""
RIGHT, WRONG = ANSWERS["q1"], "def double(x):\n    return 3 * x"

#: A name; the cells below the first, which imports torch; those that fail, by number; and the status of q1.
CASES = [
    ("line magics", ["%load_ext autoreload\n%autoreload 0\n!echo hi", RIGHT], [], "passes"),
    ("a timed answer", ["%%time\n" + RIGHT], [], "passes"),
    ("a captured answer", ["%%capture --no-stderr out\n" + RIGHT, "print(out.stdout)"], [], "passes"),
    ("timed inside captured", ["%%capture\n%%time\n" + RIGHT], [], "passes"),
    ("a timed statement", ["%time y = 3", RIGHT.replace("x + x", "x + x + y - 3")], [], "passes"),
    ("a cell in another language", ["%%bash\nexit 0", RIGHT], [], "passes"),
    ("help", ["?len\nlen??", RIGHT], [], "passes"),
    ("a syntax error", ["for part in range(3)\n    pass", RIGHT], [2], "passes"),
    ("a syntax error in the answer", [RIGHT + "\n)"], [2], "missing"),
    ("an error above the answer", ["undefined", RIGHT], [2], "passes"),
    ("an error below the answer", [RIGHT + "\n1 / 0"], [2], "passes"),
    ("two definitions", [WRONG, RIGHT], [], "passes"),
    ("the starter code again, below", [RIGHT, STUBS["q1"]], [], "untouched"),
    ("a name that is deleted", [RIGHT, "del double"], [], "missing"),
    ("a helper that is defined again", ["k = 2", "def double(x):\n    return k * x", "k = 3"], [], "fails"),
    ("a helper below its use", ["def double(x):\n    return add(x)", "add = lambda x: 2 * x"], [], "passes"),
    ("await", ["import asyncio\nawait asyncio.sleep(0)", RIGHT], [], "passes"),
    ("a loop over a thousand prints", ["for n in range(1_000): print('spam', n)", RIGHT], [], "passes"),
    ("lines that end as on Windows", [RIGHT.replace("\n", "\r\n")], [], "passes"),
    ("a tab and a form feed", ["def double(x):\n\treturn x + x\f"], [], "passes"),
    ("a byte order mark", ["\ufeff" + RIGHT], [2], "missing"),
    ("prompts copied along", [">>> def double(x):\n...     return x + x"], [], "passes"),
    ("an annotation that is evaluated later", ["from __future__ import annotations\n" + RIGHT], [], "passes"),
    ("gradients switched off by a cell", ["torch.set_grad_enabled(False)", RIGHT], [], "passes"),
]


def in_check(path):
    """The same as `check` reports it."""
    notebook = open_notebook(path)
    report = check(notebook, [notebook.question("q1")], 20.0, RunnerProcess)
    return [number for number, _ in report.cells], report.questions[0].status


def in_worker(zygote, cells):
    """The same as grading observes it."""
    stubs = {"double": STUBS["q1"]}
    seen = look(zygote, cells, limits=LIMITS, stubs=stubs, double="[student.double(2), student.double(3)]")
    status = seen.status["double"]
    if status == "answered":
        outcome = seen["double"]
        status = "passes" if outcome == [4, 6] else "fails"
    return sorted(seen.raised), status


@pytest.mark.parametrize(("name", "cells", "failed", "status"), CASES, ids=[case[0] for case in CASES])
def test_a_notebook_runs_alike_everywhere(  # noqa: PLR0917
    name, cells, failed, status, tmp_path, warm_ipython, warm_runners, zygote
):
    """Jupyter, `check` and grading name the same failed cells and agree about the answer."""
    path = write_work(tmp_path, [FIRST, *cells])
    in_kernel = tuple(in_ipython(KERNEL, [FIRST, *cells], tmp_path, warm_ipython))
    found = in_kernel, in_check(path), in_worker(zygote, [FIRST, *cells])
    assert found == ((failed, status),) * 3
