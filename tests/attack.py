"""An attack, read from its file below tests/attacks/, and the notebook it becomes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

from grader.course.course import Course

FOLDER = Path(__file__).parent / "attacks"
FAMILIES = (
    *("leaving", "time", "memory", "reading", "writing"),
    *("processes", "network", "forging", "reports"),
)
LAYERS = (
    *("clean start", "limits", "user", "landlock", "seccomp"),
    *("deadlines", "wire", "fresh worker", "restoring", "captured", "numbers"),
    *("pages", "spreadsheet", "terminal", "names", "process"),
)
#: What is solved beside the attacked question and must keep its points: of each assignment, what costs least.
SOLVED = {
    "01_leaves": ("q1", "q2"),
    "03_truncated_bptt": ("q2", "q5"),
    "05_inplace_reinit": ("q1", "q2"),
    "07_grad_modes": ("q2", "q3"),
    "08_functions_and_hooks": ("q1", "q4"),
}
_REQUIRED = ("Tries", "Stopped by")
_OPTIONAL = (
    *("Without it", "Got through", "Question", "Keeps", "Flags"),
    *("Student", "Shows", "Where", "Cost", "Times"),
)
_HEADER = re.compile(r"# (?P<key>[A-Z][a-z ]*): *(?P<value>.*)")
_CELL = re.compile(r"(?m)^# %%(.*)\n")
_PART = re.compile(r"(?m)^( *)__([A-Z_]{10,})__$")  # a file of what several attacks begin or end with
_RIGHT = re.compile(r"(?m)^( *)__RIGHT__$")
_IF_IT_RUNS = " right if it runs"
_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|n|t|r)")


@dataclass(frozen=True)
class Attack:
    """What an attack does, what stops it, and what must be left of the notebook around it."""

    path: Path
    tries: str  # in one sentence
    layer: str  # stops it
    otherwise: str | None  # why it is stopped without that layer too
    through: str | None  # why nothing stops it here, so that it is expected to get through and to be flagged
    stem: str  # the assignment it answers
    question: str  # whose answer it takes the place of
    keeps: tuple[str, ...]  # the other questions that must keep their points
    flags: tuple[str, ...]  # that the result must carry
    student: str  # name of the folder
    shows: str | None  # text that must appear verbatim in nothing people read
    where: tuple[str, ...]  # the files, or `terminal`, in which that text would do harm; empty for all
    slow: bool  # takes more than about four seconds
    cells: tuple[
        str, ...
    ]  # placeholders not yet replaced; without cells a name attacks, and nothing is answered

    @property
    def name(self) -> str:
        """Family and what it does."""
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def is_tried_without(self) -> bool:
        """Whether it may run with its layer switched off."""
        return (
            self.layer != "process"
            and not self.through
            and not (self.otherwise or "").startswith("not tried")
        )

    def complaint(self, inside: list[str] | None, outside: list[str] | None) -> str | None:
        """What is not as its file says, by the harm with and without its layer; None where no run ended."""
        if self.through:
            as_known = inside == [f"got {self.question}"]
            return None if as_known else f"should get through, and be flagged: {inside or 'stopped'}"
        if inside is None or inside:
            return f"not stopped: {'; '.join(inside or ['the run did not end'])}"
        if outside and self.otherwise:
            return f"gets through, though its file says that something else stops it: {'; '.join(outside)}"
        if outside == [] and not self.otherwise:
            return "is stopped without its layer too, and nobody says why"
        return None

    def sources(self, course: Course, places: Mapping[str, str]) -> list[str]:
        """The cell of imports, the answers that `SOLVED` names, and the attack in the place of one answer.

        The demonstrations between them are left out: they take longer than the attack, and honest students
        run them.
        """
        assignment = course.assignments[self.stem]
        imports, *_ = assignment.reference
        sources = [imports]
        for question in assignment.questions:
            if question.id == self.question:
                cells = self.cells or (question.starter_code,)
                sources += [_filled(cell, places, question.answer) for cell in cells]
            elif question.id in SOLVED[self.stem]:
                sources.append(question.answer)
        return sources


def read_attacks(paths: list[Path] | None = None) -> list[Attack]:
    """Read the attacks of these files, or all there are."""
    return [read_attack(path) for path in paths or sorted(FOLDER.glob("*/*.py"))]


def read_attack(path: Path) -> Attack:
    """Read one attack; an assertion says what is wrong with its file."""
    top, *parts = _CELL.split(path.read_text(encoding="utf-8"))
    header = _read_header(path, top)
    cells = [_marked(cell, mark) for mark, cell in zip(parts[::2], parts[1::2], strict=True)]
    stem, _, question = header.get("Question", "01_leaves q1").partition(" ")
    assert header.get("Keeps", "none") == "none", f"{path}: Keeps is none or left out"
    solved = tuple(other for other in SOLVED[stem] if other != question)
    attack = Attack(
        path=path.resolve(),
        tries=header["Tries"],
        layer=header["Stopped by"],
        otherwise=header.get("Without it"),
        through=header.get("Got through"),
        stem=stem,
        question=question,
        keeps=() if "Keeps" in header else solved,
        flags=_listed(header.get("Flags", "")),
        student=_unescaped(header.get("Student", path.stem)),
        shows=_unescaped(header["Shows"]) if "Shows" in header else None,
        where=_listed(header.get("Where", "")),
        slow=header.get("Cost") == "slow",
        cells=tuple(cells) * int(header.get("Times", "1")),
    )
    assert cells or "Student" in header, f"{path}: neither a cell nor a name attacks"
    assert header.get("Cost", "slow") == "slow", f"{path}: Cost is slow or left out"
    assert attack.layer != "process" or attack.otherwise, f"{path}: `process` wants a `Without it`"
    return attack


def _read_header(path: Path, top: str) -> dict[str, str]:
    """The lines before the first cell; one that is indented goes on with the one before it."""
    header: dict[str, str] = {}
    for line in filter(None, top.split("\n")):
        found = _HEADER.fullmatch(line)
        if found and found["key"] in _REQUIRED + _OPTIONAL and found["key"] not in header:
            header[found["key"]] = found["value"]
        else:
            assert header and line.startswith("#   "), f"{path}: a line that means nothing here: {line}"
            header[next(reversed(header))] += " " + line[1:].strip()
    assert all(header.get(key) for key in _REQUIRED), f"{path}: begins with {' and '.join(_REQUIRED)}"
    return header


def _marked(cell: str, mark: str) -> str:
    """A cell; one that is marked so gives the right answer, if none of its statements raises an error."""
    while part := _PART.search(cell):  # which may have parts itself
        text = (FOLDER / f"{part[2].lower()}.py").read_text(encoding="utf-8").rstrip("\n")
        cell = cell[: part.start()] + indent(text, part[1]) + cell[part.end() :]
    if mark != _IF_IT_RUNS:
        return cell
    tried = indent(cell, "    ")
    return f"try:\n{tried}\nexcept Exception as error:\n    print(error)\nelse:\n    __RIGHT__\n"


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _unescaped(text: str) -> str:
    r"""Text in which control characters are written as ``\n``, ``\x1b`` or ``\u202e``."""
    return _ESCAPE.sub(lambda escape: escape[0].encode().decode("unicode_escape"), text)


def _filled(cell: str, places: Mapping[str, str], answer: str) -> str:
    cell = _RIGHT.sub(lambda line: indent(answer, line[1]), cell)
    for placeholder, value in places.items():
        cell = cell.replace(placeholder, value)
    return cell.strip("\n")
