"""Outside: a line of what an instructor reads on the terminal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line; ``style`` is what the terminal makes of it, in the words of rich."""

    text: str = ""
    style: str = ""


def entry(name: str, text: str, style: str = "") -> Line:
    """A line that begins with what it is about; an empty name goes on with the line above."""
    return Line(f"  {name:<10}  {text}", style)
