"""In a kernel `grader.check` says what was seen, and of which function; no traceback of ours is shown."""

import os
import subprocess
from base64 import b64decode
from functools import partial
from html.parser import HTMLParser

import pytest
from student_notebooks import ANSWERS, COVERAGE, STUBS, code, document, markdown, released, write
from warm_runner import in_ipython

from grader.course.public_check import otter_test
from grader.student.notebook import open_notebook
from grader.student.unsaved import unsaved_line

RIGHT = ANSWERS["q1"]
FIRST = 'import torch\nfrom grader.notebook import Notebook\ngrader = Notebook("01_small.ipynb")'
CHECK = 'grader.check("q1")'
#: Runs cells in IPython, and writes what each check that is a cell's last line gives back.
KERNEL = """\
import json, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
seen = []
for source in json.loads(sys.argv[1]):
    shown = shell.run_cell(source).result
    if source.startswith("grader."):
        page = shown._repr_html_() if hasattr(shown, "_repr_html_") else ""
        seen.append([getattr(shown, "status", ""), repr(shown), page])
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump(seen, file)
"""

PRINTS = "def double(x):\n    for n in range(5_000): print('spam', n)\n    return x + x"
#: As torch warns, with a line of its C++ code at the end.
WARNING = "mind the graph. (Triggered internally at /pytorch/torch/csrc/autograd/engine.cpp:822.)"
WARNS = f"import warnings\ndef double(x):\n    warnings.warn({WARNING!r})\n    return x + x"
BONUS = '''\
def test_triple(triple):
    """Two becomes six."""
    assert triple(2) == 6, "triple(2) is not 6"
'''
HELPER = "def helper(x):\n    y = 1\n    return missing + x"
OTTER = """\
import types
sys.modules["otter"] = types.ModuleType("otter")
sys.modules["otter"].Notebook = types.SimpleNamespace(_grading_mode=True)"""


OFF = "def double(x):\n    torch.set_grad_enabled(False)\n    return 0"
TIMED = "%%time\ndef double(x):\n    y = x\n    return y.missing"
CATCHES = "def double(x):\n    while True:\n        try: x += 0\n        except Exception: pass"
DRAWN = "w = torch.ones(1, requires_grad=True)\ndef double(x):\n    return w * 3 if x == 2 else 1"
APPENDS = "def double(x):\n    if x > 5:\n        return x\n    return [].append(x)"
GRAD = "def leaf(n):\n    w = torch.zeros(n, requires_grad=True)\n    return w"
BREAKS = "import grader.notebook\nkept, grader.notebook._run = grader.notebook._run, None"
RESTORES = "import grader.notebook, sys\ngrader.notebook._run = kept"
NO_COLON, OPEN = "def double(x)\n    return x", "def double(x):\n    return (x"
INNER = "def double(x):\n    def inner(): return x\n    inner()"
NO_LEAF = "def leaf(n):\n    torch.zeros(n, requires_grad=True)"
USES_HELPER = "def double(x):\n    return helper(x)"
SQUARE = "def double(x):\n    return x * x"
ASKS = "def double(x):\n    return int(input('x? '))"
STOPS = "%%time\ny = 1\ny.missing\ndef double(x): pass"
GRAD_OFF, GRAD_ON = "torch.set_grad_enabled(False)", "torch.set_grad_enabled(True)"
LIST, TWO = "def leaf(n):\n    return [n]", 'grader.check("q1", "q2")'
CAPTURED = TIMED.replace("%%time", "\n%%capture")
OLD = "So double is still your old function"
SYNTAX = "The cell of q1 did not run: it stopped with SyntaxError: expected ':', in line 1."


def told(status, name, words, *cells):
    """A case: its name, its cells, the last of which asks for something, the status, and what is said."""
    return name, cells, status, words


def checked(status, name, words, *cells, question="q1"):
    """The same of a check of a question."""
    return told(status, name, words, *cells, f'grader.check("{question}")')


fails, passes, stale = (partial(checked, status) for status in ("fails", "passes", "stale"))

CASES = [
    checked("missing", "before its cell", "Run the cell of q1 first: double is not defined."),
    checked("missing", "a cell that never ran through", f"{SYNTAX} So double is not defined: fix", NO_COLON),
    checked("untouched", "untouched", "double is still the starter code: fix it above", STUBS["q1"]),
    fails("no return", "None: is a return missing? ... not 4", "def double(x):\n    x + x"),
    fails("other parameters", "Keep the parameters of double", "def double():\n    return 4"),
    fails("no return of a leaf", "leaf returned None: is a return missing?", NO_LEAF, question="q2"),
    fails("a .grad", "returned None at `return w.grad`. `backward()` fills", f"{GRAD}.grad", question="q2"),
    fails("a return of a call", "double returned None at `return x` or `return [].append(x)`, or", APPENDS),
    fails("a lambda", "double returned None at `print(x)`.", "double = lambda x: print(x)"),
    fails("a return of an inner function", "double returned None: is a return missing?", INNER),
    fails("a list", "'list' object has ... (leaf returned something of", LIST, question="q2"),
    fails("an error of torch", "a trainable leaf ... in leaf, line 3 of", f"{GRAD}.add_(1)", question="q2"),
    fails("an error in a helper", "'missing' ... in helper, line 3 of its cell", HELPER, USES_HELPER),
    fails("it leaves Python", "stopped with SystemExit: 3", "def double(x):\n    raise SystemExit(3)"),
    passes("right", f"✔ q1 · Title of q1 (passes) ... {COVERAGE} So far 1 of 3 public checks pass.", RIGHT),
    stale("an old function", f"SyntaxError ... in line 2. {OLD}, which was not checked: fix the cell", OPEN),
    stale("an old function, by its misspelt def", OLD, RIGHT, "deff double(x):\n    pass"),
    stale(
        "an old function that is wrong",
        "! q1 · Title of q1 (not checked: the cell above did not run)",
        *(SQUARE, "RIGHT = grader.check('q1')", "def double(x) return x"),
    ),
    passes("right again", "✔ Two becomes four.", RIGHT),
    stale("an old function again", "did not run", OPEN),
    stale("an old function, and the first cell again", OLD, FIRST),
    told("", "all, with an old function", "0 of 3 public checks pass.", "grader.check_all()"),
    stale("an error above", "ZeroDivisionError: division by zero, in line 1.", f"1 / 0\n{RIGHT}"),
    passes("an error below", "✔ Two becomes four.", ANSWERS["q1"] + "\n1 / 0"),
    checked("passes", "by its function", "q1 · Title", question="double"),
    passes("a leaf", "It requires grad.", ANSWERS["q2"], question="q2"),
    passes("a class", "It counts.", ANSWERS["q3"], question="q3"),
    passes("printing", "passes", PRINTS),
    passes("warning", "passes", WARNS),
    fails("an endless loop", "Your code was stopped after 0.5 s", "def double(x):\n    while True: pass"),
    fails("an endless loop that catches errors", "was stopped after 0.5 s ... in double, line", CATCHES),
    fails("hostile", "ValueError", "def double(x):\n    raise ValueError('<script>1</script>\\x1b[2J')"),
    told("", "no name", 'Name a question, as in grader.check("q1"): this notebook', "grader.check()"),
    checked("", "unknown question", "There is no q9; this notebook has q1 to q3.", question="q9"),
    told("", "two questions", 'one question: grader.check("q1"), then ... To check all of them', TWO),
    told("", "Otter's export", "There is no grader.export here ... save the notebook", "grader.export()"),
    fails("a graph in the first test only", "✘ Two becomes four. ... ✘ Three becomes six.", DRAWN),
    told("", "a hint", "q3, hint 1 of 2 ... The hint number 1.", 'grader.hint("q3")'),
    told("", "a next hint", "q3, hint 2 of 2 ... The hint number 2.", 'grader.hint("Counter")'),
    told("", "a hint to nothing", "Name a question, as in grader.check", "grader.hint()"),
    fails("an answer that asks", "EOFError: a check cannot wait for input: remove input() from", ASKS),
    told("", "all", "3 of 3 public ... ✔ q1 ... ✔ q2 ... ✔ q3", *ANSWERS.values(), "grader.check_all()"),
    passes("import grader", "q1 · Title of q1", "import grader"),
    checked("", "gradients are off", "in this kernel ... torch.set_grad_enabled(True)", GRAD_OFF),
    fails(
        "an answer that leaves them off",
        "✘ Two becomes four. ... left gradients switched off: ",
        GRAD_ON,
        OFF,
    ),
    fails("an error in a timed cell", "in double, line 4 of its cell: return y.missing", TIMED),
    fails("an error in a captured cell", "in double, line 5 of its cell: return y.missing", CAPTURED),
    stale("a timed cell that stops", "'int' object has no attribute 'missing', in line 3.", STOPS),
    fails(
        *("the same answer again", "The checked version has the line `return x * x`: if the cell"),
        *("def double(x):\n    # twice\n    return x * x", "CHECKED = grader.check('q1')"),
    ),
    checked(
        "", "a mistake of ours", "by a mistake of its own (TypeError ... Restart the kernel", BREAKS, FIRST
    ),
    checked("", "where Otter grades", "None", RESTORES, OTTER, FIRST),
]


def in_kernel(folder, cells, before="", popen=subprocess.Popen):
    """What each cell gives back that begins with ``grader.``: status, text and HTML."""
    return in_ipython(before + KERNEL, cells, folder, popen, GRADER_CHECK_SECONDS="0.5")


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What was said in each case, one after the other in one kernel."""
    folder = tmp_path_factory.mktemp("kernel")
    write(folder / ".handout" / "01_small.ipynb", released())
    shown = in_kernel(folder, [FIRST, *(cell for _, cells, *_ in CASES for cell in cells)])
    return dict(zip([name for name, *_ in CASES], shown, strict=True))


@pytest.mark.parametrize(
    ("name", "status", "words"), [(n, s, w) for n, _, s, w in CASES], ids=[c[0] for c in CASES]
)
def test_each_case_is_told(said, name, status, words):
    seen, text, _ = said[name]
    assert seen == status
    assert "Traceback" not in text
    for part in words.split(" ... "):
        _, found, text = text.partition(part)
        assert found, part


def test_the_page_folds_what_was_printed(said):
    """What a function prints, and warnings, are folded, and cut, below the verdict."""
    for name, summary, inside in (
        ("printing", "10,000 lines printed meanwhile", "spam 1\n"),
        ("warning", "1 warning given meanwhile", "UserWarning: mind the graph.</pre>"),
    ):
        _, _, page = said[name]
        folded = page.partition('<details class="autograd-printed"')[2]
        assert f">{summary}</summary>" in folded and inside in folded
        assert inside not in page.partition("<details")[0]
        assert len(page) < 20_000
    assert "autograd-printed" not in said["right"][2]


def test_a_page_escapes_what_students_write(said):
    _, text, page = said["hostile"]
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert "\x1b" not in text + page


def test_each_failure_shows_a_hint_more(said):
    """An attempt that ran and failed brings a hint more, folded; a typo or a missing return does not."""
    hints = {name: shown[2].count('<details class="autograd-hint"') for name, shown in said.items()}
    names = ("no return", "other parameters", "a lambda", "the same answer again", "right")
    assert [hints[name] for name in names] == [0, 1, 2, 2, 0]


def test_a_hint_about_an_error_that_is_gone_is_skipped(tmp_path):
    """A hint that begins with the starter code's error is shown only if the answer raises one."""
    notebook = released()
    for cell in notebook["cells"]:
        cell["source"] = cell["source"].replace("The hint number 1.", "Read the error.")
    write(tmp_path / ".handout" / "01_small.ipynb", notebook)
    answers = ["def double(x): return x.missing", "def double(x): return 4"]
    (_, raises, _), (_, wrong, _), (_, asked, _) = in_kernel(
        tmp_path, [FIRST, answers[0], CHECK, answers[1], CHECK, 'grader.hint("q1")']
    )
    assert "Hint 1: Read the error." in raises
    assert "Read the error." not in wrong
    assert "Hint 2: The hint number 2." in wrong
    assert asked == "q1, hint 2 of 2\n\nThe hint number 2."


def test_a_hint_has_the_number_of_the_notebook(said):
    _, text, page = said["the same answer again"]
    for number in (1, 2):
        assert f"  Hint {number}: The hint number {number}." in text
        folded = page.partition(f">Hint {number}</summary>")[2].partition("</details>")[0]
        assert f"The hint number {number}." in folded


def test_a_verdict_on_starter_code_is_folded(said):
    above, folded, _ = said["untouched"][2].partition('<details class="autograd-tests"')
    assert folded
    assert 'role="list"' not in above


def test_an_old_function_has_no_verdict(said):
    for name in ("an old function", "an old function that is wrong", "an old function again"):
        _, text, page = said[name]
        assert "details" not in page
        assert 'role="list"' not in page
        assert len(text.splitlines()) == 2


def test_the_card_counts_as_the_terminal_does(tmp_path, warm_ipython):
    """The bonus task is no question, so it is not counted, and has a sentence of its own if it passes."""
    notebook = released()
    notebook["cells"] += [
        markdown("## Bonus task · Three times", "task-end"),
        code("def triple(x):\n    return x", "stub-end"),
        code('grader.check("end")', "check-end"),
    ]
    notebook["metadata"]["otter"]["tests"]["end"] = otter_test("end", BONUS, 0)
    write(tmp_path / ".handout" / "01_small.ipynb", notebook)
    cells = [FIRST, "def triple(x): return 3 * x", 'grader.check("end")', RIGHT, CHECK, "grader.check_all()"]
    (_, bonus, _), (_, first, _), (_, every, _) = in_kernel(tmp_path, cells, popen=warm_ipython)
    assert "So far 0 of 3 public checks pass.\n" in bonus + "\n"
    assert "So far 1 of 3 public checks pass. The bonus task passes.\n" in first + "\n"
    assert every.startswith("1 of 3 public checks pass. The bonus task passes.\n")


def drawn_in(page):
    """The SVG that a page shows behind its X-ray's summary."""
    xray = page.partition('<details class="autograd-xray"')[2]
    picture = xray.partition('src="data:image/svg+xml;base64,')[2]
    return b64decode(picture.partition('"')[0]).decode()


def test_the_picture_is_folded_and_of_the_test_that_failed(said):
    """It shows what was given and returned; a failed test is drawn, not a later one; if nothing, none."""
    assert "returned" in drawn_in(said["a leaf"][2])
    assert "autograd-xray" not in said["right"][2]
    assert "Mul" in drawn_in(said["a graph in the first test only"][2])


#: What JupyterLab 4.6 leaves of an untrusted notebook's output, as far as pages use it.
_TAGS = {"code", "details", "div", "em", "img", "li", "ol", "p", "pre", "span", "strong", "summary", "ul"}
_ATTRIBUTES = {"class", "style"}
_REMOVED = {"aria-hidden", "aria-label", "data-status", "role"}  # which show nothing


def test_an_untrusted_notebook_shows_the_page_as_it_is(said):
    """A page has no style sheet, inline SVG or script, which JupyterLab removes from untrusted notebooks."""
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes).keys()))
    for _, _, page in said.values():
        parser.feed(page)
    assert {tag for tag, _ in found} <= _TAGS
    for tag, names in found:
        assert {"alt", "src", "width"} <= names if tag == "img" else names <= _ATTRIBUTES | _REMOVED


def without_metadata(cells):
    return {**document(cells), "metadata": {}}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({".handout/01_small.ipynb": released()}, "(passes)"),
        ({"Small (2).ipynb": released()}, "(passes)"),
        ({"brought/01_small.ipynb": released()}, "(passes)"),
        (
            {"01_small.ipynb": without_metadata([code(STUBS["q1"])])},
            "were not found: install the course's package",
        ),
        ({}, "The checks of 01_small were not found"),
    ],
    ids=[
        "released",
        "renamed, with checks of its own",
        "brought by the package",
        "nothing but cells",
        "nothing",
    ],
)
def test_the_checks_are_found(files, words, tmp_path, warm_ipython):
    """Checks are found by the name in the first cell, however the notebook's file is called."""
    for name, notebook in files.items():
        write(tmp_path / name, notebook)
    write(tmp_path / "02_other.ipynb", without_metadata([code("x = 1")]))
    brought = str(tmp_path / "brought")
    before = f"import pathlib, grader.student.notebook as n; n._BROUGHT = pathlib.Path({brought!r})\n"
    ((_, text, _),) = in_kernel(tmp_path, [FIRST, ANSWERS["q1"], CHECK], before, warm_ipython)
    assert words in text


def test_a_cell_that_was_changed_and_not_run_is_noticed(tmp_path, warm_ipython):
    path = write(tmp_path / "01_small.ipynb", released())
    before = f"import os; os.environ['JPY_SESSION_NAME'] = {str(path)!r}\n"
    now, later = (f"os.utime({str(path)!r}, (0, {when}))" for when in (0, 1 << 40))
    cells = [FIRST, ANSWERS["q1"], "import os\n" + now, CHECK, later, CHECK]
    (_, same, _), (status, other, _) = in_kernel(tmp_path, cells, before, warm_ipython)
    assert "was changed" not in same
    assert (status, "The cell of q1 was changed after it ran" in other) == ("stale", True)
    os.utime(path, (0, 0))  # and where it was not saved since, the commands know it
    assert "in Jupyter you checked other code of q1" in unsaved_line(open_notebook(path))


def test_a_thread_is_stopped_too(tmp_path, warm_ipython):
    """Where there is no alarm, as on Windows, a call of Python that takes too long is stopped."""
    thread = """\
import threading
from grader.student.kernel import StoppedError, time_limit
ended = []
def work():
    try:
        with time_limit(0.2):
            while True: pass
    except StoppedError:
        ended.append("stopped")
thread = threading.Thread(target=work)
thread.start()
thread.join()"""
    cells = [thread, "grader = dict(ended=ended)", "grader.get('ended')"]
    ((_, text, _),) = in_kernel(tmp_path, cells, popen=warm_ipython)
    assert text == "['stopped']"
