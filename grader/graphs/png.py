"""A picture as PNG, for notebooks, which show no SVG everywhere.

The letters are those of a font that comes with matplotlib, so that the file is the same on every machine.
"""

from __future__ import annotations

import re
from functools import cache
from io import BytesIO
from pathlib import Path

_ZOOM = 2  # pixels of the file for one of the page: letters stay sharp on a fine screen
_COLOURS = 32  # of line art with smooth edges; the file is a third of what it would be
_INK, _PAPER = "#1a1a1a", "#ffffff"


def png(svg: str) -> bytes:
    """An ``<svg>`` of ours as a PNG file, dark on white.

    Args:
        svg: as ``grader.graphs.svg`` writes it.
    """
    import resvg_py  # noqa: PLC0415 - instructors have it
    from PIL import Image  # noqa: PLC0415 - comes with matplotlib

    drawn = resvg_py.svg_to_bytes(
        svg_string=svg.replace("currentColor", _INK),
        background=_PAPER,
        zoom=_ZOOM,
        skip_system_fonts=True,
        font_files=_fonts(),
        monospace_family="DejaVu Sans Mono",
    )
    file = BytesIO()
    Image.open(BytesIO(bytes(drawn))).convert("RGB").quantize(_COLOURS).save(file, "PNG", optimize=True)
    return file.getvalue()


def width_of(svg: str) -> int:
    """How many pixels of a page an ``<svg>`` of ours is wide."""
    found = re.search(r' width="(\d+)', svg)
    return int(found[1]) if found else 0


@cache
def _fonts() -> list[str]:
    import matplotlib as mpl  # noqa: PLC0415

    folder = Path(mpl.__file__).parent / "mpl-data" / "fonts" / "ttf"
    return [str(folder / f"DejaVuSansMono{face}.ttf") for face in ("", "-Bold")]
