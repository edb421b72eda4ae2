"""Which notebook counts and when it was submitted, from the command line to the results."""

import re
import zipfile
from datetime import UTC, datetime, timedelta

import pytest
from tiny_course import HALF, RIGHT, write_notebook

DUE = datetime(2026, 10, 12, 21, 59, tzinfo=UTC)
SETTINGS = """[term]
time_zone = "UTC"
[deadlines.01_tiny]
due = 2026-10-12T21:59:00
penalty_per_day = 0.1
most_penalty = 0.25
"""


def settings(klass, first="false"):
    klass.settings(f"{SETTINGS}in_time_first = {first}\n")


def test_a_copy_that_a_tool_keeps_is_ignored(klass):
    """Newer and of plain Python, it costs nothing, makes no row, and is named with the reason."""
    klass.hand_in("ada", RIGHT)
    copy = klass.submissions / "ada" / ".virtual_documents" / "01_tiny.ipynb"
    copy.parent.mkdir()
    copy.write_text("import torch\n", encoding="utf-8")
    klass.grade()
    assert klass.scores() == {"ada": "6"}
    (ignored,) = klass.result("ada")["ignored"]
    assert ignored["path"] == "ada/.virtual_documents/01_tiny.ipynb"
    assert "a copy made by a tool" in ignored["reason"]
    for page in ("report.html", "students/ada.html", "feedback/ada/01_tiny.md"):
        assert "Ignored" in (klass.out / page).read_text(encoding="utf-8")


def test_a_guess_never_beats_a_certainty(klass):
    klass.hand_in("ada", RIGHT)
    write_notebook(klass.submissions / "ada/hw3-part1.ipynb", ["def leaf(n):\n    return 3"], modified=1.8e9)
    klass.grade()
    assert klass.scores() == {"ada": "6"}
    (ignored,) = klass.result("ada")["ignored"]
    assert ignored["path"] == "ada/hw3-part1.ipynb" and "only by its functions" in ignored["reason"]
    page = (klass.out / "students/ada.html").read_text(encoding="utf-8")
    assert page.index("is the version that counts") < page.index("contain answers: ada/hw3-part1.ipynb")


def test_other_files_alone_are_an_error_under_the_name_of_the_roster(klass):
    klass.hand_in("ben", RIGHT)
    (klass.submissions / "ada-l").mkdir()
    (klass.submissions / "ada-l/essay.pdf").write_bytes(b"%PDF-1.7")
    (klass.submissions / "roster.csv").write_text("name,github\nAda Lovelace,ada-l\nben,ben\n")
    klass.grade()
    assert klass.rows()["Ada Lovelace"]["status"] == "error"
    assert "ada-l" not in klass.rows()


def test_an_only_copy_counts_and_says_so(klass):
    write_notebook(klass.submissions / "ada/.ipynb_checkpoints/01_tiny-checkpoint.ipynb", RIGHT)
    klass.grade()
    assert klass.scores() == {"ada": "6"}
    assert klass.result("ada")["copy"] == "is in .ipynb_checkpoints, a hidden folder"
    page = (klass.out / "report.html").read_text(encoding="utf-8")
    assert "a copy made by a tool. It counts because nothing else is there" in page


# --- marks of systems


def download(klass, tmp_path, when, **members):
    """Collect a zip of Canvas, downloaded at a time."""
    path = tmp_path / f"{when:%m%d%H%M}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, sources in members.items():
            content = write_notebook(tmp_path / "made.ipynb", sources).read_bytes()
            archive.writestr(zipfile.ZipInfo(f"{name}.ipynb", when.timetuple()[:6]), content)
    ended = klass.run("collect", path, "--out", klass.submissions)
    assert ended.exit_code == 0, ended.output


@pytest.mark.parametrize(("first", "row"), [("false", ("0.9", "yes")), ("true", ("6", ""))])
@pytest.mark.parametrize("way", ["one zip", "names", "downloads", "both"])
def test_the_last_version_counts_of_what_a_system_marks(klass, tmp_path, first, row, way):
    """Within a zip, across names and across downloads; where it says so, the last in time counts first."""
    settings(klass, first)
    if way == "one zip":
        work = {"ada_1_5_01_tiny": RIGHT, "ada_LATE_1_6_01_tiny-1": HALF}
        download(klass, tmp_path, DUE + timedelta(days=3), **work)
    elif way == "names":
        work = {"ada_LATE_1_6_a 01_tiny": HALF, "ada_1_5_01_tiny": RIGHT}
        download(klass, tmp_path, DUE + timedelta(days=3), **work)
    else:
        name = "01_tiny-1" if way == "downloads" else "final 01_tiny"
        download(klass, tmp_path, DUE - timedelta(days=1), ada_1_5_01_tiny=RIGHT)
        download(klass, tmp_path, DUE + timedelta(days=3), **{f"ada_LATE_1_6_{name}": HALF})
    klass.grade()
    assert (klass.rows()["ada"]["score"], klass.rows()["ada"]["late"]) == row


@pytest.mark.parametrize("downloaded", ["before", "after"])
def test_an_extension_excuses_a_mark_that_a_download_before_its_end_contained(klass, tmp_path, downloaded):
    """A later download cannot tell: the row is an error that names the line to add, which decides."""
    settings(klass)
    (klass.submissions).mkdir()
    extensions = klass.submissions / "extensions.csv"
    extensions.write_text("student,assignment,until\nada,01_tiny,2026-10-20T12:00\n", encoding="utf-8")
    end = datetime(2026, 10, 20, 12, tzinfo=UTC)
    if downloaded == "before":
        download(klass, tmp_path, end - timedelta(days=2), ada_LATE_1_5_01_tiny=RIGHT)
    download(klass, tmp_path, end + timedelta(days=2), ada_LATE_1_5_01_tiny=RIGHT)
    klass.grade()
    if downloaded == "before":
        assert (klass.rows()["ada"]["score"], klass.rows()["ada"]["late"]) == ("6", "")
        return
    assert klass.rows()["ada"]["status"] == "error"
    line = "ada,01_tiny,2026-10-20T12:00+00:00,TIME"
    assert f"add the line {line} with a time" in klass.result("ada")["error"]
    for said, score in (("2026-10-20T11:00", "6"), ("2026-10-21T11:00", "5.4")):
        row = line.replace("TIME", said)
        extensions.write_text(f"student,assignment,until,submitted\n{row}\n", encoding="utf-8")
        klass.grade()
        assert klass.rows()["ada"]["score"] == score


def test_a_repaired_file_keeps_the_time_at_which_it_was_submitted(klass, tmp_path):
    """Its path is in the record; a file put beside has no time, and the row says which line to add."""
    settings(klass)
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        when = (DUE - timedelta(hours=3)).timetuple()[:6]
        archive.writestr(zipfile.ZipInfo("ada/01_tiny.ipynb", when), "<<<<<<< HEAD")
    assert klass.run("collect", tmp_path / "in.zip", "--out", klass.submissions).exit_code == 0
    klass.grade()
    assert klass.rows()["ada"]["status"] == "error"
    write_notebook(klass.submissions / "ada/01_tiny.ipynb", RIGHT, modified=1.8e9)
    klass.grade()
    assert (klass.rows()["ada"]["score"], klass.rows()["ada"]["late"]) == ("6", "")
    (klass.submissions / "ada/01_tiny.ipynb").rename(klass.submissions / "ada/01_tiny repaired.ipynb")
    klass.grade()
    error = klass.result("ada")["error"]
    assert "collected.csv has no line for it" in error
    assert "add the line ada,01_tiny,,TIME with a time" in error
    (klass.submissions / "extensions.csv").write_text(
        "student,assignment,until,submitted\nada,01_tiny,,2026-10-12T20:00\n", encoding="utf-8"
    )
    klass.grade()
    assert (klass.rows()["ada"]["score"], klass.rows()["ada"]["late"]) == ("6", "")


def test_the_report_has_a_table_of_late_work(klass):
    settings(klass)
    for student, sources, hours in (("ada", RIGHT, 3), ("ben", HALF, 30), ("eve", RIGHT, -1)):
        klass.hand_in(student, sources, modified=(DUE + timedelta(hours=hours)).timestamp())
    klass.grade()
    page = (klass.out / "report.html").read_text(encoding="utf-8")
    table = page.partition('<h2 id="late">')[2].partition("</table>")[0]
    told = [" ".join(re.sub("<[^>]*>", " ", line).split()) for line in table.split("<tr>")[2:]]
    assert told == [
        "ada 01_tiny 2026-10-13 00:59 3 h 0.6",
        "ben 01_tiny 2026-10-14 03:59 30 h 1.2",
        "all 1.8",
    ]
