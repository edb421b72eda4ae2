"""An answer sees the names of its check cell, whatever an unchanged cell below it does to them."""

import pytest
from observing import look
from student_notebooks import code, released, worked, write

from grader.student.check import check
from grader.student.notebook import open_notebook
from grader.student.process import RunnerProcess

HELPER = "def step(x):\n    return 2 * x\ndef f():\n    return step(21)"
TAKERS = [
    "step = 1",
    "for step in range(3): pass",
    "import math as step",
    "def step(): return 1",
    "class step: pass",
    "with open('/dev/null') as step: pass",
    "if True:\n    step = 1",
    "try: 1 / 0\nexcept ZeroDivisionError as step: pass",
    "step = 1\ndel step",
    "globals()['step'] = 1",
    "step = 1\nraise ValueError",
    "match 3:\n    case step: pass",
    "def change():\n    global step\n    step = 1\nchange()",
    "%time step = 1",
]


@pytest.mark.parametrize("taker", TAKERS)
def test_a_released_cell_takes_no_name(zygote, taker):
    """A demonstration that gives a helper's name leaves the helper alone; a student's own cell counts."""
    again = "step = 'again'"
    seen = look(zygote, [HELPER, taker, again], demonstrations=[taker, again], f="student.f()")
    assert seen["f"] == 42
    assert look(zygote, [HELPER, taker], f="student.f()")["f"] != 42


@pytest.mark.parametrize(
    "given",
    [
        "from operator import neg as step",
        "class step:\n    def __new__(cls, x): return -x",
        "step = lambda x: -x",
        "for step in [lambda x: -x]: pass",
        "if True:\n    def step(x): return -x",
        "(step := lambda x: -x)",
        "step = lambda x: -x\nraise ValueError",
        "def give():\n    global step\n    step = lambda x: -x\ngive()",
    ],
)
def test_however_a_student_gave_the_name(zygote, given):
    """Imported, defined, assigned or looped over: the student's value is put back."""
    taker = "step = 3"
    cells = [given, "def f(): return step(1)", taker]
    assert look(zygote, cells, demonstrations=[taker], f="student.f()")["f"] == -1


@pytest.mark.parametrize(
    ("cells", "number"),
    [
        (["x = 1", "def f(): return 1", "f()"], 2),
        (["def f(): return 1", "def f(): return 2"], 2),
        (["def g(): return 1", "def f(): return 2", "f = g"], 3),
        (["def f(): return 1\n1 / 0", "def f(): return 2)"], 1),
        (["def f(): return 1", "def f(): return 2\n1 / 0"], 2),
        (["def f(): return 1", "f = 3"], 1),  # as it was handed out
        (["%time exec('def f(): return 1')"], 1),
        (["\n\ndef f(): return 1", "def g():\n    f = 2"], 1),
        (["def f(): return 1", "del f"], 2),
        (["x = 1"], None),
    ],
)
def test_the_cell_of_a_function_is_known(zygote, cells, number):
    """It is the cell that gave the name the value that counts, whatever became of the cell after that."""
    seen = look(zygote, cells, demonstrations=["f = 3"], f="1")
    assert seen.evidence.defined_in == {"f": number}


RELEASED = "total = sum([1, 2])  # three\nname = 'x'\nfor step in range(2):\n    print(step)"
FORMATTED = """# Mine

total = sum(
    [1, 2]
)
name = "x"

for step in range(2):  # loop
  print(step)"""
#: Cells, those that were released, and what `f` returns.
NAMED = {
    "a name given the value it had": (
        ["steps = 3", "steps = 3\ndef f(): return steps", "steps = 5"],
        ["steps = 3", "steps = 5"],
        3,
    ),
    "an object that was changed": (
        ["limit = 1", "kept = []\ndef f(): return limit, kept", "limit = 2\nkept.append(3)"],
        ["limit = 1", "limit = 2\nkept.append(3)"],
        (1, [3]),
    ),
    "a formatted cell": ([HELPER, FORMATTED], [RELEASED], 42),
    "a name given again by the student": ([HELPER, "step = 1", "step = lambda x: 7"], ["step = 1"], 7),
}


@pytest.mark.parametrize(("cells", "released", "value"), NAMED.values(), ids=NAMED)
def test_an_answer_sees_what_its_student_gave_the_names(zygote, cells, released, value):
    """Only names are put back, and only those that a cell of the student's gave last."""
    assert look(zygote, cells, demonstrations=released, f="student.f()")["f"] == value


@pytest.mark.parametrize(
    ("cells", "released"),
    [
        ([HELPER, FORMATTED.replace("2]", "2.0]")], [RELEASED]),
        ([HELPER, "step = 1", "del step"], ["step = 1"]),
    ],
    ids=["an edited cell", "a name deleted by the student"],
)
def test_a_helper_that_its_student_lost_is_lost(zygote, cells, released):
    """An edited cell is the student's, and a deleted name is not put back."""
    assert look(zygote, cells, demonstrations=released, f="student.f()")["f"] != 42


def test_between_cells_everything_is_as_in_jupyter(zygote):
    """A demonstration sees what it gave a name, and so does a student's cell below it."""
    demos = ["step = 1", "seen = step"]
    cells = [HELPER, *demos, "def g(): return seen"]
    seen = look(zygote, cells, demonstrations=demos, f="student.f()", g="student.g()")
    assert (seen["f"], seen["g"], seen.raised) == (42, 1, {})


CHECK = 'grader.check("q1")'
RATE = "def f():\n    return rate"


@pytest.mark.parametrize(
    ("cells", "seen"),
    [
        (["rate = 1", "rate = 3.0", RATE, CHECK], 3.0),
        (["rate = 1", RATE, "rate = 3.0", CHECK], 3.0),
        (["rate = 1", RATE, CHECK, "rate = 3.0"], 1),
        (["rate = 1", RATE, CHECK, "rate = 3.0", CHECK], 1),
        (["rate = 1", RATE, CHECK, "rate = 3.0", "rate = 2"], 2),
        (["rate = 1", RATE, CHECK, "rate = 3.0", "rate = 2", "rate = 5.0"], 2),
        (["rate = 1", CHECK, "rate = 3.0", RATE], 3.0),
        (["rate = 1", CHECK, "rate = 3.0", RATE, "rate = 5.0", CHECK, "rate = 7.0"], 5.0),
        (["rate = 1", RATE, "rate = 3.0"], 1),
        (["rate = 3.0", RATE, CHECK, "rate = 5.0"], 3.0),
        (["rate = 3.0", RATE, CHECK, "rate = 5.0", "rate = 3.0\nother = 1"], 3.0),
        (["rate = 1", RATE, "  grader.check( 'q1' )", "rate = 3.0", "grader.check('q1')"], 3.0),
    ],
)
def test_an_unchanged_cell_counts_down_to_the_check_of_the_answer(zygote, cells, seen):
    """An answer sees the value of its check cell, or one that a student's cell gave later."""
    demonstrations = ["rate = 3.0", "rate = 5.0", "rate = 7.0"]
    assert (
        look(zygote, cells, demonstrations=demonstrations, questions={"f": "q1"}, f="student.f()")["f"]
        == seen
    )


def test_each_answer_sees_the_names_of_its_own_check(zygote):
    """One unchanged cell is below the first answer's check and above the second's."""
    cells = ["rate = 1", RATE, CHECK, "rate = 3.0", "def g():\n    return rate", 'grader.check("q2")']
    asked = {"f": "student.f()", "g": "student.g()"}
    seen = look(zygote, cells, demonstrations=["rate = 3.0"], questions={"f": "q1", "g": "q2"}, **asked)
    assert (seen["f"], seen["g"]) == (1, 3.0)


def test_an_unchanged_cell_below_the_check_hides_no_name_of_pythons(zygote):
    """A name that it introduces is unknown to the answer, as it was at the check."""
    cells = ["def f():\n    return sum([1, 2]), 'late' in globals(), late", CHECK, "sum, late = 0, 1"]
    error = look(zygote, cells, demonstrations=cells[2:], questions={"f": "q1"}, f="student.f()")["f"].error
    assert (error.type, error.text) == ("NameError", "name 'late' is not defined")


@pytest.mark.parametrize("is_released", [True, False])
def test_no_value_is_kept_alive(zygote, is_released):
    """A cell that watches a value die that no student's cell names, or one of its own, sees it die."""
    cells = [
        "import gc, weakref\nclass Big: pass\nbig = Big()",
        "alive = weakref.ref(big)\nbig = 1\ngc.collect()\nassert alive() is None",
        "big = Big()\nalive = weakref.ref(big)\ndel big\ngc.collect()\nassert alive() is None",
    ]
    released = cells if is_released else ["unrelated = 1"]
    assert look(zygote, [HELPER, *cells], demonstrations=released).raised == {}


def test_in_every_worker_of_a_notebook(zygote):
    """A worker of one question's own, and cells that are run one by one, follow the names as well."""
    cells = [HELPER, "import os\ndef g(): os._exit(0)", "step = 1", "import time\ntime.sleep(1.2)\nstep = 2"]
    seen = look(zygote, cells, demonstrations=cells[2:], f="student.f()", g="student.g()")
    assert seen["f"] == 42


def test_check_says_the_same(tmp_path, warm_runners):
    """On the student's machine a demonstration takes no name from an answer either."""
    demo = code("for times in range(3):\n    print(times)")
    folder = tmp_path / ".handout"
    given, answered = (
        released(),
        worked(q1="def times(x):\n    return 2 * x\ndef double(x):\n    return times(x)"),
    )
    for notebook in (given, answered):
        notebook["cells"].append(demo)
    write(folder / "01_small.ipynb", given)
    notebook = open_notebook(write(tmp_path / "01_small.ipynb", answered))
    report = check(notebook, [notebook.question("q1")], 20.0, RunnerProcess)
    assert [found.status for found in report.questions] == ["passes"]
