"""Removes a worker's access: Landlock allows reading a few files, and its user has no rights.

A worker of root's becomes a user of its own (uid 0x70000000 + pid, where the system has so many): the kernel
counts threads by user, and if all had the same user a notebook's threads could starve the others. Where
that user could not read the standard library (Python may live below a folder that only root can enter, as
`/root/.pyenv`), and Landlock bounds what can be read, the worker keeps ``CAP_DAC_READ_SEARCH`` and nothing
else.
"""

import contextlib
import fcntl
import os
import site
import stat
import struct
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .syscalls import syscall

_VERSION = 1  # LANDLOCK_CREATE_RULESET_VERSION
_PATH_BENEATH = 1  # LANDLOCK_RULE_PATH_BENEATH
_QUIET = 1  # LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF: a loop of refusals must not fill the audit log

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_DEVICES = {"/dev/null": _READ_FILE | _WRITE_FILE, "/dev/urandom": _READ_FILE}
_FIRST_DESCRIPTOR = 200  # out of the way of the small numbers to which a child moves its pipes

_SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"),
    *("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo"),
)


def landlock_version() -> int:
    """The version of Landlock this kernel offers, 0 if there is none (or a container forbids it)."""
    with contextlib.suppress(OSError):
        return syscall("landlock_create_ruleset", None, 0, _VERSION)
    return 0


class Ruleset:
    """The files that may be read, prepared before the fork; `enforce` is irrevocable.

    Everything that Landlock can deny is denied: only reading below the paths given, and /dev/null, remain.
    """

    def __init__(self, readable: Sequence[str]) -> None:
        """Open the ruleset for folders (with all below them) and files; OSError if that fails."""
        version = landlock_version()
        self._flags = _QUIET if version >= 7 else 0
        files = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1  # every right there is on files
        network = 0b11 if version >= 4 else 0  # bind and connect TCP
        scopes = 0b11 if version >= 6 else 0  # abstract Unix sockets, signals
        # The kernel takes a longer structure than it knows as long as the rest is zero.
        attributes = struct.pack("=QQQ", files, network, scopes)
        opened = syscall("landlock_create_ruleset", attributes, len(attributes), 0)
        self.descriptor = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR)
        os.close(opened)
        for path in readable:
            self._allow(path, _READ_FILE | _READ_DIR)
        for path, rights in _DEVICES.items():
            self._allow(path, rights)

    def _allow(self, path: str, rights: int) -> None:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                rights &= ~_READ_DIR
            rule = struct.pack("=Qi", rights, descriptor)
            syscall("landlock_add_rule", self.descriptor, _PATH_BENEATH, rule, 0)
        finally:
            os.close(descriptor)

    def enforce(self) -> None:
        """Confine this process and all it will ever start; wants no_new_privs first. OSError if refused."""
        syscall("landlock_restrict_self", self.descriptor, self._flags)
        os.close(self.descriptor)


def readable_paths() -> list[str]:
    """Python's library, its installed packages and the system's shared libraries: lazy imports work.

    No project shows. A virtual environment lies inside a project, so only its `site-packages` is named; what
    an editable install points at is not named either.
    """
    base = sys.base_prefix
    candidates = [
        *(f"{base}/lib", f"{base}/{sys.platlibdir}"),
        sysconfig.get_path("stdlib"),
        *site.getsitepackages([sys.prefix, base]),
        *([site.getusersitepackages()] if site.ENABLE_USER_SITE else []),
        *_SYSTEM,
    ]
    return [path for path in dict.fromkeys(candidates) if os.access(path, os.R_OK)]


# Giving up root, and every capability but that without which nothing can be read.

_NOBODY = 65534
# A user for each process number there can be; no system gives these to people, services or containers.
_OWN_USERS = range(0x7000_0000, 0x7000_0000 + (1 << 22) + 1)
_PR_SET_KEEPCAPS = 8
_CAPABILITY_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3: two words for each set

#: Capabilities that let a process read what permission bits forbid, by their bits, the weaker first. The
#: other is what a container's root has; Landlock takes the writing from it.
_READING = {1 << 2: "CAP_DAC_READ_SEARCH", 1 << 1: "CAP_DAC_OVERRIDE"}


class Privileges:
    """Gives up the grader's privileges that student code must not have; prepared before the fork."""

    def __init__(self, readable: Sequence[str], *, landlocked: bool) -> None:
        self._is_root = 0 in os.getresuid()
        self._first_user = _OWN_USERS.start if self._is_root and _exist(_OWN_USERS) else None
        needed = self._is_root and landlocked and not all(map(_is_open_to_all, readable))
        self._reading = _reading_capability() if needed else 0
        self._header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
        self._sets = struct.pack("=6I", self._reading, self._reading, 0, 0, 0, 0)

    @property
    def user_of_its_own(self) -> bool:
        """Whether every worker becomes another user, so that limits per user are limits per worker."""
        return self._first_user is not None

    def shed(self) -> None:
        """If root, become a user who owns nothing; drop all capabilities but the one for reading, for good.

        The bounding set is left alone: nothing can be gained from it without exec. OSError if this root
        may not change its uid (a container without CAP_SETUID, say).
        """
        if self._is_root:
            syscall("prctl", _PR_SET_KEEPCAPS, int(bool(self._reading)), 0, 0, 0)
            user = _NOBODY if self._first_user is None else self._first_user + os.getpid()
            try:
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
            except OSError as error:
                reason = "root may not become another user in this container: grade as an unprivileged user"
                raise OSError(error.errno, reason) from error
        syscall("capset", self._header, self._sets)

    def describe(self) -> dict[str, Any]:
        """For JSON: the user as whom children run, and the capability that they keep."""
        user = "another" if self.user_of_its_own else "nobody" if self._is_root else "same"
        return {"user": user, "uid": os.getuid(), "kept": _READING.get(self._reading)}


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
    return next((bit for bit in _READING if held & bit), 0)


def _is_open_to_all(path: str) -> bool:
    """Whether a user who owns nothing can reach and read `path`, by the permission bits."""
    for named in {Path(path).absolute(), Path(path).resolve()}:
        mode = named.stat().st_mode
        wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
        passable = all(folder.stat().st_mode & stat.S_IXOTH for folder in named.parents)
        if not passable or mode & wanted != wanted:
            return False
    return True
