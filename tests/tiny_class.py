"""A tiny course with a class, and the commands an instructor gives, in this process."""

import csv
import json
import sys
from pathlib import Path

from click.testing import CliRunner
from tiny_course import CHECKS as REWRITTEN
from tiny_course import write_course, write_notebook

from grader.cli import main

# The pytest around a test would rewrite its asserts, as that of a run does not.
CHECKS = REWRITTEN.replace("Hidden checks.", "PYTEST_DONT_REWRITE")


def read_csv(path):
    """The rows of a file, by its headings."""
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


class TinyClass:
    """A course, a folder of submissions and a folder of results."""

    def __init__(self, root: Path) -> None:
        self.course = write_course(root / "course")
        self.submissions, self.out = root / "submissions", root / "results"
        self.edit_checks()

    def hand_in(self, student, sources, **how):
        return write_notebook(self.submissions / student / "01_tiny.ipynb", sources, **how)

    def settings(self, text):
        (self.course / "course.toml").write_text(text, encoding="utf-8")

    def edit_checks(self, *changes):
        text = CHECKS
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (self.course / "tests" / "hidden" / "test_01_tiny.py").write_text(text, encoding="utf-8")
        sys.modules.pop("test_01_tiny", None)

    def run(self, *arguments):
        """A command; its exit status and what it printed."""
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    def grade(self, *options, **notebooks):
        """Grade; what was printed. Before, students hand in notebooks of these cells."""
        for student, sources in notebooks.items():
            self.hand_in(student, sources)
        ended = self.run("grade", self.submissions, "--out", self.out, *options)
        assert ended.exit_code == 0, ended.output
        return ended.stdout

    def explain(self, *arguments):
        return self.run("explain", *arguments, "--results", self.out)

    def result(self, student, name="01_tiny"):
        return json.loads((self.out / "submissions" / student / f"{name}.json").read_text(encoding="utf-8"))

    def run_record(self):
        """What the results say of the last run."""
        return json.loads((self.out / "run.json").read_text(encoding="utf-8"))

    def seed(self, student, name="01_tiny"):
        """The seed of the inputs with which a student's notebook was observed."""
        path = self.out / "evidence" / student / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8"))["seed"]

    def rows(self):
        """The gradebook's row of each student, the last of several."""
        return {row["student"]: row for row in read_csv(self.out / "gradebook.csv")}

    def scores(self):
        """The score of each student, as the gradebook has it."""
        return {student: row["score"] for student, row in self.rows().items()}

    def files(self, *below):
        """The content of all files, or of those below some folders of the results."""
        folders = [self.out / name for name in below] or [self.out]
        return {p: p.read_bytes() for folder in folders for p in folder.rglob("*") if p.is_file()}
