"""An autograd graph drawn: as SVG for pages, as Mermaid for texts, and said in a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from grader.graphs.diagram import diagram_of
from grader.graphs.mermaid import mermaid
from grader.graphs.model import Graph
from grader.graphs.summary import summary
from grader.graphs.svg import svg


@dataclass(frozen=True)
class Picture:
    """One autograd graph, drawn.

    Attributes:
        caption: what its author says it shows.
        summary: in a sentence, what is to be seen.
        svg: an ``<svg>`` element, safe to put into a page as it is, on light and dark paper.
        mermaid: the text inside a ``mermaid`` fence.
        reference: the reference's picture, where its author gave leave to show it and it differs, or None.
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
    diagram, said = diagram_of(graph), summary(graph)
    return Picture(caption, said, svg(diagram, said), mermaid(diagram))
