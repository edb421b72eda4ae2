"""Giving up root, and every capability but that without which nothing can be read.

A worker of root's becomes a user of its own (uid 0x70000000 + pid, where the system has so many): the kernel
counts threads by user, and if all had the same user a notebook's threads could starve the others. Where
that user could not read the standard library (Python may live below a folder that only root can enter), and
Landlock bounds what can be read, the worker keeps ``CAP_DAC_READ_SEARCH`` and nothing else.
"""

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .landlock import open_to_all
from .syscalls import syscall

_NOBODY = 65534
# One for each process number there can be; no system gives these to people, services or containers.
_OWN_USERS = range(0x7000_0000, 0x7000_0000 + (1 << 22) + 1)
_PR_SET_KEEPCAPS = 8
_CAPABILITY_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3: two words for each set

# Bits of the capabilities that let a process read what permission bits forbid, the weaker one first.
# The other is what a container's root has; Landlock takes the writing from it.
_READ_SEARCH, _OVERRIDE = 1 << 2, 1 << 1


class Privileges:
    """How to give up what the grader may and student code must not, prepared before the fork.

    The user "nobody" cannot read Python below a private home (`/root/.pyenv`). Where Landlock bounds what
    can be read at all, a capability stays for that; elsewhere none does.
    """

    def __init__(self, readable: Sequence[str], *, landlocked: bool) -> None:
        self._is_root = 0 in os.getresuid()
        self._first_user = _OWN_USERS.start if self._is_root and _exist(_OWN_USERS) else None
        needed = self._is_root and landlocked and not all(map(open_to_all, readable))
        self._kept = _reading_capability() if needed else 0
        self._header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
        self._sets = struct.pack("=6I", self._kept, self._kept, 0, 0, 0, 0)

    @property
    def user_of_its_own(self) -> bool:
        """Whether every worker becomes another user, so that limits per user are limits per worker."""
        return self._first_user is not None

    def shed(self) -> None:
        """Become a user who owns nothing when root, and drop all capabilities but the kept, for good.

        The bounding set is left alone: nothing can be gained from it without exec. OSError where this root
        may not change its uid (a container without CAP_SETUID, say).
        """
        if self._is_root:
            syscall("prctl", _PR_SET_KEEPCAPS, int(bool(self._kept)), 0, 0, 0)
            try:
                self._become_another()
            except OSError as error:
                reason = "root may not become another user in this container: grade as an ordinary user"
                raise OSError(error.errno, reason) from error
        syscall("capset", self._header, self._sets)

    def _become_another(self) -> None:
        user = _NOBODY if self._first_user is None else self._first_user + os.getpid()
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)

    def describe(self) -> dict[str, Any]:
        """As plain data: as whom children run and what they keep."""
        user = "another" if self.user_of_its_own else "nobody" if self._is_root else "same"
        kept = {_READ_SEARCH: "CAP_DAC_READ_SEARCH", _OVERRIDE: "CAP_DAC_OVERRIDE"}
        return {"user": user, "uid": os.getuid(), "kept": kept.get(self._kept)}


def _exist(users: range) -> bool:
    """Whether these numbers are users and groups here: a container may have some thousands only."""
    return all(
        any(first <= users.start and users.stop <= first + count for first, _, count in _mapped(kind))
        for kind in ("uid", "gid")
    )


def _mapped(kind: str) -> list[tuple[int, ...]]:
    lines = Path(f"/proc/self/{kind}_map").read_text(encoding="ascii").splitlines()
    return [tuple(map(int, line.split())) for line in lines]


def _reading_capability() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    held = next(int(line.split()[1], 16) for line in status if line.startswith("CapPrm:"))
    return next((bit for bit in (_READ_SEARCH, _OVERRIDE) if held & bit), 0)
