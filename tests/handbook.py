"""Runs a page of documentation: writes the files it shows, and types the commands."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from grader.cli import main

_BLOCK = re.compile(r"^```(?P<language>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, the file it belongs to, its text, and where it begins."""

    language: str
    file: str | None
    text: str
    begin: int


def blocks(page):
    """All fenced blocks of a page, in order."""
    return [
        Block(match["language"], match["file"], match["text"], match.start("text"))
        for match in _BLOCK.finditer(page)
    ]


def played(page, root):
    """The page as it would read if each block below a `$` held what the command prints now.

    A file's first block replaces what is there, each further one is added to it.

    Args:
        page: its text.
        root: the current folder, where the files go.
    """
    begun = set()
    result, end = "", 0
    for block in blocks(page):
        if block.file is not None:
            _write(root / block.file, block.text, more=block.file in begun)
            begun.add(block.file)
        if block.language == "console":
            result += page[end : block.begin] + _typed(block.text)
            end = block.begin + len(block.text)
    return result + page[end:]


def _write(path: Path, text, *, more):
    former = path.read_text(encoding="utf-8") + "\n\n" if more else ""
    path.write_text(former + text, encoding="utf-8")


def _typed(text):
    """The commands of a block, each followed by what it prints."""
    shown = ""
    for line in text.splitlines():
        if line.startswith("$ python -m grader "):
            for name in [name for name in sys.modules if re.fullmatch(r"test_\d\d_\w+", name)]:
                del sys.modules[name]  # a command of its own would read the check file anew
            run = CliRunner().invoke(main, line.removeprefix("$ python -m grader ").split())
            assert run.exception is None or isinstance(run.exception, SystemExit), run.exception
            printed = "\n".join(row.rstrip() for row in run.output.strip("\n").split("\n"))
            shown += f"{line}\n{printed}\n"
    return shown
