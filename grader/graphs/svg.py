"""A diagram as SVG, laid out by Graphviz and written by us; and the legend of its shapes.

The SVG has no ids, scripts, links or style sheets, so several may stand in a page. It is drawn in
``currentColor`` with a few strokes that show on light and dark paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise

from grader.graphs.diagram import Box, Diagram, Line

_CHARACTER, _ROW, _SIZE = 7.4, 16.0, 12  # pixels: of a monospaced letter, of a row of text, of the font
_SMALLEST = 11  # pixels of the font on a narrow page, where what is wider is scrolled
_PADDING, _POINT, _MARGIN = 9.0, 72.0, 4.0  # Graphviz counts in inches of 72 points, which are our pixels
_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_BLUE, _RED, _ORANGE = "#2f7fd6", "#d1383f", "#c26a00"
_STROKES = {
    "result": 'stroke="currentColor" stroke-width="1.4" fill="none"',
    "leaf": f'stroke="{_BLUE}" stroke-width="2" fill="{_BLUE}" fill-opacity=".12"',
    "constant": 'stroke="currentColor" stroke-dasharray="5 4" stroke-opacity=".7" fill="none"',
    "op": 'stroke="currentColor" stroke-opacity=".7" fill="none"',
    "module": f'stroke="{_BLUE}" stroke-width="1.4" fill="{_BLUE}" fill-opacity=".06"',
    "freed": f'stroke="{_RED}" stroke-width="2.6" fill="{_RED}" fill-opacity=".14"',
    "stale": f'stroke="{_ORANGE}" stroke-width="2.6" stroke-dasharray="9 3" '
    f'fill="{_ORANGE}" fill-opacity=".14"',
}
_LINES = {
    "gradient": 'stroke-width="1.3"',
    "constant": 'stroke-width="1.1" stroke-dasharray="5 4" stroke-opacity=".75"',
    "memory": 'stroke-width="1.4" stroke-dasharray="1.5 4" stroke-linecap="round"',
}
_EFFORT = {"nslimit": "1", "nslimit1": "1", "mclimit": "0.2"}  # bounds what a hostile graph can cost
_MANY_LINES = 80  # more are drawn straight, because leading them around boxes takes most of the time
_IN_A_ROW = 6  # boxes without lines
_Point = tuple[float, float]


def svg(diagram: Diagram, label: str) -> str:
    """The diagram as an ``<svg>`` element; `label` describes it in a sentence, for screen readers."""
    width, height, centres, ways = _layout(diagram)
    parts = [_line(line, way) for line, way in zip(diagram.lines, ways, strict=True)]
    for box, centre in zip(diagram.boxes, centres, strict=True):
        words = "".join(_words(box, centre))
        parts.append(f'<g class="xray-{box.kind}">{_outline(box.kind, centre, *_size(box))}{words}</g>')
    left, across, down = -_MARGIN, width + 2 * _MARGIN, height + 2 * _MARGIN
    least = across * _SMALLEST / _SIZE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="xray" role="img" aria-label="{escape(label)}" '
        f'viewBox="{left:g} {left:g} {across:.0f} {down:.0f}" width="{across:.0f}" height="{down:.0f}" '
        f'style="max-width:100%;min-width:{least:.0f}px;height:auto" '
        f'font-family="{_FONT}" font-size="{_SIZE}" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )


def _sample(kind: str) -> str:
    """A small empty box or line of a kind, for the legend."""
    if kind in _LINES and kind not in _STROKES:  # where a box and a line have the same name, the box
        tip = '<path d="M32 7l-8-4v8z"/>' if kind == "gradient" else ""
        inner = f'<path d="M2 7H{24 if tip else 32}" fill="none" stroke="currentColor" {_LINES[kind]}/>{tip}'
    else:
        inner = _outline(kind, (17.0, 7.0), 30, 11)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 34 14" width="34" height="14" '
        'aria-hidden="true" aria-label="" fill="currentColor">'
        f"{inner}</svg>"
    )


def _size(box: Box) -> _Point:
    """Width and height of a box in pixels."""
    width = max(map(len, box.words)) * _CHARACTER + 2 * _PADDING
    slanted = {"freed": 14, "stale": 14, "leaf": 8, "result": 8, "module": 8}.get(box.kind, 0)
    return round(width + slanted, 1), round(len(box.words) * _ROW + 10, 1)


def _layout(diagram: Diagram) -> tuple[float, float, list[_Point], list[list[_Point]]]:
    """Graphviz's layout: the paper's width and height, the centres of boxes, and the points of lines."""
    from pygraphviz import AGraph  # type: ignore[import-untyped]  # noqa: PLC0415 - 0.15 s

    splines = "line" if len(diagram.lines) > _MANY_LINES else "true"
    paper = AGraph(directed=True, rankdir="TB", nodesep="0.22", ranksep="0.32", splines=splines, **_EFFORT)
    paper.node_attr.update(label="", shape="box", fixedsize="true")
    paper.edge_attr.update(dir="none")
    for index, box in enumerate(diagram.boxes):
        width, height = _size(box)
        paper.add_node(index, width=f"{width / _POINT:.4f}", height=f"{height / _POINT:.4f}")
    for line in diagram.lines:
        paper.add_edge(line.start, line.end)
    tied = {index for line in diagram.lines for index in (line.start, line.end)}
    loose = [index for index in range(len(diagram.boxes)) if index not in tied]
    for above, below in zip(loose, loose[_IN_A_ROW:], strict=False):
        paper.add_edge(above, below, style="invis")
    drawn = paper.draw(format="plain", prog="dot").decode("ascii")  # rows of words; y grows upwards
    width = height = 0.0
    centres: dict[int, _Point] = {}
    ways: dict[tuple[int, int], list[_Point]] = {}

    def point(x: str, y: str) -> _Point:
        return round(float(x) * _POINT, 1), round(height - float(y) * _POINT, 1)

    for kind, *words in map(str.split, drawn.splitlines()):
        if kind == "graph":
            width, height = float(words[1]) * _POINT, float(words[2]) * _POINT
        elif kind == "node":
            centres[int(words[0])] = point(words[1], words[2])
        elif kind == "edge":
            numbers = words[3 : 3 + 2 * int(words[2])]
            ways[int(words[0]), int(words[1])] = [
                point(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)
            ]
    lines = [ways[line.start, line.end] for line in diagram.lines]
    return width, height, [centres[index] for index in range(len(diagram.boxes))], lines


def _line(line: Line, way: list[_Point]) -> str:
    start, *rest = way
    curve = f"M{_at(start)}C{' '.join(map(_at, rest))}"
    drawn = f'<path d="{curve}" fill="none" stroke="currentColor" {_LINES[line.style]}/>'
    if line.style == "gradient":
        drawn += f'<path d="{_tip(way)}"/>'
    return drawn


def _tip(way: list[_Point]) -> str:
    """An arrow's head: at the end of its way, and as steep."""
    end = way[-1]
    before = next((start for start, stop in reversed([*pairwise(way)]) if start != stop), way[0])
    across, down = end[0] - before[0], end[1] - before[1]
    length = (across**2 + down**2) ** 0.5 or 1.0
    across, down = across / length, down / length
    foot = end[0] - 8 * across, end[1] - 8 * down
    left = foot[0] - 3.6 * down, foot[1] + 3.6 * across
    right = foot[0] + 3.6 * down, foot[1] - 3.6 * across
    return f"M{_at(end)}L{_at(left)} {_at(right)}Z"


def _at(point: _Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def _words(box: Box, centre: _Point) -> Iterator[str]:
    top = centre[1] - (len(box.words) - 1) * _ROW / 2 + _SIZE * 0.35
    style = ' font-style="italic"' if box.kind == "note" else ""
    for row in range(len(box.words)):
        position = f'x="{centre[0]:.1f}" y="{top + row * _ROW:.1f}" text-anchor="middle"'
        name, rest = box.name_in(row)
        bold = f'<tspan font-weight="bold">{escape(name)}</tspan>' if name else ""
        yield f"<text {position}{style}>{bold}{escape(rest)}</text>"


def _outline(kind: str, centre: _Point, width: float, height: float) -> str:
    """A box's shape: a stadium is a leaf, a hexagon is in trouble, side lines mean a name."""
    if kind == "note":
        return ""
    stroke = _STROKES[kind]
    x, y = centre[0] - width / 2, centre[1] - height / 2
    if kind in {"freed", "stale"}:
        slant, right, bottom = min(10.0, width / 4), x + width, y + height
        corners = [(x + slant, y), (right - slant, y), (right, centre[1]), (right - slant, bottom)]
        corners += [(x + slant, bottom), (x, centre[1])]
        return f'<path d="M{"L".join(map(_at, corners))}Z" {stroke}/>'
    round_ = {"leaf": min(height / 2, 16.0), "op": min(height / 2, 7.0)}.get(kind, 0)
    shape = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round_:g}" {stroke}/>'
    )
    if kind == "result":
        sides = "".join(f"M{side:.1f},{y:.1f}v{height:.1f}" for side in (x + 4, x + width - 4))
        shape += f'<path d="{sides}" {stroke}/>'
    if kind == "module":
        inner = f'x="{x + 3:.1f}" y="{y + 3:.1f}" width="{width - 6:.1f}" height="{height - 6:.1f}"'
        shape += f"<rect {inner} {stroke}/>"
    return shape


_WORDS = {
    "gradient": "how gradients flow",
    "result": "a non-leaf, and the operation that made it",
    "op": "an operation",
    "leaf": "a leaf; its gradients accumulate in .grad",
    "constant": "a tensor without a graph; a dashed line leads to the operation that used it",
    "freed": "saved tensors freed by a backward",
    "stale": "a saved tensor was overwritten (v: version counter)",
    "memory": "shared storage; crossed out if only one side has a graph",
}

LEGEND_HTML = (
    '<ul class="xray-legend" style="list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2em 1.2em">'
    + "".join(f"<li>{_sample(kind)} {words}</li>" for kind, words in _WORDS.items())
    + "<li><strong>w</strong> 3x4: a tensor and its shape</li></ul>"
)
LEGEND_MARKDOWN = (
    "Arrows show how gradients flow. A box with double sides is a non-leaf and the operation that made it; a "
    "rounded box is a leaf; a dashed box has no graph; a hexagon is an operation whose saved tensors were "
    "freed or overwritten; a dotted line joins tensors that share storage. The shape follows the tensor's "
    "name."
)
