"""Where a comment in a notebook quotes the output of a line, the line prints that."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.course.notebook_source import read_assignment

ROOT = Path(__file__).parents[2]
MASTERS = sorted((ROOT / "solutions").glob("[0-9][0-9]_*.py"))
BETWEEN = (", ", ", then ")  # what a loop prints, one turn after the other


@pytest.fixture(scope="module")
def printed():
    """What each commented `print` of every notebook printed, by stem; answers stand in the place of stubs."""
    cells = {
        path.stem: [
            {"source": cell.source, "line": cell.line}
            for cell in read_assignment(path).cells
            if cell.role in ("code", "question")
        ]
        for path in MASTERS
    }
    runner = [sys.executable, str(ROOT / "tests" / "printing.py")]
    ended = subprocess.run(runner, input=json.dumps(cells), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize("stem", [path.stem for path in MASTERS])
def test_a_comment_says_what_is_printed(printed, stem):
    """A comment begins with the whole output of its line; `...` stands for any part of it."""
    assert printed[stem], f"no line of {stem} tells what it prints"
    wrong = [
        f"solutions/{stem}.py, line {told['line']}: `# {told['comment']}`, but it prints {told['printed']}"
        for told in printed[stem]
        if not says(told["comment"], told["printed"])
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("comment", "outputs", "is_true"),
    [
        ("3, because it is so", ["3"], True),
        ("2 again, because .data has its own", ["2"], True),
        ("... has been modified by an in-place", ["one of them has been modified by an in-place"], True),
        ("False <MulBackward0 ...>, because of x", ["False <MulBackward0 object at 0x7f>"], True),
        ("3, 6, 9: it grows", ["3", "6", "9"], True),
        ("[2.0], then [4.0], because it adds", ["[2.0]", "[4.0]"], True),
        ("1, both times", ["1", "1"], True),
        ("3, because it is so", ["30"], False),
        ("30, because it is so", ["3"], False),
        ("3, 6, 9: it grows", ["3", "6", "10"], False),
        ("1, both times", ["1", "2"], False),
        ("True, because ...", ["False"], False),
        ("because it fails", ["an error"], False),
        ("3", [], False),
    ],
)
def test_what_a_comment_may_say(comment, outputs, is_true):
    """Another value, a part of one, or a line that was never reached is noticed."""
    assert says(comment, outputs) is is_true


def says(comment, outputs):
    """Whether a comment tells these outputs, one for each turn of a loop."""
    whole = [" ".join(output.split()) for output in outputs]
    candidates = {between.join(whole) for between in BETWEEN} | (set(whole) if len({*whole}) == 1 else set())
    return any(output and _begins(comment, output) for output in candidates)


def _begins(comment, output):
    """Whether a comment begins with an output that ends there as a word does, or stands for all of it."""
    if comment.startswith(output) and not re.match(r"\w|\.\d", comment[len(output) :]):
        return True
    told = comment.partition(", because")[0]
    pattern = ".*".join(map(re.escape, told.split("...")))
    return "..." in told and re.fullmatch(pattern, output) is not None
