"""Outside: what an autograd graph shows, in one sentence: whether a backward would work, and why not."""

from __future__ import annotations

from grader.diagram import operation
from grader.graph import Graph, Named, Node

_NAMES = 3


def summary(graph: Graph) -> str:
    """One plain sentence about the first named tensor, the result; its names are harmless."""
    root = graph.tensors[0]
    if root.leaf:
        return _of_leaf(graph, root)
    if root.made_by is None:  # which an honest worker does not say, for it begins there
        return f"{root.name} is made by a node that is not shown."
    nodes = [graph.nodes[place] for place in sorted(graph.behind(root))]
    trouble = _freed(graph, nodes) or _stale(graph, nodes) or _unseen(graph)
    said = f"; {trouble}" if trouble else f", none freed or overwritten: {_reached(graph, nodes)}"
    return f"{_counted(graph, nodes)} behind {root.name}{said}."


def _of_leaf(graph: Graph, root: Named) -> str:
    cut = next((t for t in graph.tensors if graph.cut(t, root)), None)
    shares = f", though it shares memory with {cut.name}, which has one" if cut else ""
    if root.requires_grad:
        grad = "is set" if root.grad else "is None"
        return (
            f"{root.name} is a leaf without a history{shares}: a backward ends in it, and its .grad {grad}."
        )
    if root.version is None:
        return f"{root.name} is an inference tensor: it has no history, and can get none."
    return f"{root.name} has no history{shares}: no gradient travels back from it."


def _counted(graph: Graph, nodes: list[Node]) -> str:
    if graph.more and graph.total > len(graph.nodes):
        return "More than 5000 nodes" if graph.total >= 5000 else f"{graph.total} nodes"
    return "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"


def _freed(graph: Graph, nodes: list[Node]) -> str | None:
    """What is freed; where not all is shown, the worker's own count."""
    number = max(sum(node.is_freed for node in nodes), graph.freed if graph.more else 0)
    if not number:
        return None
    has = "has" if number == 1 else "have"
    return f"{number} of them {has} freed saved tensors: another backward through them would raise"


def _stale(graph: Graph, nodes: list[Node]) -> str | None:
    node = next((node for node in nodes if node.stale is not None), None)
    if node is None or node.stale is None:
        overwritten = "a saved tensor was overwritten: backward would raise"
        return overwritten if graph.more and graph.stale else None
    saved, name = node.stale, operation(node.op)
    if saved.state == "detached":
        return f"{name} saved {saved.name}, which was detached in place since: backward would raise"
    return (
        f"{name} saved {saved.name} at version {saved.then}, and it is at version {saved.now} now: "
        "backward would raise"
    )


def _unseen(graph: Graph) -> str | None:
    """A way past the version counter."""
    for one in graph.tensors:
        for other in graph.tensors:
            if graph.cut(one, other) == "data":
                return (
                    f"{other.name} is on the memory of {one.name} with a version counter of its own (.data), "
                    "so backward cannot notice what was written there"
                )
    return None


def _reached(graph: Graph, nodes: list[Node]) -> str:
    """Where a backward would arrive."""
    leaves = [node for node in nodes if node.leaf is not None]
    names = [graph.tensors[n.named].name for n in leaves if n.named is not None]
    if not leaves and not graph.more:
        return "backward would arrive at no leaf"
    if not names:
        return "backward would work"
    listed = ", ".join(names[:_NAMES])
    more = len(leaves) - len(names[:_NAMES])
    others = f" and {more} other {'leaf' if more == 1 else 'leaves'}" if more else ""
    return f"backward would work and reach {listed}{others}"
