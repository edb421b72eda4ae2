"""Printing for people: a terminal wraps text at words, but not commands, which are there to be copied."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.control import Control
from rich.table import Table
from rich.text import Text

COMMAND = "python -m grader"
_CODE = re.compile(r"`([^`]+)`")
_COMMANDS = re.compile(rf"{COMMAND} .*")  # a command ends with its line
_WORDS = re.compile(r"(?:^\s+)?\S+\s*")
_NARROWEST = 30  # minimum width of a text, however far it is indented
#: Replaces the spaces at which a line must not end; a private character, which texts don't contain.
_GLUE = "\ue000"


def console(*, stderr: bool = False) -> Console:
    """A console for people; text is never interpreted as markup."""
    return Console(emoji=False, markup=False, highlight=False, soft_wrap=True, stderr=stderr)


def put(to: Console, text: str | Text = "", indent: int = 0, hang: int = 0) -> None:
    """Print a text; a terminal wraps it at words below its indentation, and shows code without backticks.

    Commands and short code are not wrapped. A word that is longer than a line is left to the terminal, which
    copies it as one word. Lines after the first are indented by `hang` more.
    """
    shown = text if isinstance(text, Text) else coded(to, text)
    lines, width = [shown], max(to.width - indent, _NARROWEST)
    if to.is_terminal:
        shown = shown.copy()
        shown.plain = _COMMANDS.sub(_glued, shown.plain)
        lines = [
            part
            for line in shown.split(allow_blank=True)
            for part in line.divide(_breaks(line.plain, width, width - hang))
        ]
    for number, line in enumerate(lines or [Text()]):
        line.plain = line.plain.replace(_GLUE, " ")
        if to.is_terminal:
            line.rstrip()
        margin = indent + hang * (number > 0)
        to.print(" " * margin if line else "", line, sep="")


def _breaks(line: str, first: int, others: int) -> Iterator[int]:
    """The places at which a line is divided to fit into these widths; no word is divided."""
    width, column = first, 0
    for word in _WORDS.finditer(line):
        if column and column + cell_len(word[0].rstrip()) > width:
            yield word.start()
            width, column = others, 0
        column += cell_len(word[0])


def coded(to: Console, text: str) -> Text:
    """The text, with code in bold instead of in backticks where a terminal can show that."""
    if not to.is_terminal:
        return Text(text)
    most = to.width // 2
    text = _CODE.sub(lambda code: _glued(code) if len(code[0]) <= most else code[0], text)
    if to.color_system is None:
        return Text(text)
    parts = _CODE.split(text)  # every second one is code
    return Text.assemble(*((part, "bold" if index % 2 else "") for index, part in enumerate(parts)))


def _glued(found: re.Match[str]) -> str:
    return found[0].replace(" ", _GLUE)


def put_table(to: Console, table: Table) -> None:
    """Print a table."""
    _put_lines(to, table)


def put_markdown(to: Console, text: str) -> None:
    """Print Markdown; a terminal lays it out."""
    if not to.is_terminal:
        to.print(Text(text))
        return
    from rich.markdown import Markdown  # noqa: PLC0415 - a tenth of a second

    _put_lines(to, Markdown(text))


def _put_lines(to: Console, shown: RenderableType) -> None:
    """Print the lines of something of Rich's, without the spaces with which it fills them."""
    for line in to.render_lines(shown, pad=False):
        text = Text.assemble(*((piece.text, piece.style or "") for piece in line))
        text.rstrip()
        to.print(text)


def clear(to: Console) -> None:
    """Clear a terminal; scrolling up shows the earlier text."""
    if to.is_terminal:
        to.print("\n" * (to.height - 1), end="")
        to.control(Control.home())
