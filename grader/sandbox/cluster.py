"""Outside: notebooks observed by the workers of a Dask scheduler, for the one who grades and judges here."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

from grader.errors import BrokenRunError
from grader.notebooks.reader import Cell
from grader.sandbox import dask_worker as outpost
from grader.sandbox.crew import GO_ON, Crew, unless_problem
from grader.sandbox.evidence import Evidence, parse_evidence
from grader.sandbox.executor import Settings
from grader.sandbox.plan import ProbePlan, TimeLimits
from grader.sandbox.zygote import Protection

if TYPE_CHECKING:
    from distributed import Future

_LOOK_SECONDS = 5.0  # between looks at the workers, who may come and go
_HOPE_SECONDS = 60.0  # for another worker, where the last one was lost
_FOR_EACH_THREAD = 4  # notebooks, so that none of them waits while a batch is judged here


class Cluster:
    """A station on many machines; connected when the block begins.

    Args:
        address: the scheduler's, as in ``tcp://host:8786``.
        settings: what every zygote is started with.
    """

    most_threads = 1_000  # each only waits for one notebook

    def __init__(self, address: str, settings: Settings) -> None:
        self._address, self._settings = address, outpost.packed(settings)
        self._lock = threading.Lock()
        self._protection: Protection | None = None
        self._brought: dict[bytes, Future[bytes]] = {}
        self._waiting: set[Future[bytes]] = set()
        self._threads = 0  # of all workers, when they were looked at
        self._looked = self._peopled = -math.inf  # when that was, and when there was one
        self._looking = threading.Lock()

    def __enter__(self) -> Self:
        self._crew = Crew(self._address)
        try:
            self._common = self._crew.introduction()
        except BaseException:
            self._crew.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._crew.close()

    @property
    def surroundings(self) -> Sequence[str]:
        return self._common.surroundings

    @property
    def is_started(self) -> bool:
        return self._protection is not None

    @property
    def protection(self) -> Protection:
        with self._lock:
            if self._protection is None:
                self._protection = self._crew.protection(self._settings)
            return self._protection

    @property
    def appetite(self) -> int:
        self._look()
        return min(self.most_threads, max(1, self._threads) * _FOR_EACH_THREAD)

    def observe(self, cells: Sequence[Cell], questionnaire: ProbePlan, limits: TimeLimits) -> Evidence:
        """What a worker sees.

        Raises:
            GraderError: none could be had, or one is not like the others.
        """
        protection = self.protection
        probes = {name: [asdict(probe) for probe in given] for name, given in questionnaire.probes.items()}
        task = self._submit(
            outpost.observe_here,
            self._bring(self._settings),
            self._bring(outpost.packed([questionnaire.stubs, probes, questionnaire.handed_out])),
            outpost.packed([(cell.number, cell.source) for cell in cells]),
            outpost.packed([limits.cell, limits.question, limits.notebook]),
        )
        self._waiting.add(task)
        try:
            answer = json.loads(self._result(task))
            seen = unless_problem(answer["worker"], answer)
            if (seen["digest"], seen["protection"]) != (self._common.digest, protection.name):
                self._refuse(seen["worker"])
            return parse_evidence(seen["evidence"])
        except (KeyError, TypeError, ValueError):
            raise BrokenRunError(f"a Dask worker of {self._address} sent no evidence. {GO_ON}") from None
        finally:
            self._waiting.discard(task)
            task.release()

    def abandon(self) -> None:
        for task in self._waiting.copy():
            with suppress(Exception):  # the scheduler may have gone
                task.cancel()

    def _bring(self, payload: bytes) -> Future[bytes]:
        """What notebooks have in common, as a task's result: Dask brings it to a worker once."""
        with self._lock:
            if payload not in self._brought:
                self._brought[payload] = self._submit(outpost.unchanged, payload)
            return self._brought[payload]

    def _submit(self, function: Callable[..., bytes], *arguments: Any) -> Future[bytes]:
        key = f"grader-{function.__name__}-{uuid.uuid4().hex}"
        return self._crew.client.submit(function, *arguments, key=key, pure=False)

    def _result(self, task: Future[bytes]) -> bytes:
        """The result of a task, which Dask itself runs anew where a worker was lost."""
        from distributed import KilledWorker  # noqa: PLC0415 - an extra

        while True:
            try:
                return task.result(timeout=_LOOK_SECONDS)
            except TimeoutError:
                self._look()
                if time.monotonic() - self._peopled > _HOPE_SECONDS:
                    raise self._crew.deserted() from None
            except KilledWorker as error:
                raise BrokenRunError(
                    "one Dask worker after the other was lost over the same notebook, the last at "
                    f"{error.last_worker.address}: its log says why; often it is memory. {GO_ON}"
                ) from None
            except (CancelledError, asyncio.CancelledError, OSError):
                raise self._crew.scheduler_gone() from None
            except Exception as error:  # noqa: BLE001 - a failed task raises anything
                self._crew.introduction()  # which names a worker without grader
                raise BrokenRunError(
                    f"a Dask worker of {self._address} failed ({error!r:.200}). {GO_ON}"
                ) from None

    def _look(self) -> None:
        """Look how many threads the workers have, now and then."""
        with self._looking:
            now = time.monotonic()
            if now - self._looked < _LOOK_SECONDS:
                return
            self._looked = now
            with suppress(Exception):  # who waits for an answer learns that the scheduler has gone
                self._threads = self._crew.threads()
            if self._threads:
                self._peopled = now

    def _refuse(self, worker: str) -> None:
        """One that joined later is not like the others: say in what, if that is still to be seen."""
        self._crew.introduction()
        self._crew.protection(self._settings)
        raise BrokenRunError(f"the Dask worker {worker} was not like the others: stop it. {GO_ON}")
