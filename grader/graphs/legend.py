"""What the shapes of a picture mean; stands once in a page that shows pictures."""

from __future__ import annotations

from grader.graphs.svg import sample

_WORDS = {
    "gradient": "the way a gradient travels",
    "result": "a non-leaf, and the operation that made it",
    "op": "an operation",
    "leaf": "a leaf: gradients end in its .grad",
    "constant": "a tensor without history; a dashed line says who used it",
    "freed": "saved tensors freed: a backward has been through here",
    "stale": "a saved tensor was overwritten (v: version counter)",
    "memory": "same memory; a cut where only one side has a history",
}

LEGEND_HTML = (
    '<ul class="xray-legend" style="list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2em 1.2em">'
    + "".join(f"<li>{sample(kind)} {words}</li>" for kind, words in _WORDS.items())
    + "</ul>"
)
LEGEND_MARKDOWN = (
    "Arrows show the way a gradient travels. A box with double sides is a non-leaf and the operation that "
    "made it; a box with round ends is a leaf; a dashed box has no history; a hexagon is an operation whose "
    "saved tensors are freed or overwritten; a dotted line joins tensors on the same memory."
)
