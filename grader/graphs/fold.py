"""Makes a large graph readable: folded by module, and cut behind the nearest nodes.

* **An operation belongs to the module whose parameter was used last before it, or by it.** So a layer's box
  holds its product, the bias and the activation behind it, the sum of a residual belongs to the branch that
  was computed last, and nothing needs to know torch's names of operations. By the number of arrows to the
  nearest parameter that sum would be the layer's below, and the boxes would lead in a circle.
* **Some are never folded:** an operation that made a named tensor, an operation with an overwritten saved
  tensor, a parameter that was also named by itself, and what used a leaf of no module last.
* **As little as is needed:** modules are folded into those that hold them, until the picture is small enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from msgspec.structs import replace

from grader.graphs.model import Graph, Named, Node, harmless

_MAX_NAME = 40
_NONE = -1  # in the place of a module's index; where a leaf of a module is used too, that one counts


@dataclass(frozen=True, slots=True)
class Modules:
    """The modules to which named tensors belong.

    Attributes:
        names: of each module, such as ``model.layers.3``; empty for one without a name.
        kinds: the name of its class.
        parents: the index of the module that holds it, which stands before it.
        owners: of each named tensor the index of its module, None for a tensor of no module.
        order: of each node a number that is larger for operations that ran later.
    """

    names: Sequence[str]
    kinds: Sequence[str]
    parents: Sequence[int | None]
    owners: Sequence[int | None]
    order: Sequence[int]

    def depths(self) -> list[int]:
        """How many modules hold each."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent is None else depths[parent] + 1)
        return depths

    def holders(self, depth: int) -> list[int]:
        """For each module itself or the module that holds it, at most so deep."""
        found: list[int] = []
        for index, (parent, its) in enumerate(zip(self.parents, self.depths(), strict=True)):
            found.append(index if its <= depth or parent is None else found[parent])
        return found


class Folded(Node, frozen=True):
    """A module in the place of the operations and parameters that belong to it."""

    name: str  # of the module; its ``op`` is the name of its class
    operations: int
    freed: int  # of these operations
    parameters: tuple[Named, ...]
    is_direct: bool  # whether the parameters are the module's own, and not of a module in it
    is_reached: bool  # whether a gradient arrives at one of the parameters


def fitted(graph: Graph, modules: Modules, limit: int) -> Graph:
    """The graph with at most `limit` nodes, and at most as many tensors for which no node stands."""
    if _fits(graph, limit):
        return graph
    small = graph
    for depth in reversed(range(max(modules.depths(), default=-1) + 1)):
        small = _folded(graph, modules, modules.holders(depth))
        if _fits(small, limit):
            return small
    return _cut(small, limit)


def _fits(graph: Graph, limit: int) -> bool:
    return len(graph.nodes) <= limit and len(graph.loose) <= limit


def _folded(graph: Graph, modules: Modules, holders: Sequence[int]) -> Graph:
    """The graph with its operations and parameters in the boxes of modules, by each module's holder."""
    objects = [index if tensor.same is None else tensor.same for index, tensor in enumerate(graph.tensors)]
    pairs = [*zip(objects, modules.owners, strict=True)]
    named_directly = {first for first, owner in pairs if owner is None}
    of_tensor = {
        first: holders[owner]
        for first, owner in reversed(pairs)
        if owner is not None and first not in named_directly
    }
    of_node = _modules_of_nodes(graph, of_tensor, modules.order)
    members: dict[int, list[int]] = defaultdict(list)  # by module, the nodes in its box
    parameters: dict[int, list[int]] = defaultdict(list)
    for index in sorted(of_node):
        members[of_node[index]].append(index)
    for first in sorted(of_tensor):
        parameters[of_tensor[first]].append(first)

    nodes: list[Node] = []
    place: dict[int, int] = {}
    for index, node in enumerate(graph.nodes):
        if index in place:
            continue
        module = of_node.get(index)
        inside = [index] if module is None else members[module]
        place |= dict.fromkeys(inside, len(nodes))
        nodes.append(
            node if module is None else _box(graph, modules, module, inside, parameters.pop(module, []))
        )
    # no gradient arrives at the others
    nodes += [_box(graph, modules, module, [], alone) for module, alone in parameters.items()]
    tensors = [index for index, first in enumerate(objects) if first not in of_tensor]
    return _renumbered(graph, nodes, place, tensors)


def _modules_of_nodes(graph: Graph, of_tensor: Mapping[int, int], order: Sequence[int]) -> dict[int, int]:
    """The module to which each node belongs, by their indices; a node that stays by itself is missing."""
    of_leaf = {
        index: _NONE if node.named is None else of_tensor.get(node.named, _NONE)
        for index, node in enumerate(graph.nodes)
        if node.leaf is not None
    }
    operations = [index for index in range(len(graph.nodes)) if index not in of_leaf]
    last: dict[int, tuple[int, int]] = {}  # by operation: when a leaf was used last, and the leaf's module
    for index in sorted(operations, key=order.__getitem__):
        inputs = graph.nodes[index].next
        used = [(order[index], of_leaf[leaf]) for leaf in inputs if leaf in of_leaf]
        last[index] = max([*used, *(last[before] for before in inputs if before in last)], default=(0, _NONE))
    found = of_leaf | {index: module for index, (_, module) in last.items()}
    made = {tensor.made_by for tensor in graph.tensors}
    return {
        index: module
        for index, module in found.items()
        if module != _NONE and index not in made and graph.nodes[index].stale is None
    }


def _box(graph: Graph, modules: Modules, module: int, inside: list[int], parameters: list[int]) -> Folded:
    nodes = [graph.nodes[index] for index in inside]
    return Folded(
        op=harmless(modules.kinds[module]),
        after=tuple(dict.fromkeys(chain.from_iterable(node.after for node in nodes))),
        leaf=None,
        named=None,
        grad=False,
        saved=tuple(dict.fromkeys(chain.from_iterable(node.saved for node in nodes))),
        name=harmless(modules.names[module], _MAX_NAME),
        operations=sum(node.leaf is None for node in nodes),
        freed=sum(node.is_freed for node in nodes),
        parameters=tuple(graph.tensors[index] for index in parameters),
        is_direct=all(modules.owners[index] == module for index in parameters),
        is_reached=any(node.leaf is not None for node in nodes),
    )


def _cut(graph: Graph, limit: int) -> Graph:
    """The nearest nodes, and the first of the tensors for which no node stands then."""
    lost = graph.nodes[limit:]
    here = {index: index for index in range(len(graph.nodes) - len(lost))}
    near = _renumbered(graph, graph.nodes[:limit], here, range(len(graph.tensors)))
    loose = {*near.loose[limit:]}
    kept = [index for index, tensor in enumerate(near.tensors) if not {index, tensor.same} & loose]
    folded = [node for node in lost if isinstance(node, Folded)]
    more_nodes = len(lost) + sum(node.operations - 1 for node in folded)
    more_tensors = len(loose) + sum(len(node.parameters) for node in folded)
    return replace(
        _renumbered(near, near.nodes, here, kept),
        more=True,
        more_nodes=graph.more_nodes + more_nodes,
        more_tensors=graph.more_tensors + more_tensors,
    )


def _renumbered(
    graph: Graph, nodes: Iterable[Node], place: Mapping[int, int], tensors: Sequence[int]
) -> Graph:
    """The graph with these nodes, and some of its tensors; `place` has the new index of each old node.

    What led to a node without a place leads to what is not shown.
    """
    number = {old: new for new, old in enumerate(tensors)}

    def at(index: int | None, of: Mapping[int, int]) -> int | None:
        return None if index is None else of.get(index)

    def node_of(new: int, node: Node) -> Node:
        after = dict.fromkeys(at(index, place) for index in node.after)
        if isinstance(node, Folded):
            after.pop(new, None)  # edges within the box
        saved = dict.fromkeys(replace(saved, partner=at(saved.partner, number)) for saved in node.saved)
        return replace(node, after=tuple(after), named=at(node.named, number), saved=tuple(saved))

    return replace(
        graph,
        nodes=tuple(node_of(new, node) for new, node in enumerate(nodes)),
        tensors=tuple(
            replace(tensor, made_by=at(tensor.made_by, place), same=at(tensor.same, number))
            for tensor in (graph.tensors[index] for index in tensors)
        ),
    )
