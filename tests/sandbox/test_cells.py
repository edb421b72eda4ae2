"""A notebook's cells mean in a worker what they mean in Jupyter, and cost nothing but themselves."""

import pytest
from observing import QUICK, look

from grader.sandbox.evidence import FailedCell
from grader.sandbox.plan import TimeLimits

PATIENT = TimeLimits(cell=30, question=10, notebook=60)


def answer_of(zygote, *cells, limits=QUICK):
    """What `f()` returns once the cells have run; every cell has to run without an error."""
    seen = look(zygote, cells, f="student.f()", limits=limits)
    assert seen.raised == {}
    return seen["f"]


def failed(zygote, *cells):
    """The failed cells, as they are reported."""
    return [FailedCell.of(cell) for cell in look(zygote, cells).evidence.cells]


# Jupyter's syntax


@pytest.mark.parametrize(
    "cell",
    [
        "%matplotlib inline",
        "!pip install torch",
        "files = !ls\nassert files == []",
        "magic = %who\nassert magic is None",
        "print?",
        "%%bash\nexit 1",
        "%%timeit\nthis would take too long",
        "# only a comment",
        "",
        "display(1)",
        "get_ipython().system('ls')",
        "import sys\nprint('much' * 500_000)\nprint('more' * 500_000, file=sys.stderr)",
        "x = 3; x",
        "async def g():\n    return 1\nassert await g() == 1",
        "import asyncio\nawait asyncio.sleep(0)\nawait asyncio.sleep(0)",
        "%%time\nimport asyncio\nawait asyncio.sleep(0)",
        "import warnings\nwarnings.warn('harmless')",
        "import torch\n(torch.ones(1, requires_grad=True) * 2).grad",
        "w = '\\d'  # an escape that the compiler warns about",
        # What talks to Jupyter and to graders, installed here or not
        "import otter\ngrader = otter.Notebook('01_leaves.ipynb')\ngrader.check('q1')\ngrader.export()",
        "from IPython.display import display, HTML, clear_output\ndisplay(HTML('<b>')); clear_output()",
        "import IPython.display as ipd\nipd.display(ipd.Image('plot.png'))",
        "from google.colab import drive, files\ndrive.mount('/content')\nfor name in files.upload(): 1 / 0",
        "import ipywidgets as widgets\nwith widgets.Output():\n    widgets.IntSlider(min=1).value",
        "from grader import xray\nxray(1)",
        "from ipywidgets import interact, fixed\ninteract(print, x=fixed(1))",
        "from ipywidgets import VBox\nclass Mine(VBox):\n    pass\nMine(children=[])",
        "from tqdm.notebook import tqdm, trange\nassert [*tqdm([1, 2])] + [*trange(1)] == [1, 2, 0]",
        "import matplotlib_inline.backend_inline as b\nb.set_matplotlib_formats('svg')",
        # Python's library, numpy and torch
        "import math, random, collections, typing, dataclasses, functools, itertools, operator, statistics",
        "import os, sys, re, io, json, time, timeit, datetime, pathlib, copy, pprint, string, tempfile",
        "import abc, enum, types, inspect, contextlib, warnings, logging, unittest, traceback, weakref, csv",
        "import numpy as np, torch.nn.functional as F, torch.optim as optim, torch.utils.data",
        "import threading, concurrent.futures, multiprocessing, subprocess, pickle, hashlib, struct, asyncio",
    ],
)
def test_a_usual_cell_costs_nothing(zygote, cell):
    """Magics, commands, help, await, output, warnings and imports run or do nothing; the next cell runs."""
    assert answer_of(zygote, cell, "def f():\n    return 'here'") == "here"


@pytest.mark.parametrize(
    "cell",
    [
        "%%time\ndef f():\n    return 'timed'",
        "%%capture output\ndef f():\n    return 'timed'",
        "%%prun -q\ndef f():\n    return 'timed'",
        "\n\n%%time\ndef f():\n    return 'timed'",
        "%time f = lambda: 'timed'",
    ],
)
def test_what_is_timed_or_captured_is_run(zygote, cell):
    assert answer_of(zygote, cell) == "timed"


def test_a_timed_cell_keeps_its_own_name(zygote):
    """Two timed cells are two cells: a stub in one of them does not make an answer in the other a stub."""
    cells = ["%%time\ndef f():\n    return 1", "%%time\ndef f(): ...", "%%time\ndef f():\n    return 1 / 0"]
    seen = look(zygote, cells, f="student.f()")
    assert (seen.status, seen["f"].error.where) == ({"f": "answered"}, "cell 3, below %%time, line 3")
    assert (seen["f"].error.function, seen["f"].error.line) == ("f", "return 1 / 0")


def test_top_level_await_waits_for_time_and_for_tasks(zygote):
    """Sleeping, gathering and tasks work as in Jupyter, and what stands after them is defined."""
    cell = (
        "import asyncio\nasync def later(n):\n    await asyncio.sleep(0.01)\n    return n\n"
        "both = await asyncio.gather(later(1), asyncio.create_task(later(2)))\ndef f():\n    return both"
    )
    assert answer_of(zygote, cell) == [1, 2]


def test_waiting_for_the_world_fails_its_cell_only(zygote):
    """What only a running kernel could deliver is an error of its cell, and no cell waits for ever."""
    world = "import asyncio\nawait asyncio.get_running_loop().create_future()"
    endless = "class Never:\n    def __await__(self):\n        while True:\n            yield\nawait Never()"
    seen = look(zygote, [world, endless, "def f():\n    return 1"], f="student.f()")
    told = "RuntimeError: this cell awaits something that only a running kernel could deliver"
    assert (seen["f"], seen.raised) == (1, {1: told, 2: "CellTimeout: the cell took longer than a cell may"})


# A cell that fails


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("def f(:\n    pass", "SyntaxError: invalid syntax (<cell 2>, line 1)"),
        ("x = 1\n  y = 2", "IndentationError: unexpected indent (<cell 2>, line 2)"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("exit()", "SystemExit: None"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt: "),
        ("raise GeneratorExit", "GeneratorExit: "),
        ("input('a number: ')", "EOFError: EOF when reading a line"),
        ("raise BaseExceptionGroup('a', [KeyboardInterrupt()])", "BaseExceptionGroup: a (1 sub-exception)"),
        ("undefined", "NameError: name 'undefined' is not defined"),
        ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("def r():\n    r()\nr()", "RecursionError: maximum recursion depth exceeded"),
        ("open('results.txt', 'w')", "PermissionError: [Errno 13] Permission denied: 'results.txt'"),
        ("import os\nos.mkdir('runs')", "PermissionError: [Errno 1] Operation not permitted: 'runs'"),
        ("(" * 300 + ")" * 300, "SyntaxError: too many nested parentheses (<cell 2>, line 1)"),
    ],
)
def test_a_cell_that_fails_costs_itself_only(zygote, cell, told):
    """What a cell raises is remembered with the cell's number, and the cells around it count."""
    cells = ["def helper():\n    return 20", cell, "def f():\n    return helper() + 1"]
    seen = look(zygote, cells, f="student.f()")
    assert seen["f"] == 21
    assert set(seen.raised) == {2}
    assert seen.raised[2].startswith(told)


LONG_LINE = "return 1 / 0" + " " * 99 + "#" * 300


@pytest.mark.parametrize(
    ("cell", "function", "line", "number"),
    [
        ("def f():\n    return [1 / 0 for _ in range(2)]", "f", "return [1 / 0 for _ in range(2)]", 2),
        ("f = lambda: 1 / 0", "a lambda", "f = lambda: 1 / 0", 1),
        ("class f:\n    def __init__(self):\n        1 / 0", "__init__", "1 / 0", 3),
        ("def g(t):\n    t.backward()\ndef f():\n    g(torch.ones(2))", "g", "t.backward()", 2),
        (f"def f():\n    {LONG_LINE}", "f", LONG_LINE[:200], 2),
    ],
)
def test_an_error_tells_its_place(zygote, cell, function, line, number):
    """The deepest line of the notebook is quoted, cut at 200 characters, with its function and its cell."""
    error = look(zygote, ["import torch", cell], f="student.f()")["f"].error
    assert (error.function, error.line, error.where) == (function, line, f"cell 2, line {number}")


UNINDENT = "unindent does not match any outer indentation level"


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["x = 1\n1 / 0"], "Code cell 1 stopped with ZeroDivisionError: division by zero, at `1 / 0`."),
        (
            ["def half(x):\n    return {}[x]", "half(1)"],
            "Code cell 2 stopped with KeyError: 1, at `return {}[x]` in half (code cell 1).",
        ),
        (
            ["x = 1\ny = = 2"],
            "Code cell 1 stopped with SyntaxError: invalid syntax (<cell 1>, line 2), at `y = = 2`.",
        ),
        (["raise KeyError"], "Code cell 1 stopped with KeyError, at `raise KeyError`."),
        (
            ["def f(x):\n    for y in x:\n        y += 1", "\n        y += 2\n\n    x += y\n  return x"],
            f"Code cell 2 stopped with IndentationError: {UNINDENT} (<cell 2>, line 3), at `x += y`.",
        ),
    ],
)
def test_a_failed_cell_quotes_its_line(zygote, cells, told):
    """A student cannot see the numbers of cells in Jupyter, so the line itself is told."""
    assert [cell.sentence for cell in failed(zygote, *cells)] == [told]


# Below an error


@pytest.mark.parametrize(
    "above",
    [
        "import nowhere",
        "import nowhere; import math",
        "import math, nowhere, torch as nn",
        "from nowhere import (\n    one,\n    two as other,\n)\nother(3)\nresult = one + 1\nprint(result)",
        "from __future__ import annotations\nimport nowhere\ndef typed(x: NotThere): ...",
        "import asyncio, nowhere\nawait asyncio.sleep(0)",
        "import asyncio\nawait asyncio.sleep(0)\nawait nowhere()",
        "if True:\n    import nowhere\nnowhere.init()",
        "try:\n    import nowhere\nexcept ImportError:\n    nowhere = open('nowhere')",
        "import nowhere\n@nowhere.jit\ndef fast():\n    ...",
        "1 / 0\ndef slow(n=nowhere):\n    ...\nclass Slow(nowhere):\n    ...\nclass Slower:\n    x = nowhere",
        "with open('data.csv') as file:\n    rows = file.read()\nprint(rows)",
        "for n in range(3):\n    open('data.csv')",
        "name = input()\nprint(name)",
        "import torch\ntorch.ones(1).cuda()",
        "import torch\ntorch.cuda.memory_summary()",
        "import torch\ntorch.cuda.Event(enable_timing=True)",
        "import torch\nwith torch.device('cuda'):\n    w = torch.ones(2)",
        "import torch\ntorch.set_default_tensor_type('torch.cuda.FloatTensor')",
        "import torch\ntorch.set_default_device('cuda')\nw = torch.ones(2)",
        "import torch\nstate = torch.load('x.pt')",
        "import locale\nlocale.setlocale(locale.LC_ALL, 'xx_XX.UTF-8')",
        "import os\nhome = os.environ['NO_SUCH_VARIABLE']",
        "undefined",
        "def check():\n    assert 1 == 2\ncheck()",
        "x = 1; x.y; 1 / 0",
        "π = 'ß'; 1 / 0; print(π)",
        "%time 1 / 0",
        "exec('1 / 0')",
        "breakpoint()",
    ],
)
@pytest.mark.parametrize("magic", ["", "%%time\n"])
def test_definitions_below_an_error_still_run(zygote, magic, above):
    """After a statement that raises, the imports, definitions and literals below it in its cell still run."""
    literals = "N, M = 2 * 3, -1.5\nlast: float = 0.5\nhalf = lambda x: x / 2"
    literals += "\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')"
    below = f"import math, torch\nfrom math import nothing, sqrt\n{literals}"
    answer = "def f():\n    return math.floor(sqrt(N) + M + half(1) + last), device.type\ng = f()"
    seen = look(zygote, f"{magic}{above}\n{below}\n{answer}", f="student.f()", g="1")
    assert (seen["f"], set(seen.raised), seen.status["g"]) == ((1, "cpu"), {1}, "missing")


@pytest.mark.parametrize(
    "above",
    [
        "raise ImportError('not now')",
        "raise FileNotFoundError",
        "assert False",
        "import sys\nsys.exit()",
        "quit()",
        "while True: pass",
        "import nowhere\nimport sys\nsys.exit()",
        "import nowhere\nassert False, 'only drafts below'",
        "import nowhere\nclass Slow:\n    while True: pass",
    ],
)
def test_nothing_runs_below_what_ends_a_cell(zygote, above):
    """`raise`, `assert`, an exit and the time limit end a cell, as in Jupyter."""
    assert look(zygote, f"{above}\ndef f():\n    return 1", f="student.f()").status == {"f": "missing"}


OWN = "def f():\n    return 'good'\nnumber = 1\nimport math as m"


@pytest.mark.parametrize(
    "below",
    [
        "def f():\n    return 'draft'",
        "class f: ...",
        "f = None",
        "f = lambda: 'draft'",
        "f, other = 1, 2",
        "import torch as f",
        "from math import *\nfrom torch.nn import functional as f",
        "def other(x=(f := 3)): ...",
        "class other:\n    global f\n    f = 3",
    ],
)
@pytest.mark.parametrize("cells", [[OWN + "\n{}"], [OWN, "{}"], ["%%time\n" + OWN, "%%time\n{}"]])
def test_a_statement_below_an_error_replaces_no_name_of_a_students(zygote, cells, below):
    """What a student's cell gave before, above the error or in another cell, stays."""
    cells = [cell.format(f"import nowhere\n{below}\nnumber = 2\nimport random as m") for cell in cells]
    cells.append("def g():\n    return f(), number, m.__name__")
    assert look(zygote, cells, f="1", g="student.g()")["g"] == ("good", 1, "math")


STARTER, GIVEN = "def f():\n    ...", "def g():\n    return 2\nN = 2"


@pytest.mark.parametrize(
    "cells",
    [
        ["def g():\n    return 1\n" + STARTER, "1 / 0\ndef f():\n    return g()"],
        [STARTER, "def g():\n    return 1", "1 / 0\ndef f():\n    return g()"],
        [f"def g():\n    return 1\n{STARTER}\n1 / 0\ndef f():\n    return g()"],
        [GIVEN, STARTER, "1 / 0\ndef f():\n    return g()\ndef g():\n    return N\nN = 1"],
    ],
)
def test_a_statement_below_an_error_may_replace_starter_code(zygote, cells):
    """An answer below an error counts where its name is still the starter code, or a demonstration's."""
    seen = look(zygote, cells, f="student.f()", demonstrations=[GIVEN])
    assert (seen.status, seen["f"]) == ({"f": "answered"}, 1)


def test_the_skipped_statements_of_a_cell_are_reported(zygote):
    """Each with its line, its beginning and the names it would have given; later errors are among them."""
    cell = (
        "given = 1; import nowhere, elsewhere, math\n'a text'\nmodel = nowhere.net(\n    3)\n"
        "for x in [1]:\n    def g(): ...\n@nowhere.jit\ndef h():\n    inner = 1\n"
        "given = 3\nN = 3; print(N)\npass\nx.y = 2\n[z for z in 'ab']"
    )
    (seen,) = failed(zygote, cell)
    assert [(each.line, each.text, set(each.names)) for each in seen.skipped] == [
        (1, "import elsewhere", {"elsewhere"}),
        (3, "model = nowhere.net(", {"model"}),
        (5, "for x in [1]:", {"x", "g"}),
        (8, "def h():", {"h"}),
        (10, "given = 3", {"given"}),
        (11, "print(N)", set()),
        (13, "x.y = 2", set()),
        (14, "[z for z in 'ab']", set()),
    ]
    assert seen.sentence == (
        "Code cell 1 stopped with ModuleNotFoundError: No module named 'nowhere', at "
        "`given = 1; import nowhere, elsewhere, math`. The grader skipped `import elsewhere` (line 1), "
        "`model = nowhere.net(` (line 3), `for x in [1]:` (line 5), `def h():` (line 8), "
        "`given = 3` (line 10), `print(N)` (line 11), and 2 more."
    )


def test_very_many_skipped_statements_are_bounded(zygote):
    """However long a cell is, a bounded beginning of what it skipped is reported."""
    names = " = ".join(f"name{number}" + "e" * 50 for number in range(99))
    (seen,) = failed(zygote, "1 / 0\n" + f"{names} = print()\n" * 60)
    assert len(seen.skipped) == 40
    assert (len(seen.skipped[0].text), len(seen.skipped[0].names)) == (100, 10)


def test_every_cell_reports_its_own_skipped_statements(zygote):
    """A cell that runs through, or that stops by itself, has none of the cell before."""
    seen = failed(zygote, "1 / 0\nprint(1)", "x = 1", "raise ValueError\nprint(2)", "x.y\nprint(3)")
    texts = {cell.cell: [each.text for each in cell.skipped] for cell in seen}
    assert texts == {1: ["print(1)"], 3: [], 4: ["print(3)"]}


def test_a_default_device_that_is_not_here_lasts_for_its_cell_only(zygote):
    """Below the cell that sets it, tensors are made on the CPU; a device that is here stays."""
    cells = [
        "import torch\ntorch.set_default_device('cuda')",
        "w = torch.ones(2)\ntorch.set_default_device('meta')",
        "v = torch.ones(2)\ntorch.set_default_device(None)",
        "def f():\n    return str(w.device), str(v.device)",
    ]
    assert answer_of(zygote, *cells) == ("cpu", "meta")


@pytest.mark.parametrize("above", ["", "from __future__ import annotations"])
def test_annotations_are_postponed_below_a_cell_that_asks_for_it(zygote, above):
    """As in Jupyter, a future import counts in the cells below."""
    cell = "def f(x: int):\n    return f.__annotations__['x'] == 'int'"
    assert look(zygote, [above, cell], f="student.f(1)")["f"] is bool(above)


# Names


@pytest.mark.parametrize(
    "cells",
    [
        ["def f():\n    return 'old'", "def f():\n    return 'last'"],
        ["def f():\n    return 'last'", "def f():\n    return g()", "def g():\n    return 'last'"],
        ["def g():\n    return 'last'", "f = g"],
        ["f = lambda: 'last'"],
        ["class C:\n    def f(self):\n        return 'last'\nf = C().f"],
        ["from functools import partial\nf = partial(str, 'last')"],
        ["def outer():\n    def inner():\n        return 'last'\n    return inner\nf = outer()"],
        ["if True:\n    def f():\n        return 'last'"],
        ["exec('def f():\\n    return \"last\"')"],
        ["globals()['f'] = lambda: 'last'"],
        ["from __future__ import annotations\ndef f() -> NotThere:\n    return 'last'"],
        ["from __future__ import annotations", "def f() -> NotThere:\n    return 'last'"],
        ["import torch\n@torch.compile\ndef f():\n    return 'last'"],
        ["f = 0", "del f", "import torch\n@torch.no_grad()\ndef f():\n    return 'last'"],
        ["assert __name__ == '__main__'\nimport __main__\n__main__.f = lambda: 'last'"],
    ],
)
def test_the_name_at_the_end_counts(zygote, cells):
    """Whatever the name is bound to after all cells is the answer; helpers are found in other cells."""
    assert answer_of(zygote, *cells, limits=PATIENT) == "last"


# Answered, untouched, missing

STUB = '''def f(x, n=1):
    """Say what is asked.

    More of it.
    """
    # Write your answer here.
    y = None
    return y
'''
CLASS_STUB = '''class f(torch.autograd.Function):
    """Twice x."""

    @staticmethod
    def forward(ctx, x):
        """Save what is needed."""
        raise NotImplementedError

    @staticmethod
    def backward(ctx, g):
        raise NotImplementedError
'''
EMPTY_CLASS_STUB = '''class f(torch.nn.Module):
    """Nothing is given but the name."""

    ...
'''
ANSWER = "def f(x, n=1):\n    return x"


@pytest.mark.parametrize(
    "cells",
    [
        [STUB],
        ["def f(x,n = 1) :\n        y=None;return y"],
        [STUB.replace("# Write your answer here.", "# I do not know\n")],
        [STUB.replace("Say what is asked.", "Another text.")],
        [f"import torch\nx = 1\n\n{STUB}\nprint('moved')"],
        [f"%%time\n{STUB}"],
        [ANSWER, STUB],
        [STUB, STUB, "x = f"],
        [STUB + "\nraise ValueError"],
        [STUB, "def f(:"],
    ],
)
def test_a_stub_is_untouched(zygote, cells):
    """A stub is one however it is moved, formatted, commented or documented, and overwrites an answer."""
    assert look(zygote, cells, stubs={"f": STUB}, f="student.f(1)").status == {"f": "untouched"}


@pytest.mark.parametrize(
    "cells",
    [
        [ANSWER],
        [STUB, ANSWER],
        [STUB.replace("y = None", "y = 0")],
        [STUB.replace("return y", "return y, y")],
        [STUB.replace("n=1", "n=2")],
        [STUB, "g = f\ndef f(x, n=1):\n    return g(x, n)"],
        ["def decorated(g):\n    return lambda x, n=1: x\n@decorated\n" + STUB],
        ["f = lambda x, n=1: None"],
        ["from math import sqrt as f"],
        [STUB.replace("def f", "def g") + "\nf = g"],
        [STUB, "f = type('f', (), {})"],
    ],
)
def test_whatever_is_no_stub_is_answered(zygote, cells):
    """Every other function or class, and every object that can be called, is an answer, right or wrong."""
    assert look(zygote, cells, stubs={"f": STUB}, f="1").status == {"f": "answered"}


@pytest.mark.parametrize("cell", ["f = 3", "import torch as f", "del f"])
def test_what_cannot_be_called_is_no_answer(zygote, cell):
    """A variable or a module with the function's name hides it, and a deleted function is missing."""
    assert look(zygote, [ANSWER, cell], stubs={"f": STUB}, f="1").status == {"f": "missing"}


@pytest.mark.parametrize(
    ("stub", "written", "after", "status"),
    [
        *((stub, "", "", "untouched") for stub in (CLASS_STUB, EMPTY_CLASS_STUB)),
        (CLASS_STUB, "return 2 * x", "", "answered"),
        (CLASS_STUB, "", "f.forward = staticmethod(lambda ctx, x: 2 * x)", "answered"),
        (EMPTY_CLASS_STUB, "", "f.forward = lambda self, x: 2 * x", "answered"),
        (EMPTY_CLASS_STUB, "", "class f(f): pass", "answered"),
    ],
)
def test_the_stub_of_a_class(zygote, stub, written, after, status):
    """A class is untouched while all of its methods are; one written method, or one put in later, is not."""
    cell = stub.replace('"""Twice x."""', "")
    cell = cell.replace("raise NotImplementedError", written, 1) if written else cell
    assert look(zygote, ["import torch", cell, after], stubs={"f": stub}, f="1").status == {"f": status}


@pytest.mark.parametrize(
    "value",
    [
        "class Liar:\n    __call__ = __class__ = __code__ = property(lambda self: 1 / 0)\nf = Liar()",
        "class Hanging:\n __call__ = id\n def __getattr__(self, name):\n  while True: pass\nf = Hanging()",
        "class Leaving:\n    __class__ = property(lambda self: exit())\n    __call__ = id\nf = Leaving()",
        "class M(type):\n    __dict__ = property(lambda _: sum(iter(int, 1)))\nclass f(metaclass=M): pass",
    ],
)
def test_looking_at_an_answer_runs_nothing_of_it(zygote, value):
    """Objects that lie, hang or leave when they are looked at are answers like any other."""
    seen = look(zygote, [value, "def g():\n    return 1"], f="1", g="student.g()")
    assert (seen.status, seen["g"], seen.raised) == ({"f": "answered", "g": "answered"}, 1, {})


@pytest.mark.parametrize("before", ["", "from __future__ import annotations"])
def test_a_stub_with_annotations_inside_is_untouched(zygote, before):
    """Whether annotations are postponed changes the names that compiled code has, and is no answer."""
    stub = "def f(x):\n    def keep(g: torch.Tensor) -> None: ...\n    return keep"
    cells = [before, "import torch", stub]
    assert look(zygote, cells, stubs={"f": stub}, f="1").status == {"f": "untouched"}


@pytest.mark.parametrize("much", ["torch.empty(1 << 42)", "bytearray(1 << 42)", "np.ones(1 << 42)"])
def test_a_line_that_wants_too_much_memory_costs_only_itself(zygote, much):
    """What fits into the student's machine and not into a worker takes nothing else of its cell along."""
    cell = f"import numpy as np, torch\nbig = {much}\ndef f():\n    return 1"
    seen = look(zygote, cell, f="student.f()")
    assert (seen["f"], list(seen.raised)) == (1, [1])
