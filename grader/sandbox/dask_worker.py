"""What a Dask worker does for a grader elsewhere: it observes notebooks on its machine.

A Dask worker is a process of ours. It runs no student's code, which stays in the sandbox below a zygote; it
judges nothing and writes nothing. What a student's process said leaves it as JSON in bytes.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from distributed import Worker, WorkerPlugin, get_worker

from grader.errors import GraderError
from grader.notebooks.reader import Cell
from grader.sandbox.executor import Settings, environment_fingerprint
from grader.sandbox.observer import observe
from grader.sandbox.plan import ProbePlan, TimeLimits
from grader.sandbox.zygote import Zygote, ZygoteGoneError
from grader.version import __version__, code_hash

_IDLE_SECONDS = 60.0  # after which an unused zygote ends, also if the grader was killed
_ATTEMPTS = 3  # zygotes for one notebook: the system may kill a zygote for its memory


@lru_cache(maxsize=1)
def installed() -> list[str]:
    """Names and versions: the grader, its code, and the environment, as they were when first asked for."""
    return [f"grader {__version__}", f"code {code_hash()}", *environment_fingerprint()]


class ZygotePlugin(WorkerPlugin):
    """Gives a Dask worker a zygote, which starts when it is used and ends when nobody uses it.

    Runs with the same settings share the plugin, so it stays when a grader disconnects.

    Args:
        settings: what the zygote is started with.
        expected: what must be installed; a worker that has something else observes nothing.
    """

    idempotent = True

    def __init__(self, settings: Settings, expected: list[str]) -> None:
        self.settings, self.expected = dict(settings), expected
        known = json.dumps([self.settings, expected], sort_keys=True)
        self.name = f"grader-{hashlib.sha256(known.encode()).hexdigest()[:16]}"

    def setup(self, worker: Worker) -> None:
        """Begin; a worker does so before its first task."""
        self._worker = worker.address
        self._lock = threading.Lock()
        self._zygote: Zygote | None = None
        self._users = 0
        self._timer = threading.Timer(0, self._end_idle_zygote)

    def answer(self, task: Callable[[Zygote], dict[str, Any]]) -> bytes:
        """What a task returns, and the protection in force; or the error that ended it, as data."""
        said: dict[str, Any] = {"unlike": True}
        for _ in range(_ATTEMPTS if installed() == self.expected else 0):
            try:
                with self._borrowed() as zygote:
                    said = {"protection": [zygote.protection.name, zygote.protection.torch], **task(zygote)}
                break
            except GraderError as error:
                said = {"problem": [error.exit_status, str(error)]}
                if not isinstance(error, ZygoteGoneError):
                    break
        return json.dumps({"worker": self._worker, **said}).encode()

    @contextmanager
    def _borrowed(self) -> Iterator[Zygote]:
        """The zygote, started if there is none; where it turns out to have ended, it is used no more."""
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
            if self._zygote is None or self._users:
                return
            zygote, self._zygote = self._zygote, None
        zygote.close()


async def start_sandbox(plugin: str, dask_worker: Any) -> bytes:
    """The protection here, or why there is none. Runs on a Dask worker, beside its tasks."""
    return await asyncio.to_thread(dask_worker.plugins[plugin].answer, lambda _: {})


def observe_on_worker(plugin: str, plan: ProbePlan, cells: bytes, limits: TimeLimits) -> bytes:
    """Observe one notebook. Runs on a Dask worker, in one of its threads."""
    numbered = [Cell(number, source) for number, source in json.loads(cells)]
    holder: Any = get_worker().plugins[plugin]
    said: bytes = holder.answer(
        lambda zygote: {"evidence": observe(zygote, numbered, plan, limits).to_json()}
    )
    return said
