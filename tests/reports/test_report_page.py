"""The report in a browser: read, sorted, searched, on a phone, in the dark and in print."""

import unicodedata
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import browser as browsers
import pytest
from factories import report_of, row
from pypdf import PdfReader

from grader.reports.student_page import write_students
from grader.results.model import Adjustment, Late, MissingSubmission
from grader.results.store import ResultsStore
from grader.results.students import students_of

STRANGE = {
    "arabic": "محمد العربي",
    "chinese": "李小龙",
    "accented": "élodie",
    "stroked": "Søren Đorđe Straße",
    "markup": "<img src='x' onerror='document.title = 1'>",
    "quotes": "\"Anna\" & 'Bob'",
    "percent": "100% #1?",
    "long": "x" * 180,
}
TEXTS = ("body", ".soft", "td a", ".mark.error", ".mark.missing", "figcaption")
MESSAGES = ["The state enters minibatch 2 with history.", "The state enters minibatch 3 with history.", "No."]


def klass():
    """Three hundred submissions of two assignments, by two hundred students; and two that are missing."""
    rows = [row(name, score=2.5) for name in STRANGE.values()]
    rows += [row(f"s{number}", score=number % 7 / 2) for number in range(200)]
    rows += [row(f"s{n}", score=0.0, stem="02_other", message=MESSAGES[n % 3]) for n in range(90)]
    rows += [row("eve", error="It is empty: <b>hand it in</b> anew.", score=0.0)]
    rows += [row("ida", flags=["ctypes"])]
    rows += [row("uma", stem=None, error="uma/None.ipynb is not an assignment of this course.", score=0.0)]
    rows += [replace(row("Åke Ångström", score=10.0), late=Late(130, 1.0))]
    rows += [replace(row("zed", score=9.5), adjustments=(Adjustment(None, 1.0, "An appeal."),))]
    return rows, [
        MissingSubmission("nia", "01_tiny", {"q1": 3.0}),
        MissingSubmission("öl", "02_other", {"q1": 3.0}),
        MissingSubmission("exa", "01_tiny", {"q1": 3.0}, excuse=Adjustment(None, 0.0, "Ill.", excused=True)),
    ]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_of(*klass(), "landlock+seccomp"), encoding="utf-8")
    return path


def column(page, title):
    """The texts of a column of the table of students, of the rows that are shown."""
    cells = f"#students tbody tr:not([hidden]) [data-column='{title}']"
    return page.eval_on_selector_all(cells, "all => all.map(one => one.textContent)")


def values(page, title):
    """What the rows that are shown are sorted by in a column of numbers."""
    cells = f"#students tbody tr:not([hidden]) [data-column='{title}']"
    return page.eval_on_selector_all(cells, "all => all.map(one => +one.dataset.value)")


def header(page, name):
    return page.locator("#students").get_by_role("button", name=name)


def sorted_by(page):
    return page.eval_on_selector_all("#students th", "all => all.map(one => one.ariaSort).filter(Boolean)")


def test_everybody_is_there_without_a_script(report, visit):
    """All rows, the weakest first, and all diagnoses can be read; nothing is offered that would not work."""
    page = visit(report, java_script_enabled=False)
    table = page.locator("#students tbody")
    names = [student.name for student in students_of(*klass())]
    assert table.locator("td:first-child > a:first-child bdi").all_text_contents() == names
    assert table.locator("tr:visible").count() == len(names)
    silent = sum(not student.has_tried for student in students_of(*klass()))
    assert page.get_by_text(f"Students without any submission come last ({silent}).").count() == 1
    assert page.locator("button, #controls:visible").count() == 0
    assert table.locator("tr", has_text="nia").inner_text().split() == ["nia", "0", "%", "0", "missing", "—"]


def test_names_are_shown_as_they_are(report, visit):
    page = visit(report)
    names = page.locator("#students tbody td:first-child > a:first-child bdi").all_text_contents()
    assert set(STRANGE.values()) < set(names)
    assert page.title() == "Class report"
    assert page.locator("td b").count() == 0


def test_scores_sort_as_numbers(report, visit):
    """10 comes after 9.5, what is absent before 0, and a second click turns the order around."""
    page = visit(report)
    for direction, turned in ("ascending", False), ("descending", True):
        header(page, "01_tiny").click()
        scores = values(page, "01_tiny")
        shown = [text.split()[0] for text in column(page, "01_tiny")]
        assert shown == [f"{s:g}" if s >= 0 else text for s, text in zip(scores, shown, strict=True)]
        assert scores == sorted(scores, reverse=turned)
        assert sorted_by(page) == [direction]
    assert scores[:2] == [10.0, 9.5]


def test_names_sort_as_people_sort_them(report, visit):
    page = visit(report, locale="en-GB")
    header(page, "student").click()
    names = column(page, "student")
    assert names.index("s2") < names.index("s10") < names.index("s100")
    plain = [name for name in names if name in {"Åke Ångström", "eve", "ida", "öl", "zed"}]
    assert plain == ["Åke Ångström", "eve", "ida", "öl", "zed"]


def test_equal_rows_keep_their_order(report, visit):
    page = visit(report)
    header(page, "total").click()
    header(page, "02_other").click()
    pairs = list(zip(values(page, "02_other"), values(page, "total"), strict=True))
    absent = [total for points, total in pairs if points < 0]
    assert absent == sorted(absent)
    assert sorted_by(page) == ["ascending"]


def test_the_keyboard_sorts(report, visit):
    page = visit(report)
    page.locator("#status").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "student"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert sorted_by(page) == ["ascending"]
    page.keyboard.press("Space")
    assert sorted_by(page) == ["descending"]


def test_rows_are_searched(report, visit):
    """All words must be in a row, in any order and case; letters with marks are found without them."""
    page = visit(report)
    every = len(students_of(*klass()))
    assert page.locator("#shown").inner_text() == f"{every} of {every} shown"
    for words, names in {
        unicodedata.normalize("NFD", "ÉLODIE"): [STRANGE["accented"]],
        "elodie": [STRANGE["accented"]],
        "dorde SOREN strasse": [STRANGE["stroked"]],
        "Søren straße": [STRANGE["stroked"]],
        "angstrom AKE": ["Åke Ångström"],
        "ctypes": [],
        "flagged": ["ida"],
        "late 2 h": ["Åke Ångström"],
        "onerror": [STRANGE["markup"]],
        "李小": [STRANGE["chinese"]],
    }.items():
        page.locator("#search").fill(words)
        assert column(page, "student") == names
        assert page.locator("#shown").inner_text() == f"{len(names)} of {every} shown"


def test_a_status_is_chosen(report, visit):
    """The list offers what there is, works together with the words, and shows all students again."""
    page = visit(report)
    offered = page.locator("#status option").all_text_contents()
    assert offered == ["all", "adjusted", "error", "excused", "flagged", "late", "missing"]
    shown = {"adjusted": ["zed"], "error": ["eve", "uma"], "flagged": ["ida"], "late": ["Åke Ångström"]}
    for status, names in shown.items():
        page.locator("#status").select_option(status)
        assert [text.split(" no assignment")[0] for text in column(page, "student")] == names
    page.locator("#status").select_option("missing")
    page.locator("#search").fill("öl")
    assert column(page, "student") == ["öl"]
    page.keyboard.press("Enter")  # which sends a form that is not prevented from it
    page.locator("#search").fill("")
    page.locator("#status").select_option("")
    every = len(students_of(*klass()))
    assert len(column(page, "student")) == every
    header(page, "student").click()
    assert len(column(page, "student")) == every


def test_links_lead_to_pages_that_are_there(tmp_path, visit):
    rows = [row(name, message="It is not.") for name in STRANGE.values()]
    rows = [replace(rows[0], superseded=("b.ipynb",)), *rows[1:]]
    for one in rows:
        path = tmp_path / "feedback" / one.student / f"{one.name}.html"
        path.parent.mkdir(parents=True)
        path.touch()
    with ResultsStore(tmp_path) as store:
        write_students(store, students_of(rows, []))
    report = tmp_path / "report.html"
    report.write_text(report_of(rows, [], "none"))
    pages = sorted((tmp_path / "students").iterdir())
    assert [page.stem for page in pages] == sorted(STRANGE.values())
    for page, number in (report, 4 * len(rows) + 2), (pages[0], 2), (pages[1], 2):
        read = "all => all.filter(one => one.getAttribute('href')[0] !== '#').map(one => one.href)"
        found = [urlsplit(link) for link in visit(page).eval_on_selector_all("a", read)]
        assert len(found) == number
        assert all(link.query == "" for link in found)
        assert all(link.fragment in {"", "01_tiny", "everybody"} for link in found)
        assert all(Path(unquote(link.path)).is_file() for link in found)


def luminance(page, expression):
    """The relative luminance of a computed colour, by the Web Content Accessibility Guidelines."""
    parts = page.evaluate(expression).strip("rgba()").split(",")[:3]
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (int(part) / 255 for part in parts)
    ]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    """The contrast of two luminances; 4.5 is asked for text."""
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def computed(selector, name="color"):
    return f"getComputedStyle(document.querySelector({selector!r})).{name}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read_in_the_light_and_in_the_dark(report, visit, scheme):
    """Texts, links, charts and numbers in bars stand out; the page follows the scheme of the system."""
    page = visit(report, color_scheme=scheme)
    ground = luminance(page, computed("body", "backgroundColor"))
    assert (ground < 0.1) == (scheme == "dark")
    for selector in (*TEXTS, ".histogram .column", ".parts_of_bar .id"):
        assert contrast(luminance(page, computed(selector)), ground) >= 4.5, selector
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<i id=probe></i>')")

    def variable(name):
        page.evaluate(f"document.getElementById('probe').style.color = 'var({name})'")
        return luminance(page, computed("#probe"))

    for outcome in ("full", "part", "nothing", "unanswered"):
        assert contrast(variable(f"--{outcome}"), variable(f"--on-{outcome}")) >= 4.5, outcome
    assert contrast(variable("--full"), variable("--part")) > 1.5


def test_nothing_is_cut_off_on_a_phone(report, visit):
    page = visit(report, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    right = "all => all.map(one => one.getBoundingClientRect().right)"
    for selector in (
        "#students td",
        ".reviews td",
        "figure *",
        "#controls",
        "#students th",
        ".item td",
        ".who",
    ):
        assert max(page.eval_on_selector_all(selector, right)) <= 390, selector


def test_it_prints_on_white(report, visit):
    page = visit(report, color_scheme="dark")
    page.locator("#search").focus()
    page.emulate_media(media="print")
    assert luminance(page, computed("body", "backgroundColor")) == 1.0
    assert contrast(luminance(page, computed("body")), 1.0) > 10
    assert page.locator("#controls:visible, nav:visible").count() == 0
    assert page.locator("details li").first.bounding_box()["height"] > 0


def test_each_printed_page_of_students_has_headings(report, visit, tmp_path):
    visit(report).pdf(path=tmp_path / "report.pdf")
    first, second, *_ = PdfReader(tmp_path / "report.pdf").pages
    assert "percent" in first.extract_text()
    assert "percent" in second.extract_text().partition(" %")[0]


def test_charts_say_in_words_what_they_show(report, visit):
    page = visit(report)
    charts = page.locator("figure > [role=img]").all()
    assert len(charts) == 4
    assert all(len(chart.get_attribute("aria-label")) > 20 for chart in charts)
    assert page.locator("figure figcaption").count() == 4
    assert page.locator("figure [id]").count() == 0


def test_no_other_script_runs(report, tmp_path, browser):
    text = report.read_text(encoding="utf-8")
    spoiled = tmp_path / "report.html"
    foreign = "<script>document.title = 'mine'</script><img src='http://127.0.0.1:9/picture'><b onclick=''>"
    spoiled.write_text(text.replace("</body>", f"{foreign}</body>"), encoding="utf-8")
    with browsers.opened(browser, spoiled) as (page, complaints):
        assert page.title() == "Class report"
        assert header(page, "total").count() == 1
        assert len([said for said in complaints if "Content Security Policy" in said]) >= 2


@pytest.mark.long
def test_thousands_of_rows_are_sorted_at_once(tmp_path, visit):
    path = tmp_path / "report.html"
    path.write_text(report_of([row(f"s{n * 7919 % 5_000}", score=n % 7) for n in range(5_000)], [], "none"))
    page = visit(path)
    click = "button => { const start = performance.now(); button.click(); return performance.now() - start }"
    for name in ("total", "student", "total"):
        assert header(page, name).evaluate(click) < 1_000
    assert column(page, "total")[0] == "0"
