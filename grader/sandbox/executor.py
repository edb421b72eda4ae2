"""Outside: where notebooks are observed, on this machine or on others."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from platform import python_version
from typing import Any, Protocol, Self

from grader.notebooks.reader import Cell
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe
from grader.sandbox.plan import ProbePlan, TimeLimits
from grader.sandbox.zygote import Protection, Zygote
from grader.version import code_hash

#: What a zygote is started with: the arguments of ``grader.sandbox.zygote.Zygote``, plain JSON.
Settings = Mapping[str, Any]

# No notebook imports them, and hardly two machines have the same.
_OF_NO_CONCERN = {"autograd_grader", "pip", "setuptools", "wheel"}


class Executor(Protocol):
    """Where notebooks are observed: entered before its first use, and used from several threads."""

    @property
    def environment_fingerprint(self) -> Sequence[str]:
        """What decides about evidence besides what is asked, as names and versions; see ``surroundings``."""

    @property
    def is_started(self) -> bool:
        """Whether the protection has been tried out in this run."""

    @property
    def protection(self) -> Protection:
        """What confines the workers, tried out now unless it was before.

        Raises:
            ProtectionError: they cannot be confined as asked.
        """

    @property
    def max_workers(self) -> int:
        """How many notebooks are observed at a time, at most."""

    @property
    def prefetch(self) -> int:
        """How many notebooks to have at hand just now, so that no worker ever waits for the next."""

    def observe(self, cells: Sequence[Cell], questionnaire: ProbePlan, limits: TimeLimits) -> Evidence:
        """What ``grader.sandbox.observer.observe`` sees.

        Raises:
            GraderError: no worker could be had.
        """

    def cancel(self) -> None:
        """Give up what is under way: nobody waits for it any more."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class LocalExecutor:
    """Workers of this machine; their zygote starts when it is needed.

    Args:
        settings: what the zygote is started with.
        jobs: workers at a time.
    """

    def __init__(self, settings: Settings, jobs: int) -> None:
        self.max_workers, self.prefetch = jobs, 2 * jobs
        self._settings = settings
        self._lock = threading.Lock()
        self._stack = ExitStack()
        self._zygote: Zygote | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def environment_fingerprint(self) -> Sequence[str]:
        return environment_fingerprint()

    @property
    def is_started(self) -> bool:
        return self._zygote is not None

    @property
    def protection(self) -> Protection:
        return self._started().protection

    def observe(self, cells: Sequence[Cell], questionnaire: ProbePlan, limits: TimeLimits) -> Evidence:
        return observe(self._started(), cells, questionnaire, limits)

    def cancel(self) -> None:
        """Without their zygote the workers end, and who waits for their answers hears of it at once."""
        self._stack.close()

    def _started(self) -> Zygote:
        with self._lock:
            if self._zygote is None:
                self._zygote = self._stack.enter_context(Zygote(**self._settings))
            return self._zygote


def environment_fingerprint() -> list[str]:
    """The inside's own code, Python, and every package of this machine: what evidence depends on.

    Packages are known by the names of their folders; to read what is in them takes a hundred times as long.
    """
    packages: set[str] = set()
    for folder in sys.path:
        with suppress(OSError):  # an archive, or a folder that is not there
            packages.update(_package(entry.name) for entry in Path(folder).iterdir())
    return [
        f"inside {code_hash('sandbox/worker')}",
        f"python {python_version()}",
        *sorted(packages - {""}),
    ]


def _package(entry: str) -> str:
    """Name and version of an installed package, or nothing where an entry of a folder is none."""
    described, _, kind = entry.rpartition(".")
    name, _, version = described.lower().partition("-")
    is_one = kind in {"dist-info", "egg-info"} and version and name not in _OF_NO_CONCERN
    return f"{name} {version}" if is_one else ""


def torch_version(known: Sequence[str]) -> str | None:
    """The version of torch in some surroundings, without its build; None where there is no torch."""
    found = (package.removeprefix("torch ") for package in known if package.startswith("torch "))
    return next((version.partition("+")[0] for version in found), None)
