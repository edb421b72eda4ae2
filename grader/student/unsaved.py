"""Detects whether a notebook that is open in Jupyter is newer than its file.

A check in a kernel notes which cell it was about and when that ran, beside the older versions that Jupyter
keeps. A file that was saved before, and holds no such cell, is not what was checked. Of what was not checked
nothing is known, and nothing is said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from grader.files import write_atomic
from grader.student.notebook import StudentNotebook

CHECKPOINTS = ".ipynb_checkpoints"  # Jupyter's own folder


def note_check(path: Path, question: str, source: str, ended: float) -> None:
    """Note the cell that a check of a question was about, and when it ran, in seconds since the epoch."""
    if path.is_file():
        noted = {**_noted(path), question: [source, ended]}
        with suppress(OSError):  # it is only a help
            write_atomic(_notes_of(path), json.dumps(noted).encode())


def unsaved_line(notebook: StudentNotebook) -> str | None:
    """The advice if Jupyter has newer code than the file; None if that is unknown."""
    path, cells = notebook.document.path, {cell.source.strip() for cell in notebook.code}
    try:
        saved = path.stat().st_mtime
    except OSError:
        return None
    newer, notes = [], _noted(path)
    for question in notebook.questions:
        match notes.get(question.id):
            case [str(source), float(ended)] if ended > saved and source.strip() not in cells:
                newer.append(question.id)
    if not newer:
        return None
    return (
        f"Not saved since: in Jupyter you checked other code of {', '.join(newer)} than {notebook.name} has."
        " Save the notebook there, if it is still open."
    )


def _notes_of(path: Path) -> Path:
    return path.parent / CHECKPOINTS / f"{path.stem}.checked.json"


def _noted(path: Path) -> Mapping[str, object]:
    """The notes by question; empty if there is no such file, or another one."""
    try:
        noted = json.loads(_notes_of(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return noted if isinstance(noted, dict) else {}
