"""Runs the cells of notebooks, and tells what each `print` with a comment printed; reads and writes JSON.

It is run as a program, because it needs torch and runs the cells of all notebooks in its own process.
"""

import io
import json
import sys
import tokenize
from contextlib import redirect_stderr
from typing import Any


def comments_of(source: str) -> dict[int, str]:
    """The comment of each line that begins with a `print`, by the line's number, counted from 1."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {
        token.start[0]: token.string.removeprefix("# ")
        for token in tokens
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("print(")
    }


def run(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run the cells of a notebook; each commented `print` with its line in the master and what it printed."""
    found: dict[int, dict[str, Any]] = {}
    first_line = 0

    def recording_print(*values: object, sep: str = " ") -> None:
        line = first_line + sys._getframe(1).f_lineno - 1
        if line in found:
            found[line]["printed"].append(sep.join(map(str, values)))

    names: dict[str, Any] = {"__name__": "__main__", "print": recording_print}
    for cell in cells:
        first_line = cell["line"]
        for number, comment in comments_of(cell["source"]).items():
            line = first_line + number - 1
            found[line] = {"line": line, "comment": comment, "printed": []}
        exec(compile(cell["source"], f"line {first_line}", "exec"), names)
    return list(found.values())


if __name__ == "__main__":
    with redirect_stderr(io.StringIO()):  # a notebook may show a warning of torch
        told = {stem: run(cells) for stem, cells in json.load(sys.stdin).items()}
    json.dump(told, sys.stdout)
