"""What a student reads about one submission: as a page, and as Markdown."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from factories import told as told_of
from msgspec import structs

from grader.contracts.diagnosis import finding_of
from grader.contracts.observation import finding_without_observation
from grader.course.assignment import BONUS_TASK
from grader.course.settings import Feedback
from grader.graphs.picture import Picture
from grader.graphs.svg import LEGEND_MARKDOWN
from grader.reports.document import Row
from grader.reports.feedback import diagnoses_of, feedback_html, feedback_markdown
from grader.reports.own_code import Excerpt
from grader.results.model import CheckResult, Provenance, QuestionResult, Result
from grader.sandbox.evidence import FailedCell, Failure, SkippedStatement, not_observed
from grader.sandbox.values import Raised

HOSTILE = "<script>alert(1)</script>\"'` [x](y) @ada #1 & \u202e"
SVG = '<svg class="xray" viewBox="0 0 9 9"><text>{}</text></svg>'


PLAIN = CheckResult(
    "test_it", "It is a leaf", "failed", 0.0, 2.0, "It is the result of Mul.", "Print is_leaf."
)


def check(**changes):
    return replace(PLAIN, **changes)


def question(identity="q1", *, checks=None, score=0.0, worth=4.0, **changes):
    checks = tuple(checks or [PLAIN])
    made = QuestionResult(identity, "A weight", "make_weight", "answered", score, worth, checks)
    return replace(made, **changes)


def result(*questions, **changes):
    score, most = sum(q.score for q in questions), sum(q.max_score for q in questions)
    graded = ("01_tiny", "ada/01_tiny.ipynb", (), "graded", None, score, most, (), questions)
    return replace(Result("01_tiny", "ada", *graded, graded_with("landlock+seccomp")), **changes)


def graded_with(protection):
    return Provenance("0", "0", "1.0.0", "2.13.0", protection, "2026-11-21T03:00:00Z")


PASSED = question(
    checks=[check(outcome="passed", points=4.0, max_points=4.0, message=None, hint=None)], score=4.0
)
FAILED = question("q2")
UNDEFINED = check(message="No cell of this notebook defines train.", hint=None)
NOT_ANSWERED = question("q3", status="missing", checks=[UNDEFINED])


def drawn(name, *, reference=None):
    mermaid = f"flowchart TB\n  {name}"
    return Picture(f"The loss of {name}", f"{name} has 3 nodes.", SVG.format(name), mermaid, reference)


class Page(HTMLParser):
    """The elements of a page in their order, each with its attributes and the elements it stands in."""

    _VOID = frozenset({"meta", "br", "link", "img", "input", "hr"})

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self._open = [], [], []
        self.feed(text)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self._open)))
        if tag not in self._VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag, kind=None):
        of_tag = [attributes for name, attributes, _ in self.elements if name == tag]
        return [one for one in of_tag if kind is None or kind in (one.get("class") or "").split()]

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


def page_of(result, pictures=None, code=None, shows=None):
    return feedback_html(result, pictures or {}, code or {}, shows or Feedback())


def both(result, pictures=None, code=None, shows=None):
    told = pictures or {}, code or {}, shows or Feedback()
    return page_of(result, *told), feedback_markdown(result, *told)


def failed_cell(number, text="E"):
    return FailedCell(number, "raised", text)


def fences(text):
    """The contents of all fences of a Markdown text, by CommonMark's rules; fails where one stays open."""
    found, inside, closed = [], None, ""
    for line in text.splitlines():
        if inside is None and (opened := re.match("(`{3,})([^`]*)$", line)):
            found.append((opened[2], inside := []))
            closed = rf" {{0,3}}`{{{len(opened[1])},}}\s*"
        elif inside is not None and re.fullmatch(closed, line):
            inside = None
        elif inside is not None:
            inside.append(line)
    assert inside is None
    return [(info, "\n".join(lines)) for info, lines in found]


def test_the_scores_stand_on_top():
    page, text = both(result(PASSED, FAILED))
    links = [(a["href"], a["class"]) for a in Page(page).all("a")]
    assert links == [("#q1", "full"), ("#q2", "none")]
    assert [s["id"] for s in Page(page).all("section")] == ["q1", "q2"]
    assert "q1 4 of 4 · q2 0 of 4" in text.partition("\n## ")[0]


def test_a_question_tells_its_checks_in_their_order():
    checks = [check(title="First", message="Seen one."), check(title="Second", message="Seen two.")]
    page, markdown = both(result(question(checks=checks)))
    for text in Page(page).text, markdown:
        places = [text.index(part) for part in ("First", "Seen one.", "Print is", "Second", "Seen two.")]
        assert places == sorted(places)


def test_a_graph_like_the_references_is_folded():
    same = Picture("The graph", "It has 3 nodes.", SVG.format("loss"), "flowchart TB", None, True)
    other = Picture("The graph", "It has 3 nodes.", SVG.format("loss"), "flowchart TB", same)
    told = "the same as the reference"
    for text in both(result(question()), {"q1": [same]}):
        assert text.count(f"{told}'s; what is wrong is not in this graph") + text.count(f"{told}&#39;s;") == 1
        assert '<details class="xray" open' not in text
    for pages in (both(result(question()), {"q1": [other]}), both(result(PASSED), {"q1": [same]})):
        assert not any(told in text for text in pages)


def test_a_diagnosis_is_told_once():
    checks = [check(title="First"), check(title="Between", message="Other."), check(title="Second")]
    for text in both(result(question(checks=checks))):
        assert text.count("It is the result of Mul.") == 1
        assert text.count("One more check failed for the same reason") == 1
        places = [text.index(part) for part in ("First", "result of Mul", "One more", "Second", "Between")]
        assert places == sorted(places)


RAISED = Raised(
    ("RuntimeError", "Exception"), "no", "cell 3, line 5", function="train", line="loss.backward()"
)
STOPPED = finding_of(RAISED, "unobserved")
UNUSABLE = finding_of(structs.replace(RAISED, where="", line=""), "raised")  # follows from what was returned
UNREACHED = finding_without_observation(not_observed(Failure.QUESTION_OVER))
KILLED = finding_without_observation(not_observed(Failure.KILLED))


@pytest.mark.parametrize(
    ("messages", "order"),
    [
        (["a", "b"], [("a", 0, 0), ("b", 0, 0)]),
        (["a", "b", "b"], [("b", 1, 0), ("a", 0, 0)]),
        (["a", "b", "b", STOPPED], [(STOPPED, 0, 0), ("b", 1, 0), ("a", 0, 0)]),
        (["a", UNUSABLE], [("a", 0, 0), (UNUSABLE, 0, 0)]),
        (["a", "b", "b", KILLED], [(KILLED, 0, 0), ("b", 1, 0), ("a", 0, 0)]),
        ([UNREACHED, "a", UNREACHED, STOPPED], [(STOPPED, 0, 2), ("a", 0, 0)]),
        ([UNREACHED, UNREACHED], [(UNREACHED, 1, 0)]),
        ([None, None], [(None, 0, 0), (None, 0, 0)]),
    ],
)
def test_the_root_cause_comes_first(messages, order):
    """What stopped comes first, then what most were told; what was not reached belongs to the first."""
    checks = [check(id=f"test_{number}", **told_of(message)) for number, message in enumerate(messages)]
    found = diagnoses_of([*checks, check(outcome="passed", message=None)])
    order = [(told_of(first)["message"], *numbers) for first, *numbers in order]
    assert [(one.check.message, len(one.same), len(one.follows)) for one in found] == order


def test_the_likeliest_cause_of_the_others_comes_first():
    """Typical before other inputs, what explains every failure before an example, then errors and changes."""
    in_order = [
        check(message="stopped", stopped=True),
        check(message="changed", kind="side effect"),
        check(message="wrong", kind="wrong"),
        check(message="varied", outcome="partly", kind="side effect"),
        check(message="example", outcome="partly", stopped=True, is_example=True),
    ]
    found = diagnoses_of([*reversed(in_order)])
    assert [each.check.message for each in found] == [each.message for each in in_order]


def test_a_fault_that_is_another_checks_reason_is_said_once():
    first = "What f returned is a float, not a tensor."
    second = "The value is not the sum (it is a float, not a tensor)."
    other = "The value is not the sum (it is a list)."
    found = diagnoses_of([check(message=message) for message in (first, second, other)])
    told = [(one.check.message, [same.message for same in one.same]) for one in found]
    assert told == [(first, [second]), (other, [])]


@pytest.mark.parametrize(
    ("hidden", "gone"),
    [
        ("diagnoses", ["It is the result of Mul.", "same reason", "Your code", "make_weight"]),
        ("hints", ["Hint", "Print is"]),
        ("xrays", ["X-ray", "has 3 nodes", "mermaid", "<svg"]),
    ],
)
def test_what_is_not_shown_leaves_no_trace(hidden, gone):
    questions = [PASSED, question("q2", checks=[check(), check(title="It trains")])]
    pictures, code = {"q2": [drawn("mine")]}, {"q2": [Excerpt(3, [Row(1, "def make_weight():", True)])]}
    shows = Feedback(**{hidden: False})
    pages = both(result(*questions), pictures, code), both(result(*questions), pictures, code, shows)
    for full, less in zip(*pages, strict=True):
        assert any(part in full for part in gone)
        assert not [part for part in gone if part in less]
        for part in ("It is a leaf", "It trains", "0 of 2", "q2"):
            assert part in less
        others = {"diagnoses": "It is the result", "hints": "Print is", "xrays": "has 3 nodes"}
        assert all(part in less for name, part in others.items() if name != hidden)


def test_outcomes_stay_where_diagnoses_are_hidden():
    questions = [question(checks=[check(), check(outcome="passed", points=2.0, message=None)], score=2.0)]
    page, text = both(result(*questions), shows=Feedback(diagnoses=False, hints=False, xrays=False))
    spans = Page(page).all("span", "outcome")
    assert [span["class"] for span in spans] == ["outcome failed", "outcome passed"]
    assert text.count("❌") == text.count("✅") == 1


def test_pictures_stand_in_their_question():
    page, text = both(result(PASSED, FAILED), {"q1": [drawn("mine")], "q2": [drawn("yours")]})
    parsed = Page(page)
    assert ["open" in details for details in parsed.all("details", "xray")] == [False, False]
    parts = "The loss of mine", "mine has 3", "q2 ·", "The loss of yours"
    order = [parsed.text.index(part) for part in parts]
    assert order == sorted(order)
    assert [content for _, content in fences(text)] == ["flowchart TB\n  mine", "flowchart TB\n  yours"]
    assert text.count("<details>") == text.count("</details>") == 2
    assert text.index("</details>") < text.index("## q2")


def test_the_reference_stands_beside():
    page, text = both(result(FAILED), {"q2": [drawn("mine", reference=drawn("theirs"))]})
    parsed = Page(page)
    order = [parsed.text.index(part) for part in ("Yours", "mine has 3", "The reference's", "theirs has 3")]
    assert order == sorted(order)
    assert len(parsed.all("figure", "drawing")) == 2
    assert [info for info, _ in fences(text)] == ["mermaid", "mermaid"]


def test_there_is_one_legend():
    pictures = {"q1": [drawn("a"), drawn("b")], "q2": [drawn("c")]}
    parsed = Page(page_of(result(PASSED, FAILED), pictures))
    assert len(parsed.all("details", "legend")) == 1
    assert not Page(page_of(result(PASSED, FAILED))).all("details", "legend")
    assert not Page(page_of(result(NOT_ANSWERED), pictures)).all("details", "legend")


def test_a_page_runs_no_script_and_loads_nothing():
    page = page_of(result(PASSED, FAILED, cells=[failed_cell(1)]), {"q2": [drawn("mine")]})
    (policy,) = [m["content"] for m in Page(page).all("meta") if m.get("http-equiv")]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "script" not in page
    assert not [e for e in Page(page).elements if {"src", "onload", "onclick"} & set(e[1])]
    assert all(a["href"].startswith("#") for a in Page(page).all("a"))
    assert not Page(page).all("link")


def test_names_and_messages_are_no_markup():
    checks = [check(title=HOSTILE, message=HOSTILE, hint=HOSTILE)]
    questions = question("q1", title=HOSTILE, checks=checks), question("q2", status="missing", checks=checks)
    names = {"student": HOSTILE, "notebook": HOSTILE, "superseded": [HOSTILE]}
    pictures = {"q1": [Picture(HOSTILE, HOSTILE, SVG, "flowchart TB", drawn("theirs"))]}
    page = page_of(result(*questions, **names, cells=[failed_cell(1, HOSTILE)]), pictures)
    parsed = Page(page)
    assert not parsed.all("script")
    assert parsed.text.count("<script>alert(1)</script>") >= 8
    assert "\u202e" not in page


def test_an_error_is_all_there_is():
    for text in both(result(PASSED, FAILED, error=HOSTILE)):
        assert "could not be graded" in text
        assert "A weight" not in text
        assert "<script" not in text


def test_code_in_a_message_is_shown_as_code():
    page = page_of(result(question(checks=[check(message="Use `with x:` and `<b>`.")])))
    assert "<code>with x:</code> and <code>&lt;b&gt;</code>" in page


@pytest.mark.parametrize(
    "text",
    ["flowchart TB\n```\n# out", "a\n````\n<b>", "  ```\n[x](y)", "~~~\n```` `", "a\r```\rb", "a\u2028```"],
)
def test_a_fence_is_not_broken_out_of(text):
    _, told = both(result(FAILED), {"q2": [Picture("c", "s", SVG, text)]})
    ((info, _),) = fences(told)
    assert info == "mermaid"
    assert told.endswith(f"```\n\n</details>\n\n{LEGEND_MARKDOWN}\n")


def test_the_cell_that_stopped_is_named_where_a_function_is_missing():
    cells = [failed_cell(1, "ImportError: No module named 'x'"), failed_cell(4)]
    page, text = both(result(NOT_ANSWERED, cells=cells))
    for told in (Page(page).text.partition("q3 ·")[2], text.partition("## q3")[2]):
        assert "No cell of this notebook defines train." in told
        assert "Code cell 1 stopped with ImportError" in told
        assert "Code cell 4" not in told
    assert [a["href"] for a in Page(page).all("a")] == ["#q3", "#cells"]
    assert [s["id"] for s in Page(page).all("section")] == ["cells", "q3"]


def skipping(number, name):
    """A cell that stopped, and then skipped a statement that would have given a name."""
    text = f"{name} = made()"
    return FailedCell(number, "raised", f"E{number}", (SkippedStatement(7, text, (name,)),))


def test_the_cell_that_skipped_a_missing_function_is_named():
    cells = [failed_cell(1), skipping(4, "other"), skipping(5, NOT_ANSWERED.function)]
    for told in both(result(NOT_ANSWERED, cells=cells)):
        about = told.partition("q3 ·")[2]
        assert "Code cell 5 stopped with E5. The grader skipped" in about
        assert "= made()" in about and "(line 7)" in about
        assert "Code cell 4" not in about


def test_a_failed_answer_names_what_its_own_cell_skipped():
    cells = (skipping(4, "device"), failed_cell(5))
    for asked, is_told in ((replace(FAILED, cell=4), True), (replace(PASSED, cell=4), False)):
        for told in both(result(asked, cells=cells)):
            assert ("device = made()" in told.partition(f"{asked.id} ·")[2]) == is_told
    for told in both(result(replace(FAILED, cell=5), cells=cells)):
        assert "stopped with" not in told.partition("q2 ·")[2]


def test_an_untouched_function_does_not_blame_a_cell():
    untouched = replace(NOT_ANSWERED, status="untouched")
    for told in both(result(untouched, cells=[failed_cell(1)])):
        assert told.count("Code cell 1 stopped with E.") == 1


HALF = check(outcome="passed", points=1.5, message=None)
UNCONFINED = result(FAILED, provenance=graded_with("none"))


@pytest.mark.parametrize(
    ("result", "sentence", "is_told"),
    [
        (result(question(checks=[HALF, check(max_points=1.0)], score=1.5)), "part of its points", True),
        (result(question(checks=[HALF, check(outcome="passed")], score=1.5)), "part of its points", False),
        (result(question(checks=[check(outcome="partly")])), "Right for typical inputs", True),
        (result(FAILED), "Right for typical inputs", False),
        (UNCONFINED, "Graded without a sandbox.", True),
        (result(FAILED), "Graded without a sandbox.", False),
    ],
)
def test_a_sentence_is_told_where_it_is_true(result, sentence, is_told):
    for text in both(result):
        assert (sentence in text) == is_told


def test_of_many_notebooks_left_aside_the_first_are_named():
    names = [f"ada/{number:04}.ipynb" for number in range(6_000)]
    for text in both(result(PASSED, superseded=names)):
        assert "0011.ipynb" in text
        assert "0012.ipynb" not in text
        assert "and 5988 more" in text
    for text in both(result(PASSED, superseded=names[:12])):
        assert "0011.ipynb" in text
        assert "more" not in text


def test_a_name_in_another_script_keeps_its_direction_to_itself():
    page = page_of(result(FAILED, student="عدا"))
    assert "<bdi>عدا</bdi>" in page


def test_an_end_task_that_was_not_tried_is_no_failure():
    task = replace(NOT_ANSWERED, id=BONUS_TASK)
    page = feedback_html(result(PASSED, end_task=task), {}, {})
    assert f'class="open" href="#{BONUS_TASK}"' in page
    assert 'class="none" href' not in page
