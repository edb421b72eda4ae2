"""Landlock, which leaves a process nothing of the file system but a few readable paths."""

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

from .syscalls import syscall

_VERSION = 1  # LANDLOCK_CREATE_RULESET_VERSION
_PATH_BENEATH = 1  # LANDLOCK_RULE_PATH_BENEATH
_QUIET = 1  # LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF: a loop of refusals must not fill the audit log

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_DEVICES = {"/dev/null": _READ_FILE | _WRITE_FILE, "/dev/urandom": _READ_FILE}

# Out of the way of the small numbers a child moves its pipes to.
_FIRST_DESCRIPTOR = 200


def abi() -> int:
    """The version of Landlock this kernel offers, 0 where there is none (or a container forbids it)."""
    with contextlib.suppress(OSError):
        return syscall("landlock_create_ruleset", None, 0, _VERSION)
    return 0


def handled(version: int) -> tuple[int, int, int]:
    """Every right that `version` can take away: on files, on the network, and across the border."""
    file_rights = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    network = 0b11 if version >= 4 else 0  # bind and connect TCP
    scopes = 0b11 if version >= 6 else 0  # abstract Unix sockets, signals
    return (1 << file_rights) - 1, network, scopes


class Ruleset:
    """What may be read, prepared before the fork; `enforce` is irrevocable.

    Everything that Landlock can deny is denied: only reading below the paths given, and /dev/null, remain.
    """

    def __init__(self, readable: Sequence[str]) -> None:
        """Open the ruleset for folders (with all below them) and files; OSError where that fails."""
        self._flags = _QUIET if abi() >= 7 else 0
        # The kernel takes a longer structure than it knows as long as the rest is zero.
        attributes = struct.pack("=QQQ", *handled(abi()))
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


# Which files a confined child may read: lazy imports work, and no project shows.

_SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"),
    *("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo"),
)


def readable_paths() -> list[str]:
    """What there is of Python's library, its installed packages and the system's shared libraries.

    A virtual environment lies inside a project, so only its `site-packages` is named, never the folder
    itself; what an editable install points at is not named either.
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


def open_to_all(path: str) -> bool:
    """Whether a user who owns nothing can reach and read `path`, by the permission bits."""
    named = Path(path).absolute()
    return all(_granted(path) for path in {named, named.resolve()})


def _granted(path: Path) -> bool:
    mode = path.stat().st_mode
    wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    passable = all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents)
    return passable and mode & wanted == wanted
