"""Outside: a solved notebook on a student's desk, to be changed as students change theirs."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from grader.course.course import Course

ROOT = Path(__file__).resolve().parent.parent.parent
FULL = {"01_leaves": "5 6 5 5 5 5", "03_truncated_bptt": "8 6 6 5 5", "05_inplace_reinit": "5 5 5 5 5 5"}


@cache
def _course():
    return Course.find(ROOT)


def question(stem, function):
    """The question that asks for a function."""
    return next(q for q in _course().assignments[stem].questions if q.function == function)


class Draft:
    """The notebook of `assignments/`, every question answered as the reference does."""

    def __init__(self, stem):
        self.stem = stem
        self.document = json.loads((ROOT / "assignments" / f"{stem}.ipynb").read_text(encoding="utf-8"))
        self.cells = self.document["cells"]
        for cell in self.cells:
            cell["source"] = "".join(cell["source"])
        for q in _course().assignments[stem].questions:
            self.find(q.starter_code)["source"] = q.answer

    @property
    def code(self):
        return [cell for cell in self.cells if cell["cell_type"] == "code"]

    @property
    def metadata(self):
        return self.document["metadata"]

    def find(self, text):
        """The one code cell in which a text stands."""
        (found,) = [cell for cell in self.code if text in cell["source"]]
        return found

    def answer(self, function):
        return self.find(f"def {function}(")

    def stub(self, function):
        return question(self.stem, function).starter_code

    def write(self, function, source):
        self.answer(function)["source"] = source

    def edit(self, old, new):
        """Replace a text in the one cell in which it stands."""
        cell = self.find(old)
        cell["source"] = cell["source"].replace(old, new)

    def above(self, function, *sources):
        place = self.cells.index(self.answer(function))
        self.cells[place:place] = map(code, sources)

    def top(self, *sources):
        self.cells[:0] = map(code, sources)

    def end(self, *sources):
        self.cells += map(code, sources)

    def forget_its_name(self):
        self.document["metadata"] = {}

    def text(self, **how):
        return json.dumps(self.document, ensure_ascii=False, **how)


def code(source, **fields):
    """A code cell, as a front end writes it."""
    cell = {"cell_type": "code", "execution_count": 7, "metadata": {}, "outputs": [], "source": source}
    return {**cell, **fields}


@dataclass(frozen=True)
class Case:
    """What a student handed in, and what must come of it."""

    name: str  # of the case, and the student's folder unless `case` is told another
    title: str  # what the student did; what must happen
    stem: str  # the assignment
    points: str  # of each question
    student: str
    files: Callable[[], dict[str, bytes]]  # gives them, by their path below the submissions
    unanswered: dict[str, str] = field(default_factory=dict)  # questions not `answered`, with their status
    cells: tuple[str, ...] = ()  # for each cell that failed, in order, how its error begins
    says: dict[str, str] = field(default_factory=dict)  # fragments of the messages of questions
    error: str | None = None  # a fragment of the sentence, where the notebook is in error


CASES: list[Case] = []


def case(stem="01_leaves", points=None, *, file=None, student=None, **expected):
    """Enter a function into the class, with fields of a case.

    It is given the solved draft and edits it, or returns what is handed in instead: text, bytes, or several
    files by their names. `points` None: everything.
    """

    def enter(function):
        owner = student or function.__name__

        def files():
            draft = Draft(stem)
            made = function(draft)
            made = draft if made is None else made
            made = made if isinstance(made, dict) else {file or f"{stem}.ipynb": made}
            return {f"{owner}/{path}": _bytes(content) for path, content in made.items()}

        title = " ".join((function.__doc__ or "").split())
        worth = FULL[stem] if points is None else points
        folder = owner.partition("/")[0]
        CASES.append(Case(function.__name__, title, stem, worth, folder, files, **expected))
        return function

    return enter


def _bytes(content):
    content = content.text() if isinstance(content, Draft) else content
    return content.encode() if isinstance(content, str) else content
