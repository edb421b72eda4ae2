"""What a notebook that is made to be slow costs outside the sandbox.

Whatever reads a student's text outside the sandbox has caps. Each reader gets notebooks made of a short
piece, repeated as often as the caps allow, and files up to the largest that is read, in a process of its own.

python benchmarks/hostile_text.py           this part alone
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from measure import ROOT, MeasureError, peak_memory
from report import Section, tell

from grader.grading.executor import modules_to_preload
from grader.grading.flags import MAX_PARSED_CELL, traces_in
from grader.grading.submission import find_submissions
from grader.notebooks.files import MAX_FILE_BYTES
from grader.notebooks.reader import (
    MAX_CELL_BYTES,
    MAX_CODE_CELLS,
    MAX_ESCAPED_BYTES,
    MAX_SOURCE_BYTES,
    Notebook,
    cells_of,
)
from grader.notebooks.recognition import MAX_COMPARED, has_answers, recognise
from grader.reports.feedback import feedback_html, feedback_markdown
from grader.reports.own_code import own_code
from grader.results.model import SCHEMA, Result
from grader.results.similar import digest
from grader.results.store import result_from_json

MOST_SECONDS, MOST_BYTES = 2.0, 500 * 1000**2

#: Pieces that a pattern, a parser or a table could take long for.
PIECES = (
    *(
        "x=1\n",
        "'a'+",
        "a=a.read;",
        "x.f_back;",
        "torch.",
        "torch",
        "F.",
        "\n",
        " ",
        "\t",
        "from ",
        "import\t",
    ),
    *(
        "a.",
        "os.",
        "setattr(",
        "__",
        "type(",
        "type(a",
        "\ufdfa",
        "\ufdfa.",
        "x\ufdfa=1\n",
        "é\n",
        "[",
        "(",
        "{",
    ),
    *("def f", "def f(", "def f():\n", "async def ", "class f", "f=", "f,", "f(f,", "@f\n", "  @f\n", "#\n"),
    *(
        "%x\n",
        "%time ",
        "=!",
        "a?\n",
        "!\n",
        "\n  %time x\n",
        "\\\n",
        '"""',
        "'x y',",
        "'x.y z',",
        'f"{',
        "-",
    ),
    *("x as y\n", "import a as b\n", "`", "<", "&", "|", "\u202e", "\x1b", "lambda f:", "f:=", "{'a b': 1},"),
    *(
        "exec('exec(1) 2');",
        "if x:\n ",
        "f" * 300 + "=",
        "f, " * 100 + "= 1\n",
        "0x1,",
        "x=x=",
        "*f,",
        "\r",
        "\0",
    ),
)
_ALIASES = "".join(f"import m{number} as a\n" for number in range(1_400))
_PATHS = "".join(f"a.b{number}.c.d.e.g;" for number in range(1_400))


def _filled(piece: str, size: int) -> str:
    """The piece, repeated up to so many bytes."""
    return piece * (size // len(piece.encode()))


def _layouts(piece: str) -> Iterator[list[str]]:
    """Notebooks of a piece: the longest cells, the longest that are parsed, and as many cells as possible."""
    yield [_filled(piece, MAX_CELL_BYTES)] * (MAX_SOURCE_BYTES // MAX_CELL_BYTES)
    parsed = [
        f"{line}\n{_filled(piece, MAX_PARSED_CELL // 2)}\nf = {number}" for number, line in _numbered(400)
    ]
    yield [text[: MAX_PARSED_CELL - 1] for text in parsed]
    share = MAX_SOURCE_BYTES // MAX_CODE_CELLS - 50
    yield [f"{line}\n{_filled(piece, share)}\nf = {number}" for number, line in _numbered(MAX_CODE_CELLS)]


def _numbered(count: int) -> Iterator[tuple[int, str]]:
    return ((number, f"def f(x):\n    return {number}") for number in range(count))


def notebooks() -> Iterator[list[str]]:
    """The sources of the cells of each hostile notebook."""
    yield [_ALIASES, _PATHS] * 4
    yield [f"{_ALIASES}{_PATHS}"[: MAX_PARSED_CELL - 1]] * 4
    for piece in PIECES:
        yield from _layouts(piece)


def files() -> Iterator[bytes]:
    """Hostile files, up to the largest that is read."""
    most = MAX_FILE_BYTES - 200
    for text in ("a", '\\"', "\\\\", "\\ud83d\\ude00", "\\u0041", ",a", "import ", "from\t\t\t"):
        yield _file(outputs=f'"{_filled(text, most)}"')
    yield _file(outputs=f'"{_filled("a", most)}\U0001f525"')
    for value in ("{}", '{"a":1}', '"ab"', '"{"', "[1]"):
        for size in (most, most // 16):
            yield _file(outputs=f"[{_filled(f'{value},', size)}0]")
            yield _file(outputs=f"[{_filled(f'{value},', size)}NaN]")
            yield _file(source=f"[{_filled(f'{value},', size)}0]")
            yield _file(more=_filled(f",{value}", size))
    full = '{"id":0,"source":0,"input":0,"cell_type":0}'
    for cell in (full, '{"cell_type":"code"}', '{"cell_type":"code","source":["a"]}'):
        for size in (most, most // 3, most // 50):
            yield _file(more=_filled(f",{cell}", size))
    yield from _files_of_lists(most)
    for text in ("a", "\\u0041", "\\ud800", "é"):
        for size in (most, MAX_CELL_BYTES):
            yield _file(source=f'"{_filled(text, size)}"')
    for text in ("[", "{", '{"a":', " ", "\n", "<", "<!doctype", "<<<<<<<\n", "PK", '"', "\\", "1"):
        yield _filled(text, most).encode()
        yield (_filled(text, most // 7) + "}").encode()
    yield b"\xff" * most
    yield b'{"cells":[{"source":"' + b"\xff" * most + b'"}]}'
    for size in (most, 4 * 1024**2 - 8):
        yield b"\xff\xfe" + b"\x00\xd8" * (size // 2)
        yield ("\ufeff" + _filled("[0,", size // 2)).encode("utf-16-le")


def _files_of_lists(most: int) -> Iterator[bytes]:
    """Files of cells that have a list of short values in the place of a text."""
    for entry in ('"ab"', "[]", "1.5", '"\\ud800"'):
        entries = f"[{_filled(f'{entry},', MAX_ESCAPED_BYTES - 100)}{entry}]"
        for part in ('"cell_type":"markdown","source"', '"cell_type":"code","source"', '"id"', '"cell_type"'):
            cell = f",{{{part}:{entries}}}"
            yield _file(more=cell * (most // len(cell)))


def _file(outputs: str = "[]", source: str = '"x = 1"', more: str = "") -> bytes:
    cell = f'{{"cell_type":"code","source":{source},"outputs":[{outputs}]}}'
    return f'{{"cells":[{cell}{more}]}}'.encode()


FUNCTIONS = ("f", *(f"f{number}" for number in range(7)))


def _page_of(sources: Sequence[str]) -> None:
    """A student's own code in both forms of feedback, where every check failed in another line."""
    cells = cells_of(sources)
    result = _failed(cells[0].source.split("\n")[0].strip()[:200])
    code = own_code(result, cells)
    feedback_html(result, {}, code)
    feedback_markdown(result, {}, code)


def _failed(line: str) -> Result:
    """A result of as many questions and checks as an assignment has, all of which failed in a line."""
    place = {"cell": 1, "line": 2, "function": "f", "text": line}
    check = {"title": "It is", "outcome": "failed", "points": 0.0, "max_points": 1.0, "hint": None}
    checks = [{**check, "id": f"test_{number}", "message": "No.", "place": place} for number in range(8)]
    question = {"title": "Do it", "status": "answered", "score": 0.0, "max_score": 8.0, "checks": checks}
    asked = [{**question, "id": f"q{n}", "function": name, "cell": n} for n, name in enumerate(FUNCTIONS, 1)]
    provenance = dict.fromkeys(("notebook_sha256", "checks_sha256", "grader", "torch", "protection"), "0")
    questions = {"questions": asked, "provenance": {**provenance, "graded_at": "2026-01-01T00:00:00Z"}}
    of_ada = {"schema": SCHEMA, "student": "ada", "assignment": "01_tiny", "notebook": "ada/01_tiny.ipynb"}
    points = {
        "status": "graded",
        "error": None,
        "score": 0.0,
        "max_score": 64.0,
        "flags": [],
        "superseded": [],
    }
    return result_from_json({**of_ada, **points, **questions}, "01_tiny")


def _compared(sources: Sequence[str]) -> None:
    """The digests of as many answers as an assignment has questions."""
    for source in sources[: len(FUNCTIONS)]:
        digest(f"def f(x):\n    return [{source[: MAX_PARSED_CELL // 2]}\n    ]", "f")
        digest(source, "f")


def _recognised(sources: Sequence[str]) -> None:
    recognise("notebook", Notebook("", cells_of(sources), None), {"01_tiny": FUNCTIONS})
    modules_to_preload(sources)
    starter = "def f(x):\n    return 0"
    has_answers(cells_of(sources), FUNCTIONS, [starter])
    remark = f"# {sources[0].partition(chr(10))[0][:1000]}\n"  # each cell is starter code with remarks
    padded = f"{starter}\n{_filled(remark, MAX_COMPARED // 20 - 100)}"
    has_answers(cells_of([f"{padded}#{number}" for number in range(19)]), FUNCTIONS, [starter])
    has_answers(cells_of([f"{starter}\n{'#' * number}" for number in range(4_000)]), FUNCTIONS, [starter])


#: What each reader does with the sources of a notebook's cells.
READERS: Mapping[str, Callable[[Sequence[str]], object]] = {
    "flags": lambda sources: traces_in(cells_of(sources)),
    "own code in feedback": _page_of,
    "similarity": _compared,
    "recognition, modules": _recognised,
}
FILES = "the file itself"


@dataclass(frozen=True)
class Worst:
    """The dearest of some notebooks or files."""

    tried: int
    seconds: float  # of processor time
    peak: int  # bytes of the process, notebook included


def hostile_text() -> dict[str, Worst]:
    """The dearest notebook for each reader."""
    found = {}
    for reader in (FILES, *READERS):
        tell(f"hostile text: {reader}")
        done = subprocess.run(  # noqa: S603 - a command of ours
            [sys.executable, __file__, reader],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise MeasureError(f"{reader}: exit status {done.returncode}\n{done.stderr[-2_000:]}")
        found[reader] = Worst(**json.loads(done.stdout))
    tell("")
    return found


def section(found: Mapping[str, Worst]) -> Section:
    """The table, and whether the goal is met."""
    rows = [
        (name, str(worst.tried), f"{worst.seconds:.2f}", f"{worst.peak / 1000**2:.0f}")
        for name, worst in found.items()
    ]
    above = [name for name, worst in found.items() if worst.seconds > MOST_SECONDS or worst.peak > MOST_BYTES]
    goal = f"{MOST_SECONDS:.0f} s and {MOST_BYTES // 1000**2} MB"
    return Section(
        "Text that is made to be slow",
        "Notebooks of 16 MiB of code and files of 100 MiB, each made of one short piece, repeated; for each\n"
        "reader outside the sandbox the most processor time and memory that any of them takes.",
        ("reader", "tried", "seconds", "peak, MB"),
        rows,
        f"The goal is at most {goal} for each. "
        + (f"Above it: {', '.join(above)}." if above else "It is met."),
    )


def _measure(reader: str) -> Worst:
    """Try every notebook on a reader, in this process."""
    if reader == FILES:
        with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder:
            path = Path(folder) / "ada" / "notebook.ipynb"
            path.parent.mkdir()
            return _worst(_on_disk(path), lambda _: find_submissions(Path(folder), {"01_tiny": FUNCTIONS}))
    return _worst(notebooks(), READERS[reader])


def _on_disk(path: Path) -> Iterator[None]:
    for content in files():
        path.write_bytes(content)
        del content
        yield None


_Made = TypeVar("_Made")


def _worst(made: Iterator[_Made], read: Callable[[_Made], object]) -> Worst:
    tried, seconds, peak = 0, 0.0, 0
    for one in made:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        begun = time.process_time()
        read(one)
        spent, most = time.process_time() - begun, peak_memory(os.getpid())
        if VERBOSE and (spent > MOST_SECONDS / 2 or most > MOST_BYTES / 2):
            sys.stderr.write(f"{tried} {spent:.2f} s {most / 1e6:.0f} MB {str(one)[:300]!r}\n")
        tried, seconds, peak = tried + 1, max(seconds, spent), max(peak, most)
    return Worst(tried, seconds, peak)


if __name__ == "__main__":
    VERBOSE = "-v" in sys.argv
    if reader := [argument for argument in sys.argv[1:] if argument != "-v"]:
        print(json.dumps(asdict(_measure(reader[0]))))  # noqa: T201 - what it is for
    else:
        print(section(hostile_text()).markdown())  # noqa: T201
