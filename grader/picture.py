"""Outside: pictures of what students' functions made, for feedback; drawn once where the facts are equal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from grader.diagram import diagram_of
from grader.facts import MalformedError
from grader.graph import Graph, read_graph
from grader.graph_summary import summary
from grader.mermaid import mermaid
from grader.svg import svg

if TYPE_CHECKING:  # imported with the package itself, so it imports little
    from grader.evidence import Evidence
    from grader.rubric import Rubric


@dataclass(frozen=True)
class Picture:
    """One autograd graph, drawn.

    Attributes:
        caption: what its author says it shows.
        summary: in a sentence, what is to be seen.
        svg: an ``<svg>`` element, safe to put into a page as it is, on light and dark paper.
        mermaid: the text inside a ``mermaid`` fence.
        reference: the reference's picture, where its author gave leave to show it and it differs, or None.
    """

    caption: str
    summary: str
    svg: str
    mermaid: str
    reference: Picture | None = None


def pictures_of(rubric: Rubric, evidence: Evidence, reference: Evidence) -> dict[str, list[Picture]]:
    """The pictures of one submission, by the id of the question each belongs to.

    What is no graph, was not observed or has another form gives no picture, and never an error.
    """
    found: dict[str, list[Picture]] = {}
    for name, asked in rubric.pictures.items():
        seen = _picture(evidence, name, asked.caption)
        if seen is None:
            continue
        expected = _picture(reference, name, asked.caption) if asked.reference else None
        if expected is not None and expected.svg != seen.svg:
            seen = replace(seen, reference=expected)
        found.setdefault(rubric.shows[name], []).append(seen)
    return found


def _picture(evidence: Evidence, name: str, caption: str) -> Picture | None:
    if name not in evidence.probes:
        return None
    try:
        graph = read_graph(evidence.outcome(name))
    except (MalformedError, KeyError, TypeError):  # evidence that somebody else wrote
        return None
    return None if graph is None else draw(graph, caption)


def draw(graph: Graph, caption: str) -> Picture:
    """A graph as a picture."""
    return replace(_drawn(graph), caption=caption)


@lru_cache(maxsize=1024)  # a class of solved notebooks shows a handful of graphs
def _drawn(graph: Graph) -> Picture:
    diagram, said = diagram_of(graph), summary(graph)
    return Picture("", said, svg(diagram, said), mermaid(diagram))
