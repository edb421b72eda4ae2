"""An autograd graph shown: SVG for pages, Mermaid for texts, PNG for notebooks, and a sentence.

The sentence says whether a backward would work, and why not.
"""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path

from grader.graphs.diagram import Box, Diagram, diagram_of, operation
from grader.graphs.model import MOST, Graph, Named, Node
from grader.graphs.svg import svg

_SHAPES = {
    "result": ("[[", "]]"),
    "leaf": ("([", "])"),
    "constant": ("[", "]"),
    "op": ("(", ")"),
    "freed": ("{{", "}}"),
    "stale": ("{{", "}}"),
    "module": ("[", "]"),
    "note": (">", "]"),
}
_LINES = {"gradient": "-->", "constant": "-.->", "memory": "-.-"}
_CLASSES = {
    "leaf": "stroke:#2f7fd6,stroke-width:2px",
    "constant": "stroke:#888,stroke-dasharray:5 4",
    "freed": "stroke:#d1383f,stroke-width:3px",
    "stale": "stroke:#c26a00,stroke-width:3px,stroke-dasharray:8 3",
    "module": "stroke:#2f7fd6,stroke-width:3px",
    "note": "stroke:#888,stroke-dasharray:2 3",
}
_ZOOM = 2  # pixels of the file for one of the page: letters stay sharp on a fine screen
_COLOURS = 32  # of line art with smooth edges; the file is a third of what it would be
_INK, _PAPER = "#1a1a1a", "#ffffff"
#: A browser draws an image in the color scheme of the page around it. Where that is unknown, paper is white.
_SCHEMES = (
    f"<style>svg{{color:{_INK}}}"
    "@media (prefers-color-scheme:dark){svg{color:#e6edf3}.paper{fill:none}}</style>"
)
_REACHED, _MISSED = 3, 2  # names that a sentence lists
_SVG = re.compile("<svg(?P<attributes>.*?)>.*?</svg>", re.DOTALL)
_OF_PYTHON = re.compile(r"Backward$")  # torch numbers its own nodes: MulBackward0


@dataclass(frozen=True)
class Picture:
    """An autograd graph, drawn."""

    caption: str  # the author's description
    summary: str  # its content in a sentence
    svg: str  # an ``<svg>`` element, safe to put into a page as it is, on light and dark paper
    mermaid: str  # the text inside a ``mermaid`` fence
    reference: Picture | None = None  # the reference's, where its author allows to show it and it differs
    is_the_references: bool = False  # whether it is the same as the reference's, where that may be known


def draw(graph: Graph, caption: str, shown: Graph | None = None) -> Picture:
    """A graph as a picture; `shown` is the drawn part of a large graph. The sentence describes all of it."""
    diagram, sentence = diagram_of(shown or graph), summary(graph)
    return Picture(caption, sentence, svg(diagram, sentence), mermaid(diagram))


def mermaid(diagram: Diagram) -> str:
    """A diagram as the text of a Mermaid flowchart, without the fence around it."""
    lines = ["flowchart TB"]
    lines += [f"  n{index}{_shaped(box)}" for index, box in enumerate(diagram.boxes)]
    lines += [f"  n{line.start} {_LINES[line.style]} n{line.end}" for line in diagram.lines]
    for kind, style in _CLASSES.items():
        members = ",".join(f"n{index}" for index, box in enumerate(diagram.boxes) if box.kind == kind)
        if members:
            lines += [f"  classDef {kind} {style}", f"  class {members} {kind}"]
    return "\n".join(lines)


def _shaped(box: Box) -> str:
    opening, closing = _SHAPES[box.kind]
    parts = map(box.name_in, range(len(box.words)))
    words = [f"<b>{_text(name)}</b>{_text(rest)}" if name else _text(rest) for name, rest in parts]
    return f'{opening}"{"<br/>".join(words)}"{closing}'


def _text(word: str) -> str:
    """A word in quotes, which is plain text to Mermaid but for these characters."""
    return word.replace("&", "#amp;").replace("<", "#lt;").replace('"', "#quot;").replace("`", "'")


def on_paper(svg: str) -> str:
    """An ``<svg>`` of ours as a file of its own: dark on white."""
    return _with_paper(svg.replace("currentColor", _INK), f'fill="{_PAPER}"')


def _with_paper(svg: str, look: str, style: str = "") -> str:
    """An ``<svg>`` of ours with a style sheet, and a rectangle behind everything."""
    start, rest = svg.split(">", 1)
    left = re.search(r'viewBox="(\S+) (\S+)', start)
    corner = f'x="{left[1]}" y="{left[2]}"' if left else ""
    return f'{start}>{style}<rect {corner} width="100%" height="100%" {look}/>{rest}'


def as_images(html: str) -> str:
    """HTML with each ``<svg>`` of ours as an image, which JupyterLab also shows in an untrusted notebook.

    On a page whose color scheme is dark, the images are light on the page's own background.
    """
    return _SVG.sub(_image, html)


def _image(svg: re.Match[str]) -> str:
    data = b64encode(_with_paper(svg[0], f'class="paper" fill="{_PAPER}"', _SCHEMES).encode()).decode()
    attributes = svg["attributes"].replace("aria-label=", "alt=")
    return f'<img src="data:image/svg+xml;base64,{data}"{attributes}>'


def png(svg: str) -> bytes:
    """An ``<svg>`` of ours as a PNG file; the same on every machine, by matplotlib's font."""
    import resvg_py  # noqa: PLC0415 - instructors have it
    from PIL import Image  # noqa: PLC0415 - comes with matplotlib

    drawn = resvg_py.svg_to_bytes(
        svg_string=on_paper(svg),
        zoom=_ZOOM,
        skip_system_fonts=True,
        font_files=_fonts(),
        monospace_family="DejaVu Sans Mono",
    )
    file = BytesIO()
    Image.open(BytesIO(bytes(drawn))).convert("RGB").quantize(_COLOURS).save(file, "PNG", optimize=True)
    return file.getvalue()


def width_of(svg: str) -> int:
    """The width of an ``<svg>`` of ours in pixels of a page."""
    width = re.search(r' width="(\d+)', svg)
    return int(width[1]) if width else 0


@cache
def _fonts() -> list[str]:
    import matplotlib as mpl  # noqa: PLC0415

    folder = Path(mpl.__file__).parent / "mpl-data" / "fonts" / "ttf"
    return [str(folder / f"DejaVuSansMono{face}.ttf") for face in ("", "-Bold")]


def summary(graph: Graph) -> str:
    """A plain sentence about the first named tensor, the result; the names in it are harmless."""
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
            f"{counted}, none freed or overwritten that autograd knows of; the backward of "
            f"{operation(custom.op)} is Python code, which the graph does not show."
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
        return f"{root.name} is an inference tensor, which autograd never connects to a graph."
    return f"{root.name} is not connected to a graph{shares}, so no gradient flows back from it."


def _counted(graph: Graph) -> str:
    if graph.total > MOST:
        return f"More than {MOST} nodes"
    return "1 node" if graph.total == 1 else f"{graph.total} nodes"


def _freed(graph: Graph, nodes: list[Node]) -> str | None:
    """A clause about freed nodes; the worker's own count includes nodes that are not shown."""
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
    """A clause about the leaves that a backward would reach, and the named leaves that it would not."""
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
