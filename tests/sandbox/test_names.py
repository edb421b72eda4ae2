"""A name that a student's cell gave counts, whatever a cell that is still as it was handed out does to it."""

import ast
from dataclasses import replace
from itertools import pairwise

import pytest
from observing import look
from student_notebooks import code, handed_out, worked, write, write_work

from grader.contracts.diagnosis import diagnose
from grader.course.course import Course
from grader.course.rubric import REFERENCE_LIMITS
from grader.grading.judge import judge
from grader.notebooks.definitions import bound_names
from grader.notebooks.reader import Cell, cells_of
from grader.sandbox.observer import observe
from grader.student.check import check
from grader.student.notebook import open_notebook
from grader.student.process import RunnerProcess

COURSE = Course.find()
HELPER = "def step(x):\n    return 2 * x\ndef f():\n    return step(21)"
TAKERS = [
    "step = 1",
    "for step in range(3): pass",
    "import math as step",
    "def step(): return 1",
    "class step: pass",
    "with open('/dev/null') as step: pass",
    "if (step := 3) > 2: pass",
    "if True:\n    step = 1",
    "try: 1 / 0\nexcept ZeroDivisionError as step: pass",
    "step = 1\ndel step",
    "del step",
    "globals()['step'] = 1",
    "[step := i for i in range(3)]",
    "step = 1\nraise ValueError",
    "match 3:\n    case step: pass",
    "step, other = 1, 2",
    "def change():\n    global step\n    step = 1\nchange()",
    "%time step = 1",
]


@pytest.mark.parametrize("taker", TAKERS)
def test_what_was_handed_out_takes_no_name(zygote, taker):
    """A loop, a variable or an `except ... as` of a demonstration leaves a student's helper alone."""
    again = "step = 'again'"
    seen = look(zygote, [HELPER, taker, again], handed_out=[taker, again], f="student.f()")
    assert seen["f"] == 42


@pytest.mark.parametrize("taker", TAKERS)
def test_what_the_student_wrote_last_counts(zygote, taker):
    """The same in a cell of the student's own is what Jupyter would say too."""
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
    assert look(zygote, cells, handed_out=[taker], f="student.f()")["f"] == -1


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
    seen = look(zygote, cells, handed_out=["f = 3"], f="1")
    assert seen.evidence.defined_in == {"f": number}


def test_a_value_that_was_the_same_before_was_given_too(zygote):
    """Giving a name the very number that it had makes it the student's."""
    demos = ["steps = 3", "steps = 5"]
    cells = [demos[0], "steps = 3\ndef f(): return steps", demos[1]]
    assert look(zygote, cells, handed_out=demos, f="student.f()")["f"] == 3


def test_between_cells_everything_is_as_in_jupyter(zygote):
    """A demonstration sees what it gave a name; only once all cells have run is the name put back."""
    demos = ["step = 1", "seen = step"]
    cells = [HELPER, *demos, "def g(): return seen"]
    seen = look(zygote, cells, handed_out=demos, f="student.f()", g="student.g()")
    assert (seen["f"], seen["g"], seen.raised) == (42, 1, {})


def test_what_only_demonstrations_gave_is_as_in_jupyter(zygote):
    """The last of them counts; and what a demonstration does to an object stays done."""
    demos = ["limit = 1", "limit = 2\nkept.append(3)"]
    cells = [demos[0], "kept = []\ndef f(): return limit, kept", demos[1]]
    assert look(zygote, cells, handed_out=demos, f="student.f()")["f"] == (2, [3])


def test_formatting_changes_no_demonstration(zygote):
    """Blank lines, comments, quotes and line breaks do not make a cell the student's."""
    as_handed_out = "total = sum([1, 2])  # three\nname = 'x'\nfor step in range(2):\n    print(step)"
    formatted = (
        '# Mine\n\ntotal = sum(\n    [1, 2]\n)\nname = "x"\n\nfor step in range(2):  # loop\n  print(step)'
    )
    seen = look(zygote, [HELPER, formatted], handed_out=[as_handed_out], f="student.f()")
    assert seen["f"] == 42
    edited = as_handed_out.replace("2]", "2.0]")
    assert look(zygote, [HELPER, edited], handed_out=[as_handed_out], f="student.f()")["f"] != 42


def test_a_stub_that_is_run_again_stays_untouched(zygote):
    """What was handed out as a stub is no demonstration: it takes its function back."""
    stub = "def f():\n    ..."
    assert look(zygote, ["def f(): return 1", stub], handed_out=["x = 1"], f="1").status == {"f": "untouched"}


def test_a_name_the_student_gave_up_stays_given_up(zygote):
    """What the student deletes, or gives another value later, is not put back."""
    demo = "step = 1"
    cells = [HELPER, demo, "del step"]
    assert look(zygote, cells, handed_out=[demo], f="student.f()")["f"].error.type == "NameError"
    cells = [HELPER, demo, "step = lambda x: 7"]
    assert look(zygote, cells, handed_out=[demo], f="student.f()")["f"] == 7


def test_nothing_of_a_students_is_kept_alive(zygote):
    """A student's cell that watches a value of its own die sees it die."""
    cells = [
        "import gc, weakref\nclass Big: pass\nbig = Big()",
        "alive = weakref.ref(big)\ndel big\ngc.collect()\nassert alive() is None",
        "big = Big()\nalive = weakref.ref(big)\nbig = 1\ngc.collect()\nassert alive() is None",
    ]
    assert look(zygote, cells, handed_out=["unrelated = 1"]).raised == {}


def test_in_every_worker_of_a_notebook(zygote):
    """A worker of one question's own, and cells that are run one by one, follow the names as well."""
    cells = [HELPER, "import os\ndef g(): os._exit(0)", "step = 1", "import time\ntime.sleep(1.2)\nstep = 2"]
    seen = look(zygote, cells, handed_out=cells[2:], f="student.f()", g="student.g()")
    assert seen["f"] == 42


def _names(stem):
    """Every name that a demonstration of an assignment gives a value."""
    return {name for cell in COURSE.assignments[stem].demonstrations for name in bound_names(ast.parse(cell))}


@pytest.mark.parametrize(
    "stem",
    [
        *COURSE.stems[::3],
        *(pytest.param(s, marks=pytest.mark.long) for s in COURSE.stems if s not in COURSE.stems[::3]),
    ],
)
def test_no_name_of_the_courses_own_costs_a_point(zygote, stem):
    """A right answer keeps its points, although its helpers bear all names of the demonstrations."""
    names = sorted(_names(stem) - {"torch", "nn", "F"})
    assert len(names) > 10
    question = next(q for q in COURSE.assignments[stem].questions if q.answer.startswith("def "))
    rubric = COURSE.rubric(stem).with_only([question.id])
    asked = replace(rubric.plan(1, only=question.id), handed_out=rubric.handed_out)
    helped = question.answer.replace(f"def {question.function}(", f"def {names[0]}(", 1)
    for helper, name in pairwise([*names, question.function]):  # each calls the one before
        helped += f"\n\ndef {name}(*args, **named):\n    return {helper}(*args, **named)"
    reference = COURSE.assignment(stem).reference
    sources = [helped if source == question.answer else source for source in reference]
    cells = [Cell(number, source) for number, source in enumerate(sources, start=1)]
    seen = observe(zygote, cells, asked, REFERENCE_LIMITS)
    of_reference = rubric.plan(1, only=question.id, expected=True)
    expected = observe(zygote, cells_of(reference), of_reference, REFERENCE_LIMITS)
    verdicts = judge(rubric, seen, expected)
    failed = {c.id: verdicts[c.id].message for c in rubric.checks_of(question.id)}
    assert failed
    assert {name: message for name, message in failed.items() if message} == {}


def test_check_says_the_same(tmp_path, warm_runners):
    """On the student's machine a demonstration takes no name from an answer either."""
    demo = code("for times in range(3):\n    print(times)")
    folder = tmp_path / ".handout"
    given, answered = (
        handed_out(),
        worked(q1="def times(x):\n    return 2 * x\ndef double(x):\n    return times(x)"),
    )
    for notebook in (given, answered):
        notebook["cells"].append(demo)
    write(folder / "01_small.ipynb", given)
    notebook = open_notebook(write(tmp_path / "01_small.ipynb", answered))
    report = check(notebook, [notebook.question("q1")], 20.0, RunnerProcess)
    assert [found.status for found in report.questions] == ["passes"]


def test_check_tells_who_took_a_name(tmp_path, warm_runners):
    """On the student's machine the same sentence says what the error means."""
    answer = "def times(x):\n    return 2 * x\ndef double(x):\n    return times(x)"
    notebook = open_notebook(write_work(tmp_path, [answer, "times = 3"]))
    report = check(notebook, [notebook.question("q1")], 20.0, RunnerProcess)
    _, failure = report.questions[0].tests[0]
    assert "`times` came from code cell 1 as a function, but code cell 2, line 1," in failure.meaning


REBOUND = {
    "step = 1": "`step` came from code cell 1 as a function, but code cell 2, line 1, has made it an int",
    "x = 0\nfor step in range(3):\n    pass": "code cell 2, line 2, has made it an int",
    "del step": "`step` came from code cell 1 as a function, but code cell 2, line 1, has deleted it",
    "import math as step": "has made it a module",
    "globals()['step'] = 1": "but code cell 2 has made it an int",
    "def step(): return 1": "but code cell 2, line 1, has made it another one",
    "try: 1 / 0\nexcept ZeroDivisionError as step: pass": "has deleted it",
}


def diagnosed(zygote, *cells, **how):
    return diagnose(look(zygote, cells, f="student.f()", **how)["f"].error)


@pytest.mark.parametrize("taker", REBOUND)
def test_who_took_a_name_is_told(zygote, taker):
    """Where one cell of a student's takes a helper from another, the diagnosis says which and where."""
    assert f"{REBOUND[taker]}" in diagnosed(zygote, HELPER, taker)


@pytest.mark.parametrize(
    ("taker", "body", "told"),
    [
        ("F = 3", "F.relu(torch.ones(1))", "`F` came from code cell 1 as a module, but code cell 2, line 1,"),
        ("torch = 'x'", "torch.ones(1)", "`torch` came from code cell 1 as a module"),
        ("nn = None", "nn.Linear(1, 1)", "has made it None"),
        (
            "sum = 0",
            "sum([1])",
            "`sum` is Python's name of a function, but code cell 2, line 1,",
        ),
        ("list = [1]", "list(range(3))", "`list` is Python's name of a class"),
        (
            "for nn in []: pass\nnn = 3",
            "1 + (\n        nn\n        .Linear(1, 1))",
            "cell 2, line 2, has made it",
        ),
    ],
)
def test_who_took_a_name_of_torch_or_python_is_told(zygote, taker, body, told):
    """The same for what the notebook imports, and for what Python calls by a name of its own."""
    imports = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F"
    said = diagnosed(zygote, imports, taker, f"def f():\n    return {body}", handed_out=[imports])
    assert told in said


@pytest.mark.parametrize(
    "body",
    [
        "sum = sum([1])\n    return sum",
        "x = 3\n    return x()",
        "return undefined",
        "return kept + None",
        "return other()",
        "return kept['x']",
        "raise TypeError(\"'int' object is not callable\")",
    ],
)
def test_a_name_that_nobody_took_is_not_blamed(zygote, body):
    """Local names, unknown names, and names with the kind of value that they always had, are no reason."""
    cells = ["kept = 1\ndef other(x): return x", "kept = 2", f"def f():\n    {body}"]
    assert look(zygote, cells, f="student.f()")["f"].error.rebound is None
