"""``xray(loss=loss, h=h)`` shows the autograd graph behind tensors in a notebook, drawn as in feedback.

In a worker ``grader`` is a fake, whose ``xray`` does nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any

from grader.graphs.fold import Folded, Modules, fitted
from grader.graphs.model import MAX_NODES, Graph, Named, read_large_graph
from grader.graphs.picture import Picture, as_images, draw, on_paper, png, summary
from grader.graphs.svg import LEGEND_HTML
from grader.text import printable, some

_EXAMPLE = "Give xray tensors, modules, or lists, tuples and dicts of them: xray(loss=loss, h=h)."
_FOLDED = (
    "This graph has many nodes, so it is folded by module: a box with a double line is a module, with its "
    "parameters, the operations that use them, and the operations that follow until another module is used."
)
_LEAVES = "These are leaves only. Give xray what was computed with them, too: xray(loss=loss, model=model)."
_NOT_DRAWN = 3  # values that a sentence names
_TENSORS_IN_TEXT = 100


def xray(*unnamed: Any, limit: int = MAX_NODES, **named: Any) -> XRay:
    """Show the present autograd graph of tensors; has no side effects and raises no error.

    Args:
        unnamed: values without names: ``xray(loss)``. A tensor then has the name of the caller's variable or,
            if there is none, ``tensor``; several are numbered, ``tensor[0]`` ... A module's parameters have
            their own names.
        limit: the maximum number of nodes to draw. A larger graph is folded by the given modules. If that is
            not enough, only the nearest nodes are drawn.
        named: tensors; modules, which stand for their parameters; or lists, tuples and dicts of them:
            ``xray(loss=loss, cell=cell, state=(h, c))``.

    Returns: An object that a notebook displays as a picture, or as a sentence if nothing can be drawn.
    """
    if type(limit) is not int or limit < 1:
        return XRay(f"limit is how many nodes are drawn at most: xray(loss=loss, limit={MAX_NODES}).")
    try:
        return _look({**_with_names(unnamed, sys._getframe(1)), **named}, limit)  # noqa: SLF001
    except Exception as error:  # noqa: BLE001 - a notebook shows a sentence, and no traceback of ours
        return XRay(f"This graph could not be read {_described(error)}.")


def _look(named: Mapping[str, Any], limit: int) -> XRay:
    # these import torch, which only this machine's owner asks for
    from grader.runtime.graph import COUNTED, Bounds, forward_order, graph_of  # noqa: PLC0415
    from grader.runtime.named_tensors import MOST, Given  # noqa: PLC0415

    given = Given(named)
    left_out = "; ".join(
        some((f"{printable(name) or 'it'} {_what(value)}" for name, value in given.others), _NOT_DRAWN)
    )
    bounds = Bounds(tensors=MOST, nodes=COUNTED, arrows=MOST, saved=MOST)
    graph = read_large_graph(graph_of(given.tensors, bounds))
    if graph is None:
        return XRay(f"There is nothing to draw: {left_out or 'nothing was given'}. {_EXAMPLE}")
    modules = Modules(
        names=[module.name for module in given.modules],
        kinds=[module.kind for module in given.modules],
        parents=[module.parent for module in given.modules],
        owners=given.owners,
        order=forward_order(given.tensors) if given.modules else [],
    )
    shown = fitted(graph, modules, limit)
    notes = [f"Not drawn: {left_out}."] if left_out else []
    if given.is_cut:
        notes.append(f"Only the first {MOST:,} of the tensors are looked at.")
    if any(isinstance(node, Folded) for node in shown.nodes):
        notes.append(_FOLDED)
    if given.modules and not graph.nodes:
        notes.append(_LEAVES)
    if shown.more:
        notes.append(f"A larger limit draws more nodes: xray(..., limit={2 * limit}).")
    return XRay(" ".join(notes), graph, shown)


def _with_names(unnamed: tuple[Any, ...], caller: FrameType) -> dict[str, Any]:
    """Values by the caller's names for them, or otherwise by "tensor" and a number.

    The names of parameters distinguish modules.
    """
    from grader.runtime.torch_objects import is_module  # noqa: PLC0415 - imports torch

    modules = [index for index, value in enumerate(unnamed) if is_module(value)]
    others = [index for index in range(len(unnamed)) if index not in modules]
    names = {
        index: kind if len(places) == 1 else f"{kind or 'module'}[{index}]"
        for kind, places in (("", modules), ("tensor", others))
        for index in places
    }
    names |= {index: name for index in others if (name := _name_of(unnamed[index], caller))}
    return {names[index]: unnamed[index] for index in range(len(unnamed))}


def _name_of(value: Any, caller: FrameType) -> str:
    """The first name in the caller's code that refers to a value; empty if there is none."""
    code = caller.f_code
    known = {**caller.f_globals, **caller.f_locals}
    names = (*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names)
    return next((name for name in names if known.get(name) is value), "")


def _what(value: Any) -> str:
    """The type of a value that cannot be drawn."""
    kind = type(value)
    name = printable(kind.__name__)
    classes = {above.__name__ for above in kind.__mro__[1:]}
    if value is None:
        return "is None"
    if kind in {dict, list, tuple}:
        return f"is a {name} without tensors"
    if "Module" in classes:
        return f"is a module without parameters, {name}"
    if "Tensor" in classes:
        return f"is of a class made from Tensor, {name}"
    if kind.__module__ == "builtins":
        return f"is {'an' if name[0] in 'aeiou' else 'a'} {name}"
    return f"is of class {name}"


def _described(error: Exception) -> str:
    """An error of torch or Graphviz on one line."""
    return f"({type(error).__name__}: {printable(str(error).partition(chr(10))[0])})"


class XRay:
    """A graph, shown as a picture in a notebook and as text in a terminal; or a sentence if there is none."""

    def __init__(self, note: str, graph: Graph | None = None, shown: Graph | None = None) -> None:
        self._note = note
        self._graph = graph
        self._shown = shown or graph  # the part that is drawn

    @cached_property
    def picture(self) -> Picture | None:
        """The picture that Graphviz drew; None if there is nothing to draw or Graphviz fails."""
        if self._graph is None:
            return None
        try:
            return draw(self._graph, "", self._shown)
        except Exception as error:  # noqa: BLE001 - a C library may raise anything
            self._note = f"Graphviz could not draw this graph {_described(error)}."
            return None

    def html(self) -> str:
        """The picture, a sentence about it, and a legend of its shapes."""
        picture = self.picture
        if picture is None:
            return f"<pre>{escape(repr(self))}</pre>" if self._graph else f"<p>{escape(self._note)}</p>"
        note = f"<p>{escape(self._note)}</p>" if self._note else ""
        legend = f"<details><summary>What the shapes mean</summary>{LEGEND_HTML}</details>"
        return as_images(f"<p>{escape(picture.summary)}</p>{picture.svg}{note}{legend}")

    def save(self, file: str | Path = "graph.svg") -> Path | None:
        """Write the picture to a file, ``.svg`` or ``.png``, dark on white.

        Returns: The path of the file; None if it could not be written, after a printed sentence that says
            why.
        """
        path = Path(file)
        try:
            path.write_bytes(self._file(path.suffix.lower()))
        except ImportError:
            why = 'a .png needs `pip install resvg_py Pillow matplotlib`; save("graph.svg") needs nothing'
        except OSError as error:
            why = f"{error.strerror}; choose a folder that exists, and in which you may write"
        except ValueError as error:
            why = str(error)
        else:
            return path
        print(f"{path} was not written: {why}.")  # noqa: T201 - a notebook shows it
        return None

    def _file(self, suffix: str) -> bytes:
        """The content of a file with this suffix; raises ValueError for another suffix."""
        if self.picture is None:
            raise ValueError(self._note.rstrip("."))
        if suffix not in {".svg", ".png"}:
            raise ValueError("the name of a picture ends in .svg or .png")
        svg = self.picture.svg
        return png(svg) if suffix == ".png" else on_paper(svg).encode()

    def _repr_html_(self) -> str:
        return self.html()

    def _repr_markdown_(self) -> str | None:
        if self.picture is None:
            return None
        return f"{self.picture.summary}\n\n```mermaid\n{self.picture.mermaid}\n```\n"

    def __repr__(self) -> str:
        lines = [self._note] if self._note else []
        if self._graph is not None:
            tensors = (_line(self._graph, tensor) for tensor in self._graph.tensors)
            lines = [summary(self._graph), *some(tensors, _TENSORS_IN_TEXT), *lines]
        return "\n".join(lines)


def _line(graph: Graph, tensor: Named) -> str:
    """One tensor in a line of text."""
    maker = "a node not shown" if tensor.made_by is None else graph.nodes[tensor.made_by].op
    words = ["leaf" if tensor.leaf else f"made by {maker}"]
    words.append("requires grad" if tensor.requires_grad else "no grad")
    words.append("inference tensor" if tensor.version is None else f"version {tensor.version}")
    if tensor.leaf or tensor.retains:
        words.append(".grad set" if tensor.grad else ".grad None")
    return f"  {tensor.name} {tensor.shape}: {', '.join(words)}"
