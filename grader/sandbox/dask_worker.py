"""What a Dask worker does for a grader elsewhere: it observes notebooks on its machine.

It runs no student's code, which stays in the sandbox below a zygote; it judges and writes nothing.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, cast

from dask.base import tokenize
from distributed import Worker, WorkerPlugin, get_worker

from grader.errors import GraderError
from grader.notebooks.reader import Cell
from grader.sandbox.executor import Settings, environment_fingerprint
from grader.sandbox.observer import observe
from grader.sandbox.plan import ProbePlan, TimeLimits
from grader.sandbox.zygote import Zygote, ZygoteGoneError
from grader.version import __version__, code_hash

_IDLE_SECONDS = 60.0  # after which an unused zygote ends, also if the grader was killed
ALIKE = "install the same on every machine, with constraints.txt, and grade again"


@lru_cache(maxsize=1)
def installed() -> list[str]:
    """Names and versions: the grader, its code, and the environment, as they were when first asked for."""
    return [f"grader {__version__}", f"grader-code {code_hash()[:16]}", *environment_fingerprint()]


def require_same(one: str, here: list[str], other: str, there: list[str], names: Iterable[str] = ()) -> None:
    """Refuse another version of any of these names, or of any name; the error names torch first."""
    mine, theirs = (dict(entry.split(" ", 1) for entry in entries) for entries in (here, there))
    for name in names or sorted(mine | theirs, key=lambda name: (name != "torch", name)):
        if mine.get(name) != theirs.get(name):
            versions = [side.get(name, "not installed") for side in (mine, theirs)]
            raise GraderError(f"{name} is {versions[0]} on {one}, but {versions[1]} on {other}: {ALIKE}")


class ZygotePlugin(WorkerPlugin):
    """Gives a Dask worker a zygote, which starts with its first use and ends when it is idle.

    A worker that does not have installed what is expected observes nothing. Graders with the same settings
    share the plugin, so it stays when a grader disconnects.
    """

    idempotent = True

    def __init__(self, settings: Settings, expected: list[str]) -> None:
        self.settings, self.expected = dict(settings), expected
        self.name = f"grader-{tokenize(self.settings, expected)}"

    def setup(self, worker: Worker) -> None:
        """Begin; Dask calls it before the worker's first task."""
        self._worker = worker.address
        self._lock = threading.Lock()
        self._zygote: Zygote | None = None
        self._users = 0
        self._timer = threading.Timer(0, self._end_idle_zygote)

    def answer(self, task: Callable[[Zygote], dict[str, Any]]) -> bytes:
        """What a task returns, as JSON, and the protection in force; an error names the worker."""
        try:
            require_same("the others", self.expected, "it", installed())
            with self._borrowed() as zygote:
                protection = [zygote.protection.name, zygote.protection.torch]
                return json.dumps({"worker": self._worker, "protection": protection, **task(zygote)}).encode()
        except GraderError as error:
            raise type(error)(f"on the Dask worker {self._worker}, {error}") from None

    @contextmanager
    def _borrowed(self) -> Iterator[Zygote]:
        """The zygote, started if there is none; if it has ended, the next user starts another."""
        with self._lock:
            self._zygote = zygote = self._zygote or Zygote(**self.settings)
            self._users += 1
        try:
            yield zygote
        except ZygoteGoneError:
            with self._lock:
                self._zygote = None if self._zygote is zygote else self._zygote
            zygote.close()
            raise
        finally:
            with self._lock:
                self._users -= 1
                self._timer.cancel()
                self._timer = threading.Timer(_IDLE_SECONDS, self._end_idle_zygote)
                self._timer.daemon = True
                self._timer.start()

    def _end_idle_zygote(self) -> None:
        with self._lock:
            if self._zygote is not None and not self._users:
                self._zygote.close()
                self._zygote = None


async def start_sandbox(plugin: str, dask_worker: Any) -> bytes:
    """The protection here; runs on a Dask worker, beside its tasks."""
    return await asyncio.to_thread(dask_worker.plugins[plugin].answer, lambda _: {})


def observe_on_worker(plugin: str, plan: ProbePlan, cells: bytes, limits: TimeLimits) -> bytes:
    """Observe one notebook. Runs on a Dask worker, in one of its threads."""
    numbered = [Cell(number, source) for number, source in json.loads(cells)]
    holder = cast("ZygotePlugin", get_worker().plugins[plugin])
    return holder.answer(lambda zygote: {"evidence": observe(zygote, numbered, plan, limits).to_json()})
