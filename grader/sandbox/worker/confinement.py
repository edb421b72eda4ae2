"""The sandbox: the zygote prepares it once, and every forked child enters it for good."""

import contextlib
import os
import platform
import resource
import signal
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from . import access, seccomp, syscalls
from .syscalls import syscall

SandboxName = Literal["landlock+seccomp", "sealed seccomp", "none"]

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_DESCRIPTORS = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
_MOST_DESCRIPTORS = 64
# The kernel counts threads by user: machine code can start threads that cost no memory, and would soon hold
# every process number of the machine. A user shared with other workers, or with a person, needs more room.
_MOST_TASKS_OF_WORKER = 128
_MOST_TASKS_SHARED = 8192


class SandboxError(Exception):
    """No sandbox can be built or entered here; the text says why."""


@dataclass(frozen=True, slots=True)
class _Walls:
    """The layers besides limits, in the order in which they are entered."""

    privileges: access.Privileges
    ruleset: access.Ruleset | None
    filter: seccomp.Filter


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A way into confinement: everything that can be made before the fork has been made.

    `protection` names the sandbox in force: "landlock+seccomp", "sealed seccomp" (no Landlock here, so no
    file can be opened or looked up) or "none" (asked for: only descriptors and limits).
    """

    protection: SandboxName
    _limits: tuple[tuple[int, tuple[int, int]], ...]
    _walls: _Walls | None
    _zygote: int = field(default_factory=os.getpid)

    @classmethod
    def prepare(
        cls,
        *,
        readable: Sequence[str],
        cpu_seconds: int,
        memory_bytes: int | None,
        sandbox: bool = True,
        landlock: bool = True,
    ) -> Self:
        """Make the sandbox in the zygote, as strong as this system allows.

        Args:
            readable: existing folders and files that children may read; see `access.readable_paths`.
            cpu_seconds: processor time after which a child is killed.
            memory_bytes: the largest address space of a child, the zygote's own included; None is unbounded.
            sandbox: False leaves only the closing of descriptors and the limits.
            landlock: False gives the sealed sandbox even where the kernel has Landlock.

        Raises:
            SandboxError: the requested sandbox is unavailable here.
        """
        if not sandbox:
            return cls("none", _limits(cpu_seconds, memory_bytes, _MOST_TASKS_SHARED), None)
        walls = _build_walls(readable, with_landlock=landlock)
        most_tasks = _MOST_TASKS_OF_WORKER if walls.privileges.user_of_its_own else _MOST_TASKS_SHARED
        limits = _limits(cpu_seconds, memory_bytes, most_tasks)
        return cls("landlock+seccomp" if walls.ruleset else "sealed seccomp", limits, walls)

    def describe(self) -> dict[str, Any]:
        """The layers and limits in force, for the JSON of a report."""
        limits = {which: soft for which, (soft, _) in self._limits}
        return {
            "landlock": access.landlock_version() if self._walls and self._walls.ruleset else 0,
            "memory_bytes": limits.get(resource.RLIMIT_AS),
            "cpu_seconds": limits[resource.RLIMIT_CPU],
            "descriptors": limits[resource.RLIMIT_NOFILE],
            "tasks": limits[resource.RLIMIT_NPROC],
            **(self._walls.privileges.describe() if self._walls else {}),
        }

    def enter(self, keep: Collection[int]) -> None:
        """Confine this freshly forked, single-threaded process irrevocably; it dies with its parent.

        Args:
            keep: the descriptors that stay open.

        Raises:
            SandboxError: a step failed. The process is half confined then and must end.
        """
        ruleset = self._walls.ruleset if self._walls else None
        with contextlib.suppress(OSError):  # not on every system, and the sandbox holds without it
            Path("/proc/self/oom_score_adj").write_bytes(b"1000")  # killed first where memory runs out
        try:
            _close_all_but({*keep, ruleset.descriptor} if ruleset else {*keep})
            for which, pair in self._limits:
                resource.setrlimit(which, pair)
            if self._walls:
                _close_walls(self._walls, self._zygote)
            elif syscalls.machine():
                _end_with_the_parent(self._zygote)
        except (OSError, ValueError) as error:
            raise SandboxError(f"the sandbox could not be entered: {error}") from error


def _build_walls(readable: Sequence[str], *, with_landlock: bool) -> _Walls:
    machine = syscalls.machine()
    if machine is None:
        here = f"{platform.system()} on {platform.machine()}"
        raise SandboxError(
            f"the sandbox needs 64-bit Linux on {' or '.join(syscalls.MACHINES)}, this is {here}"
        )
    if not seccomp.available():
        raise SandboxError("this kernel, or the container around this process, does not take seccomp filters")
    landlocked = with_landlock and access.landlock_version() > 0
    try:
        return _Walls(
            access.Privileges(readable, landlocked=landlocked),
            access.Ruleset(readable) if landlocked else None,
            seccomp.Filter(seccomp.program(machine, sealed=not landlocked)),
        )
    except OSError as error:
        raise SandboxError(f"the sandbox could not be prepared: {error}") from error


def _close_walls(walls: _Walls, zygote: int) -> None:
    walls.privileges.shed()
    # A change of uid resets these two, so they come after it.
    syscall("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)
    _end_with_the_parent(zygote)
    syscall("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if walls.ruleset:
        walls.ruleset.enforce()
    walls.filter.install(os.getpid())


def _end_with_the_parent(zygote: int) -> None:
    """Have the kernel kill this process when its parent ends; exit if it has ended already."""
    syscall("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != zygote:
        os._exit(1)


def _close_all_but(keep: set[int]) -> None:
    # A whole list first: the descriptor of this very listing is in it, and closed by then.
    for descriptor in [int(entry.name) for entry in os.scandir(_DESCRIPTORS)]:
        if descriptor not in keep:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _limits(
    cpu_seconds: int, memory_bytes: int | None, most_tasks: int
) -> tuple[tuple[int, tuple[int, int]], ...]:
    """The limits for setrlimit, none above those of this process."""
    wanted = {
        "RLIMIT_CPU": (cpu_seconds, cpu_seconds + 1),  # a signal first, then death
        "RLIMIT_NOFILE": (_MOST_DESCRIPTORS, _MOST_DESCRIPTORS),
        "RLIMIT_NPROC": (most_tasks, most_tasks),
        **dict.fromkeys(("RLIMIT_FSIZE", "RLIMIT_CORE", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE"), (0, 0)),
    }
    if memory_bytes is not None:
        wanted["RLIMIT_AS"] = (memory_bytes, memory_bytes)
    limits = {getattr(resource, name): pair for name, pair in wanted.items() if hasattr(resource, name)}
    for which, (soft, hard) in limits.items():
        ceiling = resource.getrlimit(which)[1]
        if ceiling != resource.RLIM_INFINITY:
            limits[which] = min(soft, ceiling), min(hard, ceiling)
    return tuple(limits.items())
