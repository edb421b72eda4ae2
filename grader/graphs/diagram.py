"""An autograd graph as labeled boxes and lines, for all output formats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from grader.graphs.fold import Folded
from grader.graphs.model import MOST, Graph, Named, Node
from grader.text import some

Kind = Literal["result", "leaf", "constant", "op", "freed", "stale", "module", "note"]
Style = Literal["gradient", "constant", "memory"]

MAX_LINES = 100  # beyond it the layout takes more than milliseconds
_LINES_OF_A_BOX = 2  # the same for a graph of more nodes, which a student asked for
GOES_ON = "goes on ..."  # the last line of a box from which arrows are left out
_NAMES_IN_A_BOX = 3
_PARAMETERS_IN_A_BOX = 2
_CUTS = {
    "detach": "cut: detached, same memory",
    "data": "cut: .data, versions differ",
    None: "same memory",
}
_EXPANDED = ", rows on one memory"
_BACKWARD = re.compile(r"Backward\d*$")


@dataclass(frozen=True, slots=True)
class Box:
    """A box with lines of harmless text."""

    kind: Kind
    words: tuple[str, ...]
    strong: int = 0  # how many of the words, from the first, begin with a name

    def name_in(self, row: int) -> tuple[str, str]:
        """The name with which a line begins, or an empty text, and the rest of the line."""
        word = self.words[row]
        name = word.partition(" ")[0] if row < min(self.strong, _NAMES_IN_A_BOX) else ""
        return name, word.removeprefix(name)


@dataclass(frozen=True, slots=True)
class Line:
    """A line between two boxes: the way of a gradient (an arrow), or a relation that no gradient takes."""

    start: int
    end: int
    style: Style


@dataclass(frozen=True, slots=True)
class Diagram:
    """The boxes and lines of a picture."""

    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def diagram_of(graph: Graph) -> Diagram:
    """The boxes and lines that show a graph."""
    return _Composer(graph).diagram()


def operation(name: str) -> str:
    """``Mul`` for ``MulBackward0``."""
    return _BACKWARD.sub("", name) or name


class _Composer:
    """Puts a diagram together; box i is node i of the graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._boxes = [self._node(index, node) for index, node in enumerate(graph.nodes)]
        self._of_tensor: dict[int, int] = {}  # index of a named tensor -> its box
        for index, tensor in enumerate(graph.tensors):
            self._of_tensor[index] = self._box_of(index, tensor)
        if graph.more:
            self._boxes.append(Box("note", _left_out(graph)))

    def diagram(self) -> Diagram:
        nodes = enumerate(self._graph.nodes)
        gradients = [Line(index, after, "gradient") for index, node in nodes for after in node.next]
        lines = [*gradients, *self._consumed(), *self._shared()]
        most = max(MAX_LINES, _LINES_OF_A_BOX * len(self._graph.nodes))
        return Diagram(tuple(self._boxes), tuple(dict.fromkeys(lines))[:most])

    def _node(self, index: int, node: Node) -> Box:
        if isinstance(node, Folded):
            box = _module(node)
        else:
            box = self._operation(index, node) if node.leaf is None else self._leaf(node)
        return replace(box, words=(*box.words, GOES_ON)) if node.goes_on else box

    def _leaf(self, node: Node) -> Box:
        if node.named is None:
            return Box("leaf", (f"leaf {node.leaf}", _grad(node.grad)))
        return _leaf(self._names(node.named), self._graph.tensors[node.named])

    def _operation(self, index: int, node: Node) -> Box:
        made = [t for t in self._graph.tensors if t.made_by == index]
        names = _few([_sized(t) for t in made])
        words = [*names, operation(node.op)]
        if any(t.retains for t in made):
            words.append(f"retains grad, {_grad(any(t.grad for t in made))}")
        if node.is_freed:
            return Box("freed", (*words, "saved tensors freed"), len(names))
        if (saved := node.stale) is not None:
            versions = (f"{saved.name}: saved v{saved.then},", f"now v{saved.now}")
            since = (f"{saved.name}: detached since",) if saved.state == "detached" else versions
            return Box("stale", (*words, *since), len(names))
        return Box("result" if made else "op", tuple(words), len(names))

    def _names(self, index: int) -> tuple[str, ...]:
        """The names of a tensor: its first, and those that came later."""
        others = [t.name for t in self._graph.tensors if t.same == index]
        return _few([_sized(self._graph.tensors[index]), *others])

    def _box_of(self, index: int, tensor: Named) -> int:
        """The box of a named tensor; a new box where no node stands for it."""
        if tensor.same is not None and tensor.same in self._of_tensor:
            return self._of_tensor[tensor.same]
        if tensor.made_by is not None:
            return tensor.made_by
        for node_index, node in enumerate(self._graph.nodes):
            if node.named == index:
                return node_index
        names = self._names(index)
        if not tensor.leaf:
            box = Box("result", (*names, "made by a node not shown"), len(names))
        elif tensor.requires_grad:
            box = _leaf(names, tensor, "no arrow shown" if self._graph.more else "no arrow arrives")
        else:
            word = "inference tensor" if tensor.version is None else "no gradient goes here"
            box = Box("constant", (*names, word), len(names))
        self._boxes.append(box)
        return len(self._boxes) - 1

    def _consumed(self) -> Iterator[Line]:
        """From operations to the named tensors that they saved, or on whose memory they saved a tensor."""
        for index, node in enumerate(self._graph.nodes):
            for saved in node.saved:
                box = None if saved.partner is None else self._of_tensor[saved.partner]
                if box is not None and box != index:
                    yield Line(index, box, "memory" if saved.state == "stale" else "constant")

    def _shared(self) -> Iterator[Line]:
        """Different tensors on the same memory: views, and a cut where only one of them has a history."""
        first: dict[int, tuple[int, Named]] = {}  # by their memory: its first tensor, with its box
        for index, tensor in sorted(enumerate(self._graph.tensors), key=lambda pair: pair[1].leaf):
            box = self._of_tensor[index]
            first_box, start = first.setdefault(tensor.storage, (box, tensor))
            if first_box != box and self._graph.is_view(start, tensor):
                yield Line(first_box, box, "memory")
            elif first_box != box:
                note = len(self._boxes)
                self._boxes.append(Box("note", (_CUTS[self._graph.cut(start, tensor)],)))
                yield Line(first_box, note, "memory")
                yield Line(note, box, "memory")


def _module(node: Folded) -> Box:
    """The box of a module in which operations and parameters are folded."""
    parameters, number = node.parameters, node.operations
    words = [f"{node.op}, {number} operation{'' if number == 1 else 's'}" if number else node.op]
    if node.is_direct and len(parameters) <= _PARAMETERS_IN_A_BOX:
        words.append(", ".join(f"{t.name.rpartition('.')[2]} {t.shape}" for t in parameters))
    else:
        words.append(f"{len(parameters)} parameters")
    with_grad = sum(t.grad for t in parameters)
    some_have = with_grad and with_grad < len(parameters)
    words.append(f".grad set in {with_grad} of {len(parameters)}" if some_have else _grad(bool(with_grad)))
    if not node.is_reached:
        words.append("no arrow arrives")
    if node.is_freed:
        words.append(f"saved tensors of {node.freed} freed")
    names = [node.name] if node.name else []
    return Box("freed" if node.is_freed else "module", (*names, *words), len(names))


def _left_out(graph: Graph) -> tuple[str, ...]:
    """How much of a graph is not shown."""
    more, shown = graph.more_nodes, len(graph.nodes)
    at_least = "at least " if more + shown > MOST else ""
    words = [f"and {at_least}{_counted(more, 'node')}"] if more else []
    words += [f"and {_counted(graph.more_tensors, 'tensor')}"] if graph.more_tensors else []
    return tuple(words) or ("not all arrows are shown",)


def _counted(number: int, noun: str) -> str:
    return f"{number} more {noun}{'' if number == 1 else 's'}"


def _sized(tensor: Named) -> str:
    return f"{tensor.name} {tensor.shape}{_EXPANDED if tensor.expanded else ''}"


def _leaf(names: tuple[str, ...], tensor: Named, *more: str) -> Box:
    return Box("leaf", (*names, f"leaf, {_grad(tensor.grad)}", *more), len(names))


def _grad(is_there: bool) -> str:
    return ".grad set" if is_there else ".grad None"


def _few(names: list[str]) -> tuple[str, ...]:
    return tuple(some(dict.fromkeys(names), _NAMES_IN_A_BOX))
