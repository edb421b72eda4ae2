"""Outside: files that are complete or not there, whatever stops who writes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

_numbers = count()


def write_complete(path: Path, content: bytes, *, unfinished: Path | None = None) -> None:
    """Write a file, in the place of the one that is there, in folders that are made where they are missing.

    Args:
        path: the file; a link of that name is replaced, and not followed.
        content: all of it.
        unfinished: the temporary name, on the same disk; None for one beside the file.

    Raises:
        OSError: it cannot be written; the file is as before, and nothing else is there.
    """
    with replacing(path, unfinished) as place:
        place.write_bytes(content)


def write_new(path: Path, content: bytes) -> None:
    """Write a file that is not there, and never over another.

    Raises:
        FileExistsError: it is there; ``filename2`` is its path.
        OSError: it cannot be written, and is not there.
    """
    with _temporary(path) as place:
        place.write_bytes(content)
        os.link(place, path)  # unlike a rename this refuses to replace anything


@contextmanager
def replacing(path: Path, unfinished: Path | None = None) -> Iterator[Path]:
    """A temporary name; what is written there takes the file's place at the end, unless an error is raised.

    Args:
        path: the file.
        unfinished: the temporary name, on the same disk; None for one beside the file.
    """
    with _temporary(path, unfinished) as place:
        yield place
        place.replace(path)


@contextmanager
def _temporary(path: Path, unfinished: Path | None = None) -> Iterator[Path]:
    """A name at which nothing is, neither before nor after."""
    path.parent.mkdir(parents=True, exist_ok=True)
    place = unfinished or path.with_name(f".unfinished-{os.getpid()}-{next(_numbers)}")
    try:
        place.unlink(missing_ok=True)  # of a run that was killed; or a link, which nobody shall follow
        yield place
    finally:
        with suppress(OSError):
            place.unlink(missing_ok=True)
