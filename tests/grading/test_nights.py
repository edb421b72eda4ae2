"""Nights over repositories: which version counts and when it was submitted, whatever students push."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from committing import commit_all, git
from tiny_class import read_csv
from tiny_course import HALF, RIGHT, add_assignment, write_notebook

STARTER = ["import torch", "def double(x):\n    return x", "def leaf(n):\n    return n"]
DUE = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=5)
BEFORE, EARLIER = DUE - timedelta(hours=20), DUE - timedelta(hours=40)
SETTINGS = """[term]
time_zone = "UTC"
[deadlines.01_tiny]
due = {due}
penalty_per_day = 0.5
in_time_first = {first}
"""


class Nights:
    """Repositories of students, beside a class into which they are collected."""

    def __init__(self, klass, root, first):
        self.klass, self.root = klass, root / "repositories"
        self.root.mkdir()
        klass.submissions.mkdir()
        klass.settings(SETTINGS.format(due=DUE.isoformat(), first=first))

    def push(self, name, sources=None, when=BEFORE, *, path="01_tiny.ipynb", text=None):
        """Commit a notebook, or another text under its name, at a time that the commit claims."""
        repository = self.root / f"hw-{name}"
        repository.mkdir(exist_ok=True)
        if sources:
            write_notebook(repository / path, sources)
        elif text is not None:
            (repository / path).parent.mkdir(parents=True, exist_ok=True)
            (repository / path).write_text(text, encoding="utf-8")
        commit_all(repository, when.timestamp())
        return repository

    def night(self, *prefixes, unread=()):
        """Collect and grade; the gradebook's rows by student."""
        (self.root.parent / "unread").write_text("\n".join(unread), encoding="utf-8")
        options = [option for prefix in prefixes or ("hw",) for option in ("--prefix", prefix)]
        options += ["--unread", self.root.parent / "unread"]
        ended = self.klass.run("collect", self.root, "--out", self.klass.submissions, *options)
        assert ended.exit_code == 0, ended.output
        self.klass.grade()
        return self.klass.rows()


@pytest.fixture(params=["true", "false"])
def nights(request, klass, tmp_path):
    return Nights(klass, tmp_path, request.param)


WHOLE = ("6", "")
UNCHANGED = ["honest", "back", "renamed", "moved", "broken", "reset", "copied", "removed"]
#: By student: score and whether it is late, where the last version in time counts first, and where the last
#: version counts. A day costs half of the six points.
TRUTH = dict.fromkeys([*UNCHANGED, "Ada Lovelace", "Ben Bell"], (WHOLE, WHOLE)) | {
    "late": (("1.5", ""), ("3", "late")),
    "liar": (("1.5", ""), ("3", "late")),
    "only-late": (("3", "late"), ("3", "late")),
}


def test_dates_that_lie_and_pushes_that_go_back_change_nothing(nights):
    """Each student of three nights has the row of the table, and no student has two."""
    roster = nights.klass.submissions / "roster.csv"
    lines = "".join(f"{name},{name}\n" for name in TRUTH if " " not in name)
    roster.write_text(f"name,github\nAda Lovlace,ada\nBen Bell,ben-old\n{lines}", encoding="utf-8")
    for name in UNCHANGED:
        nights.push(name, STARTER, EARLIER)
        nights.push(name, RIGHT)
    for name in ("late", "liar"):
        nights.push(name, HALF)
    nights.push("only-late", STARTER)
    for name in ("ada", "ben-old"):
        nights.push(name, RIGHT)
    assert len(nights.night()) == len(TRUTH)

    now = datetime.now(UTC)
    roster.write_text(f"name,github\nAda Lovelace,ada\nBen Bell,ben-new\n{lines}", encoding="utf-8")
    nights.push("late", RIGHT, now)
    nights.push("liar", RIGHT, EARLIER)
    nights.push("only-late", RIGHT, now)
    back = nights.push("back", HALF, now)
    git(nights.push("renamed"), "mv", "01_tiny.ipynb", "final 01_tiny.ipynb")
    nights.push("renamed", when=now)
    (nights.root / "hw-moved" / "work").mkdir()
    git(nights.root / "hw-moved", "mv", "01_tiny.ipynb", "work/01_tiny.ipynb")
    nights.push("moved", STARTER, now)
    nights.push("broken", when=now, text="<<<<<<< HEAD\n")
    nights.push("reset", STARTER, now)
    nights.push("copied", when=now, path=".virtual_documents/01_tiny.ipynb", text="plain Python")
    nights.push("copied", HALF, now, path=".ipynb_checkpoints/01_tiny-checkpoint.ipynb")
    git(nights.root / "hw-removed", "rm", "-q", "01_tiny.ipynb")
    nights.push("removed", when=now)
    (nights.root / "hw-ben-old").rename(nights.root.parent / "closed")
    nights.push("ben-new", RIGHT, now)
    assert len(nights.night()) == len(TRUTH)

    git(back, "reset", "-q", "--hard", "HEAD~1")
    rows = nights.night()
    column = "in_time_first = false" in (nights.klass.course / "course.toml").read_text()
    seen = {name: (row["score"], "late" if row["late"] else "") for name, row in rows.items()}
    assert seen == {name: truth[column] for name, truth in TRUTH.items()}
    page = (nights.klass.out / "report.html").read_text(encoding="utf-8")
    assert '<h2 id="late">Late work</h2>' in page


def test_a_repository_that_was_read_and_is_empty_is_empty(nights):
    """Whichever of another prefix could not be read: only what that one would hold is not known."""
    add_assignment(nights.klass.course, 2)
    (nights.klass.submissions / "roster.csv").write_text("student\nada\nben\n", encoding="utf-8")
    nights.push("ada", RIGHT)
    nights.push("ben")
    (nights.root / "hw-ada").rename(nights.root / "one-ada")
    (nights.root / "hw-ben").rename(nights.root / "one-ben")
    nights.push("ada", RIGHT, path="02_tiny.ipynb")
    (nights.root / "hw-ada").rename(nights.root / "two-ada")
    nights.night("one", "two", unread=["two-ben"])
    lines = read_csv(nights.klass.out / "gradebook.csv")
    rows = {(row["student"], row["assignment"]): row for row in lines}
    assert (rows["ben", "01_tiny"]["status"], rows["ben", "01_tiny"]["missing"]) == ("absent", "")
    assert rows["ben", "02_tiny"]["missing"].startswith("unread since")


def test_what_only_a_commit_says_is_shown(nights):
    nights.push("ada", RIGHT)
    assert nights.night()["ada"]["late"] == ""
    result = json.loads((nights.klass.out / "submissions/ada/01_tiny.json").read_text())
    assert result["handed_in"] == BEFORE.isoformat()
    assert result["seen"] > DUE.isoformat()
    page = (nights.klass.out / "report.html").read_text(encoding="utf-8")
    assert "in time only by the dates of their commits" in page


@pytest.mark.parametrize("way", ["in time", "late", "complete", "said"])
def test_the_oldest_commit_of_a_shallow_clone_says_no_time(nights, tmp_path, way):
    """It shows the latest time: in time is in time; late is unknown until the clone is complete."""
    late = datetime.now(UTC) - timedelta(hours=1)
    origin = nights.push("ada", RIGHT).rename(tmp_path / "origin")
    (origin / "README.md").touch()
    commit_all(origin, (BEFORE if way == "in time" else late).timestamp())
    clone = nights.root / "hw-ada"
    git(tmp_path, "clone", "-q", "--depth", "1", origin.as_uri(), str(clone))
    if way == "said":
        line = f"ada,01_tiny,,{BEFORE.isoformat()}"
        extensions = f"student,assignment,until,submitted\n{line}\n"
        (nights.klass.submissions / "extensions.csv").write_text(extensions, encoding="utf-8")
    ended = nights.klass.run("collect", nights.root, "--out", nights.klass.submissions, "--prefix", "hw")
    assert "hw-ada. Run `git fetch --unshallow` in each of them, and collect again." in ended.output
    if way == "complete":
        nights.klass.grade()
        assert nights.klass.rows()["ada"]["status"] == "error"
        git(clone, "fetch", "-q", "--unshallow")
    row = nights.night()["ada"]
    if way == "late":
        assert row["status"] == "error"
        result = json.loads((nights.klass.out / "submissions/ada/01_tiny.json").read_text())
        assert "the oldest commit in its shallow clone is of" in result["error"]
        assert "add the line ada,01_tiny,,TIME" in result["error"]
        return
    assert (row["status"], row["score"], row["late"]) == ("graded", "6", "")
    (seen,) = read_csv(nights.klass.submissions / "seen.csv")
    assert way == "said" or seen["submitted"] == BEFORE.isoformat()
