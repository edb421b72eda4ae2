"""``xray(loss=loss, h=h)`` shows the autograd graph behind tensors in a notebook, drawn as in feedback.

In a worker ``grader`` is a fake, whose ``xray`` does nothing.
"""

from __future__ import annotations

from functools import cached_property
from html import escape
from typing import Any

from grader.graphs.model import Graph, Named, read_graph
from grader.graphs.picture import Picture, draw, summary
from grader.graphs.svg import LEGEND_HTML

_PAPER = "height:auto"  # what the picture's own style says


def xray(*unnamed: Any, **named: Any) -> XRay:
    """The autograd graph behind tensors, as they are now; changes nothing.

    Args:
        unnamed: tensors without a name, which are called ``tensor``, or ``tensor[0]``, ``tensor[1]`` ...
        named: tensors, or modules, which stand for their parameters: ``xray(loss=loss, cell=cell)``.

    Raises:
        TypeError: no argument is a tensor or a module with parameters.
    """
    from grader.sandbox.worker.graph import graph  # noqa: PLC0415 - imports torch, which only this machine's owner asks for

    if unnamed:
        named = {"tensor": unnamed[0] if len(unnamed) == 1 else unnamed, **named}
    found = read_graph(graph(**named))
    if found is None:
        raise TypeError("nothing of this is a tensor or a module with parameters: xray(loss=loss, h=h)")
    return XRay(found)


class XRay:
    """A graph that notebooks show as a picture, and a terminal as text."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @cached_property
    def _picture(self) -> Picture:
        return draw(self._graph, "")

    def _repr_html_(self) -> str:
        legend = f"<details><summary>What the shapes mean</summary>{LEGEND_HTML}</details>"
        return f"<p>{escape(self._picture.summary)}</p>{self._picture.svg}{legend}"

    def _repr_svg_(self) -> str:
        """For front ends that show an image, which does not know the page's colours."""
        return self._picture.svg.replace(_PAPER, f"{_PAPER};color:#1a1a1a;background:#fff", 1)

    def _repr_markdown_(self) -> str:
        return f"{self._picture.summary}\n\n```mermaid\n{self._picture.mermaid}\n```\n"

    def __repr__(self) -> str:
        return "\n".join([summary(self._graph), *map(self._line, self._graph.tensors)])

    def _line(self, tensor: Named) -> str:
        """One tensor in a line of text."""
        maker = "a node not shown" if tensor.made_by is None else self._graph.nodes[tensor.made_by].op
        words = ["leaf" if tensor.leaf else f"made by {maker}"]
        words.append("requires grad" if tensor.requires_grad else "no grad")
        words.append("inference tensor" if tensor.version is None else f"version {tensor.version}")
        if tensor.leaf or tensor.retains:
            words.append(".grad set" if tensor.grad else ".grad None")
        return f"  {tensor.name}: {', '.join(words)}"
