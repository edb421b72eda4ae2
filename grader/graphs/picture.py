"""An autograd graph drawn: SVG for pages, Mermaid for texts, PNG for notebooks, and a sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path

from grader.graphs.diagram import Box, Diagram, diagram_of
from grader.graphs.model import Graph
from grader.graphs.summary import summary
from grader.graphs.svg import svg

_SHAPES = {
    "result": ("[[", "]]"),
    "leaf": ("([", "])"),
    "constant": ("[", "]"),
    "op": ("(", ")"),
    "freed": ("{{", "}}"),
    "stale": ("{{", "}}"),
    "note": (">", "]"),
}
_LINES = {"gradient": "-->", "constant": "-.->", "memory": "-.-"}
_CLASSES = {
    "leaf": "stroke:#2f7fd6,stroke-width:2px",
    "constant": "stroke:#888,stroke-dasharray:5 4",
    "freed": "stroke:#d1383f,stroke-width:3px",
    "stale": "stroke:#c26a00,stroke-width:3px,stroke-dasharray:8 3",
    "note": "stroke:#888,stroke-dasharray:2 3",
}
_ZOOM = 2  # pixels of the file for one of the page: letters stay sharp on a fine screen
_COLOURS = 32  # of line art with smooth edges; the file is a third of what it would be
_INK, _PAPER = "#1a1a1a", "#ffffff"


@dataclass(frozen=True)
class Picture:
    """An autograd graph, drawn.

    Attributes:
        caption: what its author says it shows.
        summary: what it shows, in a sentence.
        svg: an ``<svg>`` element, safe to put into a page as it is, on light and dark paper.
        mermaid: the text inside a ``mermaid`` fence.
        reference: the reference's picture, where its author allows to show it and it differs.
        is_the_references: whether it is the same as the reference's, where that may be known.
    """

    caption: str
    summary: str
    svg: str
    mermaid: str
    reference: Picture | None = None
    is_the_references: bool = False


def draw(graph: Graph, caption: str) -> Picture:
    """A graph as a picture."""
    diagram, sentence = diagram_of(graph), summary(graph)
    return Picture(caption, sentence, svg(diagram, sentence), mermaid(diagram))


def mermaid(diagram: Diagram) -> str:
    """A diagram as the text of a Mermaid flowchart, without the fence around it."""
    lines = ["flowchart TB"]
    lines += [f"  n{index}{_shaped(box)}" for index, box in enumerate(diagram.boxes)]
    lines += [f"  n{line.start} {_LINES[line.style]} n{line.end}" for line in diagram.lines]
    for kind, style in _CLASSES.items():
        members = ",".join(f"n{index}" for index, box in enumerate(diagram.boxes) if box.kind == kind)
        if members:
            lines += [f"  classDef {kind} {style}", f"  class {members} {kind}"]
    return "\n".join(lines)


def _shaped(box: Box) -> str:
    opening, closing = _SHAPES[box.kind]
    words = [f"<b>{_text(w)}</b>" if n < box.strong else _text(w) for n, w in enumerate(box.words)]
    return f'{opening}"{"<br/>".join(words)}"{closing}'


def _text(word: str) -> str:
    """A word in quotes is plain text to Mermaid but for these, and for a list or a heading in Markdown."""
    return word.replace("&", "#amp;").replace("<", "#lt;").replace('"', "#quot;").replace("`", "'")


def png(svg: str) -> bytes:
    """An ``<svg>`` of ``grader.graphs.svg`` as a PNG file, dark on white, for notebooks.

    The font comes with matplotlib, so that the file is the same on every machine.
    """
    import resvg_py  # noqa: PLC0415 - instructors have it
    from PIL import Image  # noqa: PLC0415 - comes with matplotlib

    drawn = resvg_py.svg_to_bytes(
        svg_string=svg.replace("currentColor", _INK),
        background=_PAPER,
        zoom=_ZOOM,
        skip_system_fonts=True,
        font_files=_fonts(),
        monospace_family="DejaVu Sans Mono",
    )
    file = BytesIO()
    Image.open(BytesIO(bytes(drawn))).convert("RGB").quantize(_COLOURS).save(file, "PNG", optimize=True)
    return file.getvalue()


def width_of(svg: str) -> int:
    """The width of an ``<svg>`` of ours in pixels of a page."""
    width = re.search(r' width="(\d+)', svg)
    return int(width[1]) if width else 0


@cache
def _fonts() -> list[str]:
    import matplotlib as mpl  # noqa: PLC0415

    folder = Path(mpl.__file__).parent / "mpl-data" / "fonts" / "ttf"
    return [str(folder / f"DejaVuSansMono{face}.ttf") for face in ("", "-Bold")]
