"""Outside: where a notebook defines an answer that does not count, as far as its text says."""

import pytest
from patience import time_limit

from grader.notebooks.misplaced import RUN_BELOW, misplaced_definition, other_file_run, similar_definition
from grader.notebooks.reader import Notebook, OtherCell, cells_of
from grader.runtime import cells

ANSWER = "def answer(x):\n    return x"
METHOD = "class Other:\n    def answer(self):\n        return 1"


def notebook(*sources, others=()):
    return Notebook("", cells_of(sources), None, tuple(OtherCell(*other) for other in others))


def where(read, *, released=(), failed=(), counted=None):
    found = misplaced_definition(read, "answer", released, failed, counted)
    return found and found.where


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (f"%%timeit\n{ANSWER}", "`%%timeit`"),
        (f"\n%%script false --no-raise-error\n{ANSWER}", "`%%script false --no-raise-error`"),
        (f"%%bash\n{ANSWER}", "`%%bash`"),
        (f"%%python3\nif True:\n  async {ANSWER}", "`%%python3`"),
        ("%%html\nclass answer:\n  pass", "`%%html`"),
        (f"%%{'long ' * 50}\n{ANSWER}", f"`%%{('long ' * 12)[:58]}`"),
    ],
)
def test_a_definition_below_a_cell_magic(source, line):
    expected = f"in code cell 2, below {line}, whose code defines no names in the notebook: delete that line"
    assert where(notebook("x = 1", source)) == expected


def test_the_same_magics_run_their_body_here_and_in_a_worker():
    """Code below these magics defines names, so they explain nothing."""
    assert RUN_BELOW == cells._TRANSPARENT
    assert where(notebook(f"%%time\n{ANSWER}")) is None


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (("markdown", 4, f"My answer:\n```python\n{ANSWER}\n```"), "a Markdown cell (below code cell 4)"),
        (("raw", 0, ANSWER), "a raw cell (at the beginning of the notebook)"),
        (("sql", 2, f"    {ANSWER}"), "a cell of the type `sql` (below code cell 2)"),
    ],
)
def test_a_definition_in_a_cell_that_is_not_run(other, expected):
    found = where(notebook("x = 1", others=[other]))
    assert found == f"in {expected}, which is not run: make it a code cell"


def test_a_definition_in_a_cell_that_failed():
    found = misplaced_definition(notebook("x = 1", ANSWER), "answer", (), {1, 2}, None)
    assert (found.where, found.failed_cell) == ("in code cell 2, which did not run to its end", 2)


def test_an_indented_definition_is_the_last_that_is_named():
    """A method has the name of the answer: that explains a missing answer only if nothing else does."""
    inside = "it is part of a function, a class or a block that did not run"
    assert where(notebook(METHOD)) == f"in code cell 1, but line 2 is indented: {inside}"
    assert "Markdown" in where(notebook(METHOD, others=[("markdown", 1, ANSWER)]))
    assert where(notebook(f"{METHOD}\n{ANSWER}")) is None


@pytest.mark.parametrize(
    "source", ["answers(1)", "def answers(x): ...", "x = 'define answer'", "answer = 3", "undef answer(x)"]
)
def test_other_text_is_no_definition(source):
    assert where(notebook(source, others=[("markdown", 0, source)])) is None


def test_the_courses_cells_and_the_one_that_counts_are_no_answers():
    assert where(notebook(ANSWER, METHOD), released=[METHOD], failed=[1], counted=1) is None


@pytest.mark.parametrize(
    ("other", "is_similar"),
    [
        *(("makeWeight", True), ("make_weights", True), ("Make_Weight", True), ("make_wieght", True)),
        *(("weight", False), ("make_bias", False), ("f", False), ("released_weight", False)),
    ],
)
def test_a_similar_name(other, is_similar):
    read = notebook("import torch", f"def {other}(n):\n    return n")
    found = similar_definition(read, "make_weight", {"released_weight"})
    assert found == ((other, 2) if is_similar else None)
    assert similar_definition(read, "make_weight", {other}) is None


def test_the_most_similar_name_counts():
    read = notebook("def make_weightss(): ...", "def make_weights(): ...", "class make_weights: ...")
    assert similar_definition(read, "make_weight", ()) == ("make_weights", 3)


def test_a_line_that_runs_another_file():
    assert other_file_run(notebook("x = 1", "y = 2\n  %run helper.ipynb  \n")) == ("%run helper.ipynb", 2)
    assert other_file_run(notebook("%load answer.py")) == ("%load answer.py", 1)
    assert other_file_run(notebook("%load_ext autoreload\n# %run helper.ipynb\n%%time\n!run x")) is None


@pytest.mark.parametrize(
    "source",
    [
        *("\n" * 1_000_000, " \n" * 500_000 + "answer", "answer\n" + "%%" * 500_000),
        "def answe(x): ...\n" * 50_000 + "answer",
        "".join(f"def make_weigh{n}(): ...\n" for n in range(40_000)) + "answer",
        "async \t" * 150_000 + "answer",
    ],
)
def test_no_text_takes_long(source):
    read = notebook(*[source] * 8, others=[("markdown", 1, source)] * 8)
    with time_limit(20):
        assert misplaced_definition(read, "answer", (), (), None) is None
        similar_definition(read, "make_weight", ())
        assert other_file_run(read) is None
