"""Pictures between the lines of a notebook are drawn when it is built, and need nothing to be seen."""

import base64
import json
import re

import pytest
from test_build import POINTS, TINY
from tiny_course import edit

from grader.course.build import build
from grader.course.notebook_source import read_assignment
from grader.course.pictures import drawing
from grader.errors import CourseError

MASTER = "solutions/01_tiny.py"
DRAWN = """\
# %%
import torch

w = torch.ones(2, requires_grad=True)
print(w)

# %% tags=["drawn"]
# The sum is <not> a leaf,
# and w is "one".
total = (3 * w).sum()
xray(total=total, w=w)

# %%
w = None


# %% [markdown]
# ## q1"""


@pytest.fixture
def root(tmp_path):
    """A course of an assignment with one picture, without its checks."""
    master = tmp_path / MASTER
    master.parent.mkdir()
    master.write_text(TINY.replace("# %% [markdown]\n# ## q1", DRAWN, 1), encoding="utf-8")
    return tmp_path


def built(root):
    """The text of each cell of the notebook."""
    build([read_assignment(root / "solutions" / "01_tiny.py")], root / "assignments", POINTS)
    notebook = json.loads((root / "assignments" / "01_tiny.ipynb").read_text(encoding="utf-8"))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


@pytest.fixture
def no_worker(monkeypatch):
    """Nothing is drawn: what starts a worker fails."""

    def fails():
        raise AssertionError("a worker was started")

    monkeypatch.setattr("grader.course.pictures.Zygote", fails)


def test_a_drawn_cell_becomes_its_picture(root, shared_zygote):
    """A PNG within the text, with the caption and the call; who cannot see it is told what there is."""
    cells = built(root)
    [(kind, text)] = [(kind, text) for kind, text in cells if "data:image" in text]
    shown = re.fullmatch(
        r'<img width="(\d+)" alt="([^"<]*)" src="data:image/png;base64,([^"]+)">\n\n\*(.*)\* \(`(.*)`\)', text
    )
    width, alternative, file, caption, call = shown.groups()
    assert kind == "markdown"
    assert (caption, call) == ('The sum is <not> a leaf, and w is "one".', "xray(total=total, w=w)")
    assert "3 nodes behind total" in alternative
    png = base64.b64decode(file)
    assert png.startswith(b"\x89PNG\r\n")
    assert int.from_bytes(png[16:20]) == pytest.approx(2 * int(width), abs=2)
    assert len(png) < 20_000
    assert not any("xray" in source or "total" in source for kind, source in cells if kind == "code")


GUESS = "# %% [markdown]\n# *Guess first:* is it a leaf?\n\n# %%\nimport torch\n"
FOLDED = re.compile(r"<details><summary>[^<]+</summary>\n\n<img [^>]*>\n\n\\*.*\n\n</details>")


@pytest.mark.parametrize(
    ("text", "is_folded"),
    [
        (GUESS, True),
        (GUESS.replace("# *Guess", "# ### Its kind\n#\n# *Guess"), True),
        (GUESS.replace("*Guess first:*", "**Guess first.**"), True),
        (f"{GUESS}\n# %% [markdown]\n# ### The next subject\n\n# %%\n", False),
        (GUESS.replace("Guess first", "Look"), False),
    ],
)
def test_a_picture_does_not_give_a_guess_away(root, shared_zygote, text, is_folded):
    """Between "Guess first" and the next heading a picture is folded, with a text that says what is in it."""
    edit(root / MASTER, "# %%\nimport torch\n", text)
    [shown] = [source for _, source in built(root) if "data:image" in source]
    assert bool(FOLDED.fullmatch(shown)) == is_folded
    assert ("<details>" in shown) == is_folded


def test_a_picture_is_drawn_once(root, shared_zygote, request):
    """What was drawn of the same cells is remembered; a demonstration that has changed draws anew."""
    before = built(root)
    request.getfixturevalue("no_worker")
    assert built(root) == before
    edit(root / MASTER, "torch.ones(2", "torch.ones(3")
    with pytest.raises(AssertionError, match="a worker was started"):
        built(root)


def test_without_a_picture_no_worker_is_started(root, no_worker):
    edit(root / MASTER, 'tags=["drawn"]', "")
    assert built(root)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("total=total", "total=missing", "missing' is not defined"),
        ("total=total, w=w", "number=1", "xray(number=1) shows nothing. Name tensors, or modules"),
        ("print(w)", "1 / 0", "ZeroDivisionError"),
    ],
)
def test_what_cannot_be_drawn_is_told_with_its_line(root, shared_zygote, old, new, told):
    edit(root / MASTER, old, new)
    with pytest.raises(CourseError, match=r"01_tiny\.py, line 14: xray") as error:
        built(root)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('# The sum is <not> a leaf,\n# and w is "one".\n', ""),
        ("xray(total=total, w=w)", "xray(total)"),
        ("total = ", "%time total = "),
    ],
)
def test_what_says_too_little_is_refused(root, old, new):
    edit(root / MASTER, old, new)
    with pytest.raises(CourseError, match=r"line 1\d: this cell is tagged `drawn`"):
        read_assignment(root / "solutions" / "01_tiny.py")


def test_nothing_is_written_where_nothing_was_drawn(root):
    edit(root / MASTER, 'tags=["drawn"]', "")
    with drawing(root) as draw:
        draw(read_assignment(root / "solutions" / "01_tiny.py"))
    assert not (root / ".doctor").exists()
