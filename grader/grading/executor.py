"""Executors observe notebooks: their interface, the local one, and the fingerprint of the environment."""

from __future__ import annotations

import re
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from platform import python_version
from typing import Any, Self

from grader.course.assignment import ANSWERS, SOURCE
from grader.course.course import Course
from grader.notebooks.reader import Cell
from grader.sandbox.evidence import Evidence
from grader.sandbox.observer import observe
from grader.sandbox.plan import ObservationPlan, TimeLimits
from grader.sandbox.zygote import ActiveSandbox, Zygote, ZygoteProcess
from grader.version import code_hash

#: The settings of a zygote: the arguments of ``grader.sandbox.zygote.Zygote``, plain JSON.
Settings = Mapping[str, Any]

# No notebook imports them, and hardly two machines have the same.
_IGNORED = {"autograd_grader", "pip", "setuptools", "wheel"}


class Executor(ABC):
    """Observes notebooks, at most `max_workers` at a time; used from several threads."""

    max_workers: int

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sandbox: ActiveSandbox | None = None

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, *_: object) -> None: ...

    @property
    @abstractmethod
    def environment_fingerprint(self) -> Sequence[str]:
        """Everything besides the plan that evidence depends on; see the function of this name."""

    @property
    @abstractmethod
    def prefetch(self) -> int:
        """The number of notebooks to read ahead now, so that no worker waits for the next."""

    def start(self) -> ActiveSandbox:
        """The sandbox of the workers; the first call starts their processes and tests the sandbox.

        Raises:
            SandboxError: they cannot be confined as asked.
        """
        with self._lock:
            if self._sandbox is None:
                self._sandbox = self._start()
            return self._sandbox

    @abstractmethod
    def _start(self) -> ActiveSandbox: ...

    @abstractmethod
    def observe(self, cells: Sequence[Cell], plan: ObservationPlan, limits: TimeLimits) -> Evidence:
        """Observe a notebook as `grader.sandbox.observer.observe` does; GraderError if there is no worker."""

    def cancel(self) -> None:
        """Cancel running observations; callers that wait for evidence get an error."""
        self.__exit__()


class LocalExecutor(Executor):
    """Workers of this machine, as many at a time as there are jobs, forked from one zygote."""

    def __init__(self, settings: Settings, jobs: int, started: ZygoteProcess | None = None) -> None:
        super().__init__()
        self.max_workers, self._settings, self._started = jobs, settings, started
        self._stack = ExitStack()

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def environment_fingerprint(self) -> Sequence[str]:
        return environment_fingerprint()

    @property
    def prefetch(self) -> int:
        return 2 * self.max_workers

    def _start(self) -> ActiveSandbox:
        self._zygote = self._stack.enter_context(Zygote(**self._settings, started=self._started))
        return self._zygote.sandbox

    def observe(self, cells: Sequence[Cell], plan: ObservationPlan, limits: TimeLimits) -> Evidence:
        self.start()
        return observe(self._zygote, cells, plan, limits)


def environment_fingerprint() -> list[str]:
    """The parts of this machine that evidence depends on: the worker's code, Python, and every package.

    Packages are known by the names of their folders; to read what is in them takes a hundred times as long.
    """
    packages: set[str] = set()
    for folder in sys.path:
        with suppress(OSError):  # an archive, or a folder that is not there
            packages.update(_package(entry.name) for entry in Path(folder).iterdir())
    return [
        f"inside {code_hash('runtime', 'sandbox/worker')}",
        f"python {python_version()}",
        *sorted(packages - {""}),
    ]


def _package(entry: str) -> str:
    """Name and version of an installed package, or nothing if an entry of a folder is none."""
    described, _, kind = entry.rpartition(".")
    name, _, version = described.lower().partition("-")
    is_package = kind in {"dist-info", "egg-info"} and version and name not in _IGNORED
    return f"{name} {version}" if is_package else ""


def torch_version(fingerprint: Sequence[str]) -> str | None:
    """The version of torch in an environment, without its build; None if there is no torch."""
    versions = (package.removeprefix("torch ") for package in fingerprint if package.startswith("torch "))
    return next((version.partition("+")[0] for version in versions), None)


#: Packages that are imported before the first fork if a notebook imports them. matplotlib needs a writable
#: folder, and pandas takes as long as torch.
_PRELOADABLE = {
    "matplotlib": ("matplotlib.pyplot", "matplotlib.backends.backend_agg"),
    "pandas": ("pandas",),
    "sympy": ("sympy",),
    "tqdm": ("tqdm.auto",),
    "torchvision": ("torchvision",),
    "seaborn": ("seaborn",),
    "sklearn": ("sklearn",),
    "scipy": ("scipy",),
}
_IMPORT = re.compile(rf"(?:import|from)[ \t]++({'|'.join(_PRELOADABLE)})\b")
#: Imported by torch at the first forward-mode derivative, which takes half a second of the two of a request.
_FORWARD_MODE = ("torch._decomp.decompositions_for_jvp", "torch.fx.experimental.symbolic_shapes")
_USES_FORWARD_MODE = re.compile("jvp|jacfwd|hessian|linearize|forward_ad")


def modules_to_preload(texts: Iterable[str]) -> frozenset[str]:
    """Modules that the zygote imports, because a worker cannot or should not import them itself.

    Args:
        texts: code that will run, or the file of a notebook as it is. To read its JSON would cost every
            notebook more than a module costs a class that only names it.
    """
    modules: set[str] = set()
    for text in texts:
        modules.update(*(_PRELOADABLE[name] for name in _IMPORT.findall(text)))
        if _USES_FORWARD_MODE.search(text):
            modules.update(_FORWARD_MODE)
    return frozenset(modules)


def modules_of_answers(course: Course, stems: Iterable[str]) -> frozenset[str]:
    """The same for the references and the known answers of some assignments."""
    files = [course.root / path.format(stem) for stem in stems for path in (SOURCE, ANSWERS)]
    return modules_to_preload(file.read_text(encoding="utf-8") for file in files if file.is_file())
