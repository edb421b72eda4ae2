"""In JupyterLab: what a student types in the first hour, and what the check below it shows."""

import json
import re
import shutil
from io import BytesIO
from typing import NamedTuple

import pytest
from jupyter import ROOT, THEMES, opened_lab, served
from PIL import Image

STEM = "01_leaves"
RELEASED = ROOT / "assignments" / f"{STEM}.ipynb"
DOCUMENT = json.loads(RELEASED.read_text(encoding="utf-8"))
SOURCES = ["".join(cell["source"]) for cell in DOCUMENT["cells"]]
CODE = [place for place, cell in enumerate(DOCUMENT["cells"]) if cell["cell_type"] == "code"]
STUB, ALL_GRADS = (
    next(source for source in SOURCES if source.startswith(f"def {name}("))
    for name in ("make_weight", "all_grads")
)
RIGHT = """\
def make_weight(n, m, scale):
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(n, m, generator=generator) * scale).requires_grad_()"""
WHY = "Compute first, and set requires_grad last"  # the afterword begins with it


def before_the_end(lines):
    return RIGHT.replace("    return", f"{lines}\n    return")


SPAM = before_the_end("    for step in range(20_000):\n        print('spam', step)")
RAISES = before_the_end("    rows, columns = n.shape")
LOOPS = before_the_end("    while True:\n        n = n + 0")
WARNS = ALL_GRADS.replace("o.backward()", "torch.autograd.backward(o)")


class Mistake(NamedTuple):
    """What a student does, and what is read then without opening anything."""

    name: str
    question: str
    sources: list[str]  # its cell is run with each of them, then its check
    status: str
    words: str  # that are read, in this order
    never: str  # a pattern of what is not


SYNTAX_ERROR = "did not run ... SyntaxError ... old function ... def make_weight(n, m, scale)"
ERROR = "✘ ... AttributeError ... in make_weight, line 3 ... rows, columns = n.shape"
NO_COLON = RIGHT.replace("scale):", "scale)")
MISTAKES = [
    Mistake("a syntax error", "q1", [RIGHT, NO_COLON], "stale", SYNTAX_ERROR, "passed|[✔✘]"),
    Mistake("an error in the function", "q1", [RAISES], "fails", ERROR, "✔"),
    Mistake("prints", "q1", [SPAM], "passes", "✔ ... lines printed", "spam"),
    Mistake("a pass", "q1", [RIGHT], "passes", f"✔ ... {WHY} ... X-ray", "✘"),
]


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    """JupyterLab, which shows a folder of released notebooks."""
    folder = tmp_path_factory.mktemp("course")
    for place in (folder, folder / ".handout"):
        place.mkdir(exist_ok=True)
        shutil.copy(RELEASED, place)
    home = tmp_path_factory.mktemp("home")
    with served(folder, home) as address, opened_lab(browser, address, folder) as lab:
        yield lab


def opened(lab, path):
    """A notebook whose first two cells have run, which make `grader` and import torch."""
    notebook = lab.open(path)
    for place in CODE[:2]:
        notebook.run(place)
    return notebook


@pytest.fixture(scope="module")
def notebook(lab):
    """The released notebook, in one kernel for all tests that share it."""
    return opened(lab, lab.folder / RELEASED.name)


def verdict(notebook, question, sources=()):
    """What a question's check shows, once its cell was run with each of these sources."""
    for source in sources:
        notebook.put(notebook.answer(question), source)
        notebook.run(notebook.answer(question))
    shown = notebook.run(notebook.check(question)).locator(".autograd-check")
    assert shown.count() == 1
    return shown


def assert_reads(text, words):
    for part in words.split(" ... "):
        _, found, text = text.partition(part)
        assert found, part


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake.name for mistake in MISTAKES])
def test_a_verdict_is_read_at_a_glance(notebook, mistake):
    """The check says what happened without anything being unfolded, and shows nothing that misleads."""
    shown = verdict(notebook, mistake.question, mistake.sources)
    text = shown.inner_text()
    assert shown.get_attribute("data-status") == mistake.status
    assert_reads(text, mistake.words)
    assert not re.search(f"Traceback|{mistake.never}", text)
    assert len(text) < 1_000


def test_a_typed_answer_turns_the_verdict(notebook):
    before = verdict(notebook, "q1", [STUB]).get_attribute("data-status")
    indented_by_jupyter = re.sub("(?m)^ +", "", RIGHT)
    notebook.type(notebook.answer("q1"), indented_by_jupyter)
    notebook.run_by_key(notebook.answer("q1"))
    shown = notebook.run_by_key(notebook.check("q1")).locator(".autograd-check")
    assert (before, shown.get_attribute("data-status")) == ("untouched", "passes")


def test_an_endless_loop_is_stopped(notebook):
    notebook.execute("import os; os.environ['GRADER_CHECK_SECONDS'] = '1'")
    shown = verdict(notebook, "q1", [LOOPS])
    notebook.execute("del os.environ['GRADER_CHECK_SECONDS']")
    assert shown.get_attribute("data-status") == "fails"
    assert_reads(shown.inner_text(), "stopped after 1 s ... in make_weight, line")
    assert shown.locator(".autograd-line pre").inner_text().strip() in {"while True:", "n = n + 0"}


@pytest.mark.parametrize(
    ("question", "source", "kind", "words"),
    [
        ("q1", SPAM, "printed", "spam 0"),
        ("q3", WARNS, "printed", "UserWarning"),
        ("q3", WARNS, "hint", "UserWarning"),
    ],
    ids=["prints", "a warning", "a hint"],
)
def test_what_is_folded_unfolds(notebook, question, source, kind, words):
    folded = verdict(notebook, question, [source]).locator(f"details.autograd-{kind}").first
    assert words not in folded.inner_text()
    folded.locator("> summary").click()
    assert words in folded.inner_text()


@pytest.mark.parametrize("theme", THEMES)
def test_an_x_ray_unfolds_in_both_themes(lab, notebook, theme):
    lab.wear(theme)
    shown = verdict(notebook, "q1", [RIGHT])
    xray = shown.locator("details.autograd-xray")
    picture = xray.locator("img").first
    assert not picture.is_visible()
    xray.locator("> summary").click()
    assert picture.is_visible()
    text, around = (
        found.evaluate("one => getComputedStyle(one).color")
        for found in (shown.locator("strong").first, notebook.cell(0).locator("p").first)
    )
    assert text == around
    xray.locator("details > summary").click()
    for image in (picture, xray.locator(".xray-legend img").first):
        assert image.is_visible()
        drawn = Image.open(BytesIO(image.screenshot())).convert("L")
        dark, bright = drawn.getextrema()
        paper = drawn.getpixel((0, 0))
        assert paper > 250 if theme == "light" else paper < 40
        assert bright - dark > 150


def test_a_long_title_is_indented_below_its_beginning(notebook):
    shown = verdict(notebook, "q3", [WARNS])
    title = shown.locator("strong").first
    shown.evaluate("one => one.style.width = '12rem'")
    lines = title.evaluate("one => [...one.getClientRects()].map(line => line.left)")
    shown.evaluate("one => one.style.width = ''")
    assert len(lines) > 1
    assert len(set(lines)) == 1


def test_a_verdict_is_read_in_an_untrusted_notebook(lab):
    notebook = opened(lab, lab.folder / RELEASED.name)
    place = notebook.check("q1")
    verdict(notebook, "q1", [RIGHT])
    cells = json.loads(json.dumps(DOCUMENT["cells"]))
    cells[place]["outputs"] = notebook.outputs(place)
    path = lab.folder / "saved" / "from elsewhere.ipynb"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**DOCUMENT, "cells": cells}), encoding="utf-8")
    reopened = lab.open(path)
    assert not reopened.is_trusted(place)
    shown = reopened.cell(place).locator(".autograd-check")
    assert_reads(shown.inner_text(), f"✔ ... {WHY} ... X-ray")
    assert shown.evaluate("one => getComputedStyle(one).borderLeftColor") == "rgb(42, 157, 74)"
    shown.locator("details.autograd-xray > summary").click()
    picture = shown.locator("details.autograd-xray img").first
    assert picture.is_visible()
    assert picture.evaluate("one => one.decode().then(() => one.naturalWidth)") > 100
