"""What an autograd graph shows, in a sentence: whether a backward would work, and why not."""

from __future__ import annotations

import re

from grader.graphs.diagram import operation
from grader.graphs.model import MOST, Graph, Named, Node

_REACHED, _MISSED = 3, 2  # names that are listed
_OF_PYTHON = re.compile(r"Backward$")  # torch numbers its own nodes: MulBackward0


def summary(graph: Graph) -> str:
    """A plain sentence about the first named tensor, the result; its names are harmless."""
    root = graph.tensors[0]
    if root.leaf:
        return _of_leaf(graph, root)
    if root.made_by is None:  # which an honest worker does not say, for it begins there
        return f"{root.name} is made by a node that is not shown."
    nodes = [graph.nodes[index] for index in sorted(graph.behind(root))]
    counted = f"{_counted(graph)} behind {root.name}"
    trouble = _freed(graph, nodes) or _stale(graph, nodes) or _unseen(graph)
    if trouble:
        return f"{counted}; {trouble}."
    if graph.total > MOST:
        return (
            f"{counted}; none of the nearest {MOST} is freed or overwritten that autograd knows of, and the "
            "rest was not looked at."
        )
    custom = next((node for node in nodes if _OF_PYTHON.search(node.op)), None)
    if custom is not None:
        return (
            f"{counted}, none freed or overwritten that autograd knows of; what the backward of "
            f"{operation(custom.op)} does is Python's own, and not to be seen here."
        )
    return f"{counted}, none freed or overwritten that autograd knows of: {_reached(graph, nodes)}."


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


def _counted(graph: Graph) -> str:
    if graph.total > MOST:
        return f"More than {MOST} nodes"
    return "1 node" if graph.total == 1 else f"{graph.total} nodes"


def _freed(graph: Graph, nodes: list[Node]) -> str | None:
    """What is freed, by the worker's own count, which goes beyond what is shown."""
    number = max(sum(node.is_freed for node in nodes), graph.freed)
    if not number:
        return None
    has, least = "has" if number == 1 else "have", "at least " if graph.total > MOST else ""
    return f"{least}{number} of them {has} freed saved tensors: another backward through them would raise"


def _stale(graph: Graph, nodes: list[Node]) -> str | None:
    node = next((node for node in nodes if node.stale is not None), None)
    if node is None or node.stale is None:
        overwritten = "a saved tensor was overwritten: backward would raise"
        return overwritten if graph.stale else None
    saved, name = node.stale, operation(node.op)
    if saved.state == "detached":
        return f"{name} saved {saved.name}, which was detached in index since: backward would raise"
    return (
        f"{name} saved {saved.name} at version {saved.then}, and it is at version {saved.now} now: "
        "backward would raise"
    )


def _unseen(graph: Graph) -> str | None:
    """A way past the version counter."""
    for tensor in graph.tensors:
        for leaf in graph.tensors:
            if graph.cut(tensor, leaf) == "data":
                return (
                    f"{leaf.name} is on the memory of {tensor.name} with a version counter of its own"
                    " (.data), so backward cannot notice what was written there"
                )
    return None


def _reached(graph: Graph, nodes: list[Node]) -> str:
    """Where a backward would arrive, and at which named leaves it would not."""
    leaves = [node for node in nodes if node.leaf is not None]
    named = [node.named for node in leaves if node.named is not None]
    sentence = "backward would work" if leaves or graph.more else "backward would arrive at no leaf"
    if named:
        sentence += f" and reach {', '.join(graph.tensors[index].name for index in named[:_REACHED])}"
        more = len(leaves) - len(named[:_REACHED])
        if more:
            others = "other leaves" if graph.more else f"{more} other {'leaf' if more == 1 else 'leaves'}"
            sentence += f" and {others}"
    missed = _missed(graph, named)
    return f"{sentence}, and would not reach {missed}" if missed else sentence


def _missed(graph: Graph, reached: list[int]) -> str:
    """The named leaves that no gradient would reach; of a graph that is not shown in full, none."""
    if graph.more:
        return ""
    names = [
        tensor.name
        for index, tensor in enumerate(graph.tensors)
        if tensor.leaf and tensor.requires_grad and tensor.same is None and index not in reached
    ]
    more = len(names) - _MISSED
    return " or ".join(names) if more <= 0 else f"{', '.join(names[:_MISSED])} or {more} more"
