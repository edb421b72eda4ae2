"""Outside: what a Dask worker does for the one who grades: it observes notebooks on its machine.

Everything comes and goes as JSON in bytes. A Dask worker is a process of ours: it runs no student's code,
which stays in the cage below its zygote. It judges nothing and writes nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from grader.errors import BrokenRunError, GraderError, ProtectionError
from grader.notebooks.reader import Cell
from grader.sandbox.executor import environment_fingerprint
from grader.sandbox.observer import observe
from grader.sandbox.plan import PlannedProbe, ProbePlan, TimeLimits
from grader.sandbox.zygote import Zygote, ZygoteGoneError
from grader.version import __version__, code_hash

_IDLE_SECONDS = 60.0  # after which a zygote ends that nobody asked: who grades may have been killed
_ATTEMPTS = 3  # zygotes for one notebook: the system may kill one for its memory


def packed(value: Any) -> bytes:
    """A value as it travels."""
    return json.dumps(value).encode()


@lru_cache(maxsize=1)
def worker_info() -> bytes:
    """Which grader this is, and its surroundings, as they were at first. Runs on a Dask worker."""
    return packed({"grader": __version__, "code": code_hash(), "surroundings": environment_fingerprint()})


def digest(introduced: bytes) -> str:
    """An introduction, short enough to come with every answer."""
    return hashlib.sha256(introduced).hexdigest()[:16]


async def start_sandbox(settings: bytes) -> bytes:
    """What confines workers here, or why they cannot be confined. Runs on a Dask worker, beside its tasks."""
    return await asyncio.to_thread(_prove, settings)


def unchanged(payload: bytes) -> bytes:
    """What many notebooks have in common: a task on which theirs depend. Runs on a Dask worker."""
    return payload


def observe_on_worker(settings: bytes, asked: bytes, cells: bytes, limits: bytes) -> bytes:
    """Observe one notebook. Runs on a Dask worker, in one of its threads."""
    from distributed import get_worker  # noqa: PLC0415 - only there

    answer: dict[str, Any] = {"worker": get_worker().address, "digest": digest(worker_info())}
    try:
        numbered = [Cell(number, source) for number, source in json.loads(cells)]
        for attempts_left in reversed(range(_ATTEMPTS)):
            try:
                with _zygotes.borrowed(settings) as zygote:
                    answer["protection"] = zygote.protection.name
                    seen = observe(zygote, numbered, _questionnaire(asked), TimeLimits(*json.loads(limits)))
                break
            except ZygoteGoneError:
                if not attempts_left:
                    raise
    except GraderError as error:
        return packed(answer | {"problem": _as_data(error)})
    return packed(answer | {"evidence": seen.to_json()})


def _prove(settings: bytes) -> bytes:
    try:
        with _zygotes.borrowed(settings) as zygote:
            return packed({"protection": asdict(zygote.protection)})
    except GraderError as error:
        return packed({"problem": _as_data(error)})


def _as_data(error: GraderError) -> dict[str, Any]:
    """An error, without pickle."""
    return {"kind": _kind(error), "text": str(error)}


def _kind(error: GraderError) -> str:
    kinds = (ProtectionError, BrokenRunError, GraderError)
    return next(kind.__name__ for kind in kinds if isinstance(error, kind))


@lru_cache(maxsize=32)
def _questionnaire(asked: bytes) -> ProbePlan:
    """The same for a whole class, so read once."""
    stubs, questions, handed_out = json.loads(asked)
    probes = {
        name: tuple(
            PlannedProbe(**{**probe, "oracle": tuple(probe["oracle"]) if probe["oracle"] else None})
            for probe in of_function
        )
        for name, of_function in questions.items()
    }
    return ProbePlan(stubs, probes, tuple(handed_out))


class _Lent:
    """A zygote, how many threads use it, and the timer that ends it when nobody does."""

    def __init__(self, settings: bytes) -> None:
        self.zygote = Zygote(**json.loads(settings))
        self.users = 0
        self.timer: threading.Timer | None = None


class _Zygotes:
    """The zygotes of this process, one for each settings. They end with it, because their sockets close."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lent: dict[bytes, _Lent] = {}

    @contextmanager
    def borrowed(self, settings: bytes) -> Iterator[Zygote]:
        """A zygote with these settings, started if there is none; one that has ended is not lent again."""
        with self._lock:
            lent = self._lent[settings] = self._lent.get(settings) or _Lent(settings)
            lent.users += 1
            if lent.timer:
                lent.timer.cancel()
        try:
            yield lent.zygote
        except ZygoteGoneError:
            with self._lock:
                if self._lent.get(settings) is lent:
                    del self._lent[settings]
            raise
        finally:
            self._give_back(settings, lent)

    def _give_back(self, settings: bytes, lent: _Lent) -> None:
        """Its last user buries a zygote that has ended; another waits a while for the next user."""
        with self._lock:
            lent.users -= 1
            if lent.users:
                return
            is_kept = self._lent.get(settings) is lent
            if is_kept:
                lent.timer = threading.Timer(_IDLE_SECONDS, self._end, [settings, lent])
                lent.timer.daemon = True
                lent.timer.start()
        if not is_kept:
            lent.zygote.close()

    def _end(self, settings: bytes, lent: _Lent) -> None:
        with self._lock:
            if lent.users or self._lent.get(settings) is not lent:
                return  # somebody came at the last moment
            del self._lent[settings]
        lent.zygote.close()


_zygotes = _Zygotes()
