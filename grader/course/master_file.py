"""Outside: the cells of a master, as jupytext reads them.

To import jupytext and to read a master takes half a second. An author looks at one question again and again,
so where the doctor remembers anything, it is remembered too what a master's text was read as.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from grader.memory import FOLDER, Memory


def cells_of_master(path: Path, text: str) -> list[dict[str, Any]]:
    """The cells of a master: of each ``cell_type``, ``source`` and ``metadata``.

    Args:
        path: the master, `solutions/NN_name.py`.
        text: what stands in it.
    """
    folder = path.parent.parent / FOLDER
    memory = Memory(folder / f"{path.stem}.master.json" if folder.is_dir() else None)
    key = sha256(f"{version('jupytext')}\n{text}".encode()).hexdigest()
    cells: list[dict[str, Any]] | None = memory.recall(key)
    if cells is None:
        cells = _read(text)
        memory.remember(key, cells)
        with suppress(OSError):  # a folder that cannot be written to only costs the half second again
            memory.save(everything=True)
    return cells


def _read(text: str) -> list[dict[str, Any]]:
    import jupytext  # type: ignore[import-untyped]  # noqa: PLC0415 - half a second, and often all is known

    parts = ("cell_type", "source", "metadata")
    return [{part: cell[part] for part in parts} for cell in jupytext.reads(text, fmt="py:percent").cells]
