"""Feedback in a browser: on a wide screen, on a phone, in the dark and in print."""

from dataclasses import replace

import pytest
from test_feedback import FAILED, NOT_ANSWERED, PASSED, check, failed_cell, question, result
from test_report_page import computed, contrast, luminance

from grader.graphs.model import read_graph
from grader.graphs.picture import draw
from grader.reports.document import Row
from grader.reports.feedback import feedback_html
from grader.reports.own_code import Excerpt

NAMES = "محمد <b>العربي</b> 李小龙 " + "x" * 180
PHONE = {"width": 390, "height": 844}


def picture(steps, reference=None):
    """A drawn chain of operations from h to a leaf, whose last operation is stale."""
    tensor = {
        **dict.fromkeys(("leaf", "grad", "retains"), False),
        **dict.fromkeys(("version", "made_by", "output", "storage"), 0),
        "name": "h",
        "shape": "1x2",
        "requires_grad": True,
        "same": None,
    }
    node = {"op": "MulBackward0", "leaf": None, "named": None, "grad": False, "saved": []}
    nodes = [{**node, "next": [place + 1]} for place in range(steps)]
    nodes[-1]["saved"] = [["self", "stale", 0, 1, None]]
    nodes.append({**node, "op": "AccumulateGrad", "next": [], "leaf": "3x2"})
    fact = {"tensors": [tensor], "nodes": nodes, "more": False, "total": steps + 1, "freed": 0, "stale": 1}
    drawn = draw(read_graph(fact), f"{steps} steps to the leaf")
    return drawn if reference is None else type(drawn)(**{**vars(drawn), "reference": reference})


@pytest.fixture(scope="module")
def feedback(tmp_path_factory):
    """Feedback with everything: strange names, long words, a solved question, and pictures side by side."""
    checks = [check(message=f"RuntimeError: {'W' * 200} `with x:`")]
    questions = PASSED, question("q2", checks=checks), replace(FAILED, id="q4"), NOT_ANSWERED
    names = {"student": NAMES, "notebook": f"{NAMES}.ipynb", "superseded": (NAMES, NAMES)}
    told = result(*questions, **names, cells=[failed_cell(1), failed_cell(2)])
    pictures = {"q1": [picture(2)], "q2": [picture(9, picture(3))]}
    path = tmp_path_factory.mktemp("feedback") / "01_tiny.html"
    rows = [Row(None, "… 97 lines are not shown"), Row(98, "def " + "x" * 196), Row(99, "    return", True)]
    code = {"q2": [Excerpt(9, rows), Excerpt(12, rows)]}
    path.write_text(feedback_html(told, pictures, code), encoding="utf-8")
    return path


def boxes(page, selector):
    """Left, top and right of every element, in pixels."""
    found = "all => all.map(e => e.getBoundingClientRect()).map(r => [r.left, r.top, r.right])"
    return page.eval_on_selector_all(selector, found)


def test_nothing_is_cut_off_on_a_phone(feedback, visit):
    """The page is no wider than the screen, nor is a drawing; the reference's stands below the student's."""
    page = visit(feedback, viewport=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.locator("#q2 .code > summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    for selector in ("p", "li", "h1", "h2", "figure", "svg", ".line"):
        assert max(right for _, _, right in boxes(page, selector)) <= PHONE["width"], selector
    (left, top, _), (left_of_other, top_of_other, _) = boxes(page, "#q2 .drawing")
    assert (left, top < top_of_other) == (left_of_other, True)


def test_drawings_stand_side_by_side_where_there_is_room(feedback, visit):
    page = visit(feedback, viewport={"width": 1200, "height": 900})
    (_, top, right), (left_of_other, top_of_other, _) = boxes(page, "#q2 .drawing")
    assert (top, right <= left_of_other) == (top_of_other, True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read_in_the_light_and_in_the_dark(feedback, visit, scheme):
    page = visit(feedback, color_scheme=scheme)
    ground = luminance(page, computed("body", "backgroundColor"))
    assert (ground < 0.1) == (scheme == "dark")
    for selector in "body", ".soft", ".hint", ".passed", ".failed", "figcaption", ".scores a", ".cells a, a":
        assert contrast(luminance(page, computed(selector)), ground) >= 4.5, selector
    assert contrast(luminance(page, computed("#q2 svg text", "fill")), ground) >= 4.5
    marked = luminance(page, computed("#q2 mark", "backgroundColor"))
    assert marked != ground
    for selector in ("#q2 mark", "#q2 mark .at", "#q2 mark .sign"):
        assert contrast(luminance(page, computed(selector)), marked) >= 4.5, selector


def test_own_code_is_open_and_its_marks_are_told(feedback, visit):
    """Open, a cell beneath the other; a mark is a sign with a name, and no number is copied."""
    page = visit(feedback)
    assert page.locator("#q2 .code pre").first.is_visible()
    assert page.locator("#q2 .code pre").count() == 2
    assert page.locator("#q2 pre").first.get_by_role("img", name="marked").count() == 1
    tops = [top for _, top, _ in boxes(page, "#q2 .code pre .line")]
    assert tops == sorted(set(tops))
    page.locator("#q2 pre").first.select_text()
    copied = page.evaluate("getSelection().toString()")
    assert copied.splitlines()[1:] == ["def " + "x" * 196, "    return"]


def test_a_picture_is_folded_until_it_is_opened(feedback, visit):
    page = visit(feedback, java_script_enabled=False)
    assert not page.locator("#q2 figure svg").first.is_visible()
    assert not page.locator("#q1 .xray svg").is_visible()
    page.locator("#q1 .xray summary").click()
    assert page.locator("#q1 .xray svg").is_visible()
    assert page.locator("script").count() == 0


def test_it_prints_on_white_and_in_full(feedback, visit):
    page = visit(feedback, color_scheme="dark")
    page.emulate_media(media="print")
    assert luminance(page, computed("body", "backgroundColor")) == 1.0
    assert contrast(luminance(page, computed("#q1 svg text", "fill")), 1.0) >= 4.5
    for selector in ("#q1 .xray svg", "#q1 .legend li", "#q2 .code mark"):
        assert page.locator(selector).first.is_visible(), selector
