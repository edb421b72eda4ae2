"""A diagram as the text of a Mermaid flowchart, made of our own words and harmless names."""

from __future__ import annotations

from grader.graphs.diagram import Box, Diagram

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


def mermaid(diagram: Diagram) -> str:
    """The flowchart's text, without the fence around it."""
    lines = ["flowchart TB"]
    lines += [f"  n{place}{_shaped(box)}" for place, box in enumerate(diagram.boxes)]
    lines += [f"  n{line.start} {_LINES[line.style]} n{line.end}" for line in diagram.lines]
    for kind, style in _CLASSES.items():
        of_kind = ",".join(f"n{place}" for place, box in enumerate(diagram.boxes) if box.kind == kind)
        if of_kind:
            lines += [f"  classDef {kind} {style}", f"  class {of_kind} {kind}"]
    return "\n".join(lines)


def _shaped(box: Box) -> str:
    opening, closing = _SHAPES[box.kind]
    words = [f"<b>{_text(w)}</b>" if n < box.strong else _text(w) for n, w in enumerate(box.words)]
    return f'{opening}"{"<br/>".join(words)}"{closing}'


def _text(word: str) -> str:
    """A word in quotes is plain text to Mermaid but for these, and for a list or a heading in Markdown."""
    return word.replace("&", "#amp;").replace("<", "#lt;").replace('"', "#quot;").replace("`", "'")
