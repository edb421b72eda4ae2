"""Notebooks observed by the workers of a Dask scheduler, for a grader that judges and writes here.

Dask's own processes trust each other: whoever reaches one may have it unpickle, and so run, anything. They
are ours and run no student's code. What a student's process said crosses Dask as JSON in bytes, and is read
here as strictly as on one machine.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import ssl
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent import futures
from contextlib import suppress
from copy import copy
from typing import Any, Self

import dask
from distributed import Client, Future, KilledWorker

from grader.errors import BrokenRunError, GraderError, ProtectionError
from grader.notebooks.reader import Cell
from grader.sandbox.dask_worker import ZygotePlugin, installed, observe_on_worker, start_sandbox
from grader.sandbox.evidence import Evidence, parse_evidence
from grader.sandbox.executor import Executor, Settings
from grader.sandbox.plan import ProbePlan, TimeLimits
from grader.sandbox.zygote import Protection
from grader.version import __version__

_CONNECT_SECONDS = 10
_GRACE_SECONDS = 5  # for Dask to give up by itself
_WORKERS_SECONDS = 15  # for the first worker to come
_LOOK_SECONDS = 5.0  # between looks whether there are workers, which may come and go
_HOPE_SECONDS = 60.0  # for another worker, where the last one was lost
_FOR_EACH_THREAD = 4  # notebooks, so that none of them waits while a batch is judged here
_ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?[^\s/]+:(\d{1,5})", re.ASCII)
_ALIKE = "install the same on every machine, with constraints.txt, and grade again"
_ERRORS = {kind.exit_status: kind for kind in (BrokenRunError, GraderError, ProtectionError)}


class DaskExecutor(Executor):
    """Workers of many machines, which have to be alike; connected when the block begins.

    A plan is a task's result and not scattered: Dask computes it again where it was lost with a worker, while
    notebooks that depend on lost scattered data would fail.

    Args:
        address: the scheduler's, as in ``tcp://host:8786``.
        settings: what every zygote is started with.
    """

    max_workers = 1_000  # each only waits for one notebook

    def __init__(self, address: str, settings: Settings) -> None:
        super().__init__()
        self._address, self._settings = address, settings
        self._start_one = f"start one on each machine (dask worker {address})"
        self._plans: dict[str, Future[ProbePlan]] = {}
        self._pending: set[Future[bytes]] = set()

    def __enter__(self) -> Self:
        self._client = _connect(self._address)
        try:
            self._client.wait_for_workers(1, timeout=_WORKERS_SECONDS)
            self._plugin = ZygotePlugin(self._settings, self._require_alike())
        except BaseException as error:
            self.__exit__()
            if not isinstance(error, OSError):
                raise
            raise GraderError(f"no Dask worker is connected to {self._address}: {self._start_one}") from None
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception), warnings.catch_warnings():  # the scheduler may have gone before
            warnings.simplefilter("ignore")
            self._client.close(timeout=_CONNECT_SECONDS)

    @property
    def environment_fingerprint(self) -> Sequence[str]:
        return [entry for entry in self._plugin.expected if not entry.startswith(("grader ", "code "))]

    @property
    def prefetch(self) -> int:
        return min(self.max_workers, max(1, self._count_threads()) * _FOR_EACH_THREAD)

    def _start(self) -> Protection:
        self._call(self._client.register_plugin, self._plugin)
        return self._require_same_protection()

    def observe(self, cells: Sequence[Cell], plan: ProbePlan, limits: TimeLimits) -> Evidence:
        protection = self.start()
        sent = json.dumps([(cell.number, cell.source) for cell in cells]).encode()
        shared = self._share(plan)
        task = self._client.submit(observe_on_worker, self._plugin.name, shared, sent, limits, pure=False)
        self._pending.add(task)
        try:
            answer = json.loads(self._result(task))
            if self._protection_in(answer) != protection:
                self._require_same_protection()
                raise self._unlike(answer)
            return parse_evidence(answer["evidence"])
        except (KeyError, TypeError, ValueError):
            raise _broken(f"a Dask worker of {self._address} sent no evidence") from None
        finally:
            self._pending.discard(task)
            task.release()

    def cancel(self) -> None:
        with suppress(Exception):  # the scheduler may have gone
            self._client.cancel(list(self._pending))

    def _share(self, plan: ProbePlan) -> Future[ProbePlan]:
        """What notebooks have in common, brought to each worker once."""
        key = f"plan-{dask.base.tokenize(plan)}"
        with self._lock:
            if key not in self._plans:
                self._plans[key] = self._client.submit(copy, plan, key=key)
            return self._plans[key]

    def _result(self, task: Future[bytes]) -> bytes:
        """The result of a task, which Dask itself runs anew where a worker was lost."""
        last_peopled = time.monotonic()
        while True:
            try:
                return task.result(timeout=_LOOK_SECONDS)
            except TimeoutError:
                if self._count_threads():
                    last_peopled = time.monotonic()
                elif time.monotonic() - last_peopled > _HOPE_SECONDS:
                    raise self._deserted() from None
            except KilledWorker as error:
                lost = "one Dask worker after the other was lost over the same notebook, the last at"
                address = error.last_worker.address
                raise _broken(f"{lost} {address}: its log says why; often it is memory") from None
            except (futures.CancelledError, asyncio.CancelledError, OSError):
                raise self._scheduler_gone() from None
            except Exception as error:  # noqa: BLE001 - a failed task raises anything
                self._require_alike()  # which names a worker without grader
                raise _broken(f"a Dask worker of {self._address} failed ({error!r:.200})") from None

    def _count_threads(self) -> int:
        """How many threads the workers have, all together."""
        try:
            return int(self._client.scheduler_info(n_workers=0)["total_threads"])
        except Exception:  # noqa: BLE001 - whoever waits for a result learns that the scheduler has gone
            return 1

    def _require_alike(self) -> list[str]:
        """What is installed on all workers: the same, and of the grader's own the same as here."""
        found = self._ask_workers(installed)
        first_worker, first = next(iter(found.items()))
        for worker, there in found.items():
            _require_same("this machine", installed(), worker, there, ("grader", "code", "distributed"))
            _require_same(first_worker, first, worker, there)
        return list(first)

    def _require_same_protection(self) -> Protection:
        """What confines students' code on every worker; all zygotes start at the same time."""
        answers = self._ask_workers(start_sandbox, self._plugin.name)
        found = {worker: self._protection_in(json.loads(said)) for worker, said in answers.items()}
        first, protection = next(iter(found.items()))
        for worker, other in found.items():
            if other != protection:
                raise GraderError(
                    f"students' code is confined by {protection.name} on {first}, but by {other.name} on "
                    f"{worker}: use machines on which it is the same"
                )
        return protection

    def _protection_in(self, answer: dict[str, Any]) -> Protection:
        """The protection in force when a worker answered; its problem is raised as the error it was there."""
        if "unlike" in answer:
            self._require_alike()
            raise self._unlike(answer)
        if "problem" in answer:
            status, sentence = answer["problem"]
            raise _ERRORS[status](f"on the Dask worker {answer['worker']}, {sentence}")
        return Protection(*answer["protection"])

    def _ask_workers(self, function: Callable[..., Any], *arguments: str) -> dict[str, Any]:
        """What every worker answers, by its address; a worker that is lost meanwhile does not count."""
        answers = self._call(self._client.run, function, *arguments, on_error="return")
        for worker, answer in answers.items():
            if isinstance(answer, Exception) and not isinstance(answer, OSError):
                raise GraderError(
                    f"the Dask worker {worker} has no grader, or another one than {__version__} "
                    f"({type(answer).__name__}: {str(answer)[:200]}): {_ALIKE}"
                )
        found = {worker: said for worker, said in sorted(answers.items()) if not isinstance(said, OSError)}
        if not found:
            raise self._deserted()
        return found

    def _call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except (futures.CancelledError, OSError):
            raise self._scheduler_gone() from None

    def _unlike(self, answer: dict[str, Any]) -> BrokenRunError:
        return _broken(f"the Dask worker {answer['worker']} was not like the others: stop it")

    def _scheduler_gone(self) -> BrokenRunError:
        return _broken(f"the Dask scheduler at {self._address} has gone: start it again")

    def _deserted(self) -> BrokenRunError:
        return _broken(f"all Dask workers have left {self._address}: {self._start_one}")


def _broken(sentence: str) -> BrokenRunError:
    return BrokenRunError(f"{sentence}. The same command goes on where this one stopped")


def _require_same(
    one: str, here: Sequence[str], other: str, there: Sequence[str], names: Sequence[str] = ()
) -> None:
    """Refuse another version of any of these names, or of any name; torch is told of first."""
    mine, theirs = (dict(entry.split(" ", 1) for entry in entries) for entries in (here, there))
    for name in names or sorted(mine | theirs, key=lambda name: (name != "torch", name)):
        versions = mine.get(name, "not installed"), theirs.get(name, "not installed")
        if versions[0] != versions[1]:
            difference = f"{name} is {versions[0]} on {one}, but {versions[1]} on {other}"
            if name in {"code", "inside"}:
                difference = f"the grader's own code is another on {one} than on {other}"
            raise GraderError(f"{difference}: {_ALIKE}")


def _connect(address: str) -> Client:
    """Connect without a word of Dask's on the terminal: what matters becomes a sentence of ours."""
    looks = _ADDRESS.fullmatch(address)
    if not looks or int(looks[1]) >= 1 << 16:
        raise GraderError(f"{address!r} is no address of a Dask scheduler: one looks like tcp://host:8786")
    for name in ("distributed", "distributed.client", "tornado", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})  # a notebook may be large
    connected: futures.Future[Client] = futures.Future()

    def attempt() -> None:
        try:
            client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False, name="grader")
            connected.set_result(client)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            connected.set_exception(error)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions, which are compared more closely than Dask does
            # In a thread, because Dask waits for ever for a port that is no scheduler.
            threading.Thread(target=attempt, daemon=True).start()
            return connected.result(_CONNECT_SECONDS + _GRACE_SECONDS)
    except (TypeError, FileNotFoundError, ssl.SSLError) as error:
        reason = "there is none" if isinstance(error, TypeError) else error
        raise GraderError(
            f"{address} wants a certificate ({reason}): give Dask's settings distributed.comm.tls here too"
        ) from None
    except OSError:
        raise GraderError(
            f"no Dask scheduler answers at {address}: start one (dask scheduler), give the address it prints"
        ) from None
