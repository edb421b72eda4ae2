"""What everybody reads of a question whose answer is in the notebook, but does not count."""

import json

import pytest
from observing import look
from tiny_course import RIGHT

TORCH, DOUBLE, LEAF = RIGHT
STARTER = 'def double(x):\n    """Twice x."""\n    return x'


def hand_in(klass, student, cells, **metadata):
    path = klass.hand_in(student, [cell if isinstance(cell, str) else cell[1] for cell in cells])
    document = json.loads(path.read_text(encoding="utf-8"))
    for cell, given in zip(document["cells"], cells, strict=True):
        cell["cell_type"] = "code" if isinstance(given, str) else given[0]
    path.write_text(json.dumps({**document, "metadata": metadata}), encoding="utf-8")


def pages(klass, student):
    page = (klass.out / "feedback" / student / "01_tiny.html").read_text(encoding="utf-8")
    return page, (klass.out / "report.html").read_text(encoding="utf-8")


NOTHING = "No cell of this notebook defines double"
UNCHANGED = "double is still the starter code."
NOT_RUN = "which is not run: make it a code cell."
BELOW = "in code cell 2, below `%%timeit`, whose code defines no names in the notebook: delete that line."
COPY = "but only the notebook itself is graded: copy the code of that file into it."


IN_MARKDOWN = f"double is defined in a Markdown cell (below code cell 1), {NOT_RUN}"
IN_RAW = f"{UNCHANGED} It is also defined in a raw cell (below code cell 2), {NOT_RUN}"
RENAMED = f"{NOTHING}, but code cell 2 defines Doubles: if that is your answer, rename it."
IN_A_FILE = f"{NOTHING}. Code cell 2 runs `%run helper.ipynb`, {COPY}"


@pytest.mark.parametrize(
    ("cells", "status", "message"),
    [
        ([TORCH, ("markdown", DOUBLE), LEAF], "missing", IN_MARKDOWN),
        ([TORCH, STARTER, ("raw", DOUBLE), LEAF], "untouched", IN_RAW),
        ([TORCH, f"%%timeit\n{DOUBLE}", LEAF], "missing", f"double is defined {BELOW}"),
        ([TORCH, DOUBLE.replace("double", "Doubles"), LEAF], "missing", RENAMED),
        ([TORCH, "%run helper.ipynb", LEAF], "missing", IN_A_FILE),
    ],
)
def test_an_answer_that_does_not_count_is_found(klass, cells, status, message):
    """The student, the terminal and the report say where it is; it earns nothing."""
    hand_in(klass, "ada", cells)
    printed = " ".join(klass.grade().split())
    question = klass.result("ada")["questions"][0]
    assert (question["status"], question["score"], klass.scores()) == (status, 0, {"ada": "4"})
    assert {check["message"] for check in question["checks"]} == {message}
    assert "Needs review: 1 submission" in printed
    plain = message.replace("`", "")
    for page in pages(klass, "ada"):
        assert plain in page.replace("<code>", "").replace("</code>", "").replace("`", "")


def test_the_error_of_the_cell_with_the_answer_is_the_reason(klass):
    """Of several failed cells, the one that contains the answer is quoted; nobody else has to look."""
    printed = klass.grade(ada=[TORCH, "1 / 0", f"{DOUBLE})", LEAF])
    question = klass.result("ada")["questions"][0]
    message = "double is defined in code cell 3, which did not run to its end."
    assert question["checks"][0]["message"] == message
    assert "This may be why: Code cell 3 stopped with SyntaxError" in pages(klass, "ada")[0]
    assert "Needs review: nothing" in printed


def test_what_is_found_nowhere_is_said_to_be_missing(klass):
    klass.grade(ada=[TORCH, LEAF])
    question = klass.result("ada")["questions"][0]
    expected = "No cell of this notebook defines double, or its cell stopped with an error first."
    assert (question["checks"][0]["message"], question["elsewhere"]) == (expected, "")


def test_starter_code_below_an_answer_counts_and_is_named(klass):
    """As in Jupyter the last definition counts; which one to delete is said to everybody."""
    printed = " ".join(klass.grade(ada=[TORCH, DOUBLE, LEAF, STARTER]).split())
    question = klass.result("ada")["questions"][0]
    assert (question["status"], question["score"]) == ("untouched", 0)
    message = (
        "Code cell 4 defines double again with the starter code; your answer in code cell 2 is above it:"
        " delete the definition in code cell 4."
    )
    assert {check["message"] for check in question["checks"]} == {message}
    assert all(message in page for page in pages(klass, "ada"))
    assert "Needs review: 1 submission" in printed


def test_starter_code_below_an_answer_in_the_same_cell(klass):
    klass.grade(ada=[TORCH, f"{DOUBLE}\n{STARTER}", LEAF])
    assert klass.result("ada")["questions"][0]["elsewhere"] == (
        "double is defined more than once in code cell 2, and the last definition, which counts, is the"
        " starter code: delete it."
    )


F = "def f():\n    return 1"
STUB = "def f():\n    ..."


@pytest.mark.parametrize(
    ("cells", "above"),
    [
        ([F, STUB], 1),
        ([F, F.replace("1", "2"), STUB], 2),
        (["%%time\nf = lambda: 1", STUB], 1),
        ([f"1 / 0\n{F}", STUB], 1),
        ([f"{F}\n{STUB}"], 1),
        ([STUB, "def g():\n    return 1", f"{STUB}  # unchanged"], None),
        ([STUB, f"x = 1\nif x > 1:\n    {F}".replace("\n    return", "\n        return")], None),
        ([STUB, f"({F}"], None),
        (["class C:\n    def f(self): return 1", STUB], None),
    ],
)
def test_the_answer_above_starter_code(zygote, cells, above):
    seen = look(zygote, cells, f="1")
    assert (seen.status, seen.evidence.answer_above) == ({"f": "untouched"}, {"f": above})


def test_a_variable_with_the_name_of_the_function(klass):
    """Its class and its cell are said, instead of the error of a call; it is no answer."""
    klass.grade(ada=[*RIGHT, "double = 0", "double = double + 1"], ben=[*RIGHT, "double = None"])
    questions = {name: klass.result(name)["questions"][0] for name in ("ada", "ben")}
    message = "`double` is {} at the end of the notebook: code cell {} assigned it. Rename that variable."
    expected = {"ada": message.format("an int", 5), "ben": message.format("None", 4)}
    assert {name: each["elsewhere"] for name, each in questions.items()} == expected
    assert [(each["status"], each["cell"]) for each in questions.values()] == [("missing", 5), ("missing", 4)]
    assert klass.scores() == {"ada": "4", "ben": "4"}


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("f = 3", "int"),
        ("import torch\nf = torch.ones(1)", "Tensor"),
        ("class Own: __class__ = property(lambda self: 1 / 0)\nf = Own()", "Own"),
        ("class Own:\n    def __call__(self): ...\nf = Own()", None),
        ("class f: ...", None),
        ("import functools\nf = functools.partial(print)", None),
        ("f = len", None),
        ("f = 3\ndel f", None),
    ],
)
def test_what_is_not_callable(zygote, cell, kind):
    seen = look(zygote, [F, cell], f="1")
    assert seen.evidence.not_callable == ({"f": kind} if kind else {})
    assert seen.status["f"] == ("missing" if kind or "del" in cell else "answered")


def test_a_kernel_of_another_language_is_named_once(klass):
    """The student, the terminal and the report say it; no error of a cell is quoted for each question."""
    hand_in(klass, "ada", ["library(torch)\nx <- 1"], kernelspec={"language": "R", "name": "ir"})
    message = "This notebook's kernel is R; the course needs Python."
    printed = " ".join(klass.grade().split())
    assert message.removesuffix(".") in printed
    assert "Needs review: 1 submission" in printed
    page, report = (text.replace("&#39;", "'") for text in pages(klass, "ada"))
    assert (page.count(message), page.count("This may be why"), message in report) == (1, 0, True)
