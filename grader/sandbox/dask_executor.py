"""Outside: notebooks observed by the workers of a Dask scheduler, for the one who grades and judges here."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import Future as Promise
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

from grader import errors
from grader.errors import BrokenRunError, GraderError
from grader.notebooks.reader import Cell
from grader.sandbox import dask_worker
from grader.sandbox.evidence import Evidence, parse_evidence
from grader.sandbox.executor import Settings
from grader.sandbox.plan import ProbePlan, TimeLimits
from grader.sandbox.zygote import Protection
from grader.version import __version__

if TYPE_CHECKING:
    from distributed import Client, Future


_LOOK_SECONDS = 5.0  # between looks at the workers, who may come and go
_HOPE_SECONDS = 60.0  # for another worker, where the last one was lost
_FOR_EACH_THREAD = 4  # notebooks, so that none of them waits while a batch is judged here


class DaskExecutor:
    """A station on many machines; connected when the block begins.

    Args:
        address: the scheduler's, as in ``tcp://host:8786``.
        settings: what every zygote is started with.
    """

    max_workers = 1_000  # each only waits for one notebook

    def __init__(self, address: str, settings: Settings) -> None:
        self._address, self._settings = address, dask_worker.packed(settings)
        self._lock = threading.Lock()
        self._protection: Protection | None = None
        self._brought: dict[bytes, Future[bytes]] = {}
        self._waiting: set[Future[bytes]] = set()
        self._threads = 0  # of all workers, when they were looked at
        self._looked = self._peopled = -math.inf  # when that was, and when there was one
        self._looking = threading.Lock()

    def __enter__(self) -> Self:
        self._crew = DaskClient(self._address)
        try:
            self._common = self._crew.introduction()
        except BaseException:
            self._crew.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._crew.close()

    @property
    def environment_fingerprint(self) -> Sequence[str]:
        return self._common.environment_fingerprint

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
    def prefetch(self) -> int:
        self._look()
        return min(self.max_workers, max(1, self._threads) * _FOR_EACH_THREAD)

    def observe(self, cells: Sequence[Cell], questionnaire: ProbePlan, limits: TimeLimits) -> Evidence:
        """What a worker sees.

        Raises:
            GraderError: none could be had, or one is not like the others.
        """
        protection = self.protection
        probes = {name: [asdict(probe) for probe in given] for name, given in questionnaire.probes.items()}
        task = self._submit(
            dask_worker.observe_on_worker,
            self._bring(self._settings),
            self._bring(dask_worker.packed([questionnaire.stubs, probes, questionnaire.handed_out])),
            dask_worker.packed([(cell.number, cell.source) for cell in cells]),
            dask_worker.packed([limits.cell, limits.question, limits.notebook]),
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

    def cancel(self) -> None:
        for task in self._waiting.copy():
            with suppress(Exception):  # the scheduler may have gone
                task.cancel()

    def _bring(self, payload: bytes) -> Future[bytes]:
        """What notebooks have in common, as a task's result: Dask brings it to a worker once."""
        with self._lock:
            if payload not in self._brought:
                self._brought[payload] = self._submit(dask_worker.unchanged, payload)
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


# The workers of a Dask scheduler, and whether they are alike enough for one class.


GO_ON = "The same command goes on where this one stopped"
_CONNECT_SECONDS = 10
_GRACE_SECONDS = 5  # for Dask to give up by itself
_WORKERS_SECONDS = 15  # for the first worker to come
_ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?[^\s/]+:(\d{1,5})", re.ASCII)
_ALIKE = "install the same on every machine, with constraints.txt, and grade again"


class DaskClient:
    """Connected to a scheduler, with one worker at least.

    Args:
        address: the scheduler's, as in ``tcp://host:8786``.

    Raises:
        GraderError: nobody is there.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.client = _connect(address)
        try:
            self.client.wait_for_workers(1, timeout=_WORKERS_SECONDS)
        except BaseException as error:
            self.close()
            if not isinstance(error, TimeoutError | OSError):
                raise
            raise GraderError(f"no Dask worker is connected to {address}: {self.start_one}") from None

    @property
    def start_one(self) -> str:
        """What to do where there is no worker."""
        return f"start one on each machine (dask worker {self.address})"

    def close(self) -> None:
        """Go; the scheduler may have gone before."""
        with suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.client.close(timeout=_CONNECT_SECONDS)

    def threads(self) -> int:
        """How many threads all workers have just now."""
        return int(self.client.scheduler_info(n_workers=0).get("total_threads", 0))

    def introduction(self) -> WorkerInfo:
        """What all workers have in common with each other and, as far as it must be, with this machine.

        Raises:
            GraderError: something differs; it names a worker and the difference.
        """
        found = [WorkerInfo(worker, said) for worker, said in self._all(dask_worker.worker_info).items()]
        here, first = WorkerInfo("this machine", dask_worker.worker_info()), found[0]
        for other in found:
            for name in ("grader", "code", "distributed"):
                _refuse_difference(name, here, other)
            for name in sorted({*first.versions, *other.versions}, key=lambda name: (name != "torch", name)):
                _refuse_difference(name, first, other)
        return first

    def protection(self, settings: bytes) -> Protection:
        """What confines students' code on every worker; their zygotes start, all at the same time.

        Raises:
            ProtectionError: on a worker it cannot be had.
            GraderError: it is not the same on all.
        """
        found = {
            worker: Protection(**unless_problem(worker, json.loads(said))["protection"])
            for worker, said in self._all(dask_worker.start_sandbox, settings).items()
        }
        first, protection = next(iter(found.items()))
        for worker, other in found.items():
            if other.name != protection.name:
                raise GraderError(
                    f"students' code is confined by {protection.name} on {first}, but by {other.name} on "
                    f"{worker}: use machines on which it is the same"
                )
        return protection

    def _all(self, function: Callable[..., Any], *arguments: bytes) -> dict[str, bytes]:
        """What every worker answers, by its address; who is lost meanwhile does not count."""
        try:
            answers = self.client.run(function, *arguments, on_error="return")
        except (CancelledError, OSError):
            raise self.scheduler_gone() from None
        for worker, answer in answers.items():
            if not isinstance(answer, bytes | OSError):
                raise GraderError(
                    f"the Dask worker {worker} has no grader, or another one than {__version__} "
                    f"({type(answer).__name__}: {str(answer)[:200]}): {_ALIKE}"
                )
        found = {worker: answers[worker] for worker in sorted(answers) if type(answers[worker]) is bytes}
        if not found:
            raise self.deserted()
        return found

    def scheduler_gone(self) -> BrokenRunError:
        """An error that says so."""
        return BrokenRunError(f"the Dask scheduler at {self.address} has gone: start it again. {GO_ON}")

    def deserted(self) -> BrokenRunError:
        """An error that says that there are no workers any more."""
        return BrokenRunError(f"all Dask workers have left {self.address}: {self.start_one}. {GO_ON}")


class WorkerInfo:
    """Who it is, what it has, and a digest of that."""

    def __init__(self, name: str, said: bytes) -> None:
        introduced = json.loads(said)
        self.name, self.digest = name, dask_worker.digest(said)
        self.environment_fingerprint: list[str] = introduced["surroundings"]
        self.versions = dict(entry.split(" ", 1) for entry in self.environment_fingerprint)
        self.versions |= {"grader": introduced["grader"], "code": introduced["code"]}


def _refuse_difference(name: str, one: WorkerInfo, other: WorkerInfo) -> None:
    here, there = (side.versions.get(name, "not installed") for side in (one, other))
    if here == there:
        return
    what = f"{name} is {here} on {one.name}, but {there} on {other.name}"
    if name in {"code", "inside"}:
        what = f"the grader's own code is another on {one.name} than on {other.name}"
    raise GraderError(f"{what}: {_ALIKE}")


def unless_problem(worker: str, answer: dict[str, Any]) -> dict[str, Any]:
    """An answer, if it is no problem; a problem is raised, as the kind of error that it was there."""
    if (problem := answer.get("problem")) is None:
        return answer
    kinds = {kind.__name__: kind for kind in (errors.ProtectionError, errors.BrokenRunError)}
    raise kinds.get(problem["kind"], GraderError)(f"on the Dask worker {worker}, {problem['text']}")


def _connect(address: str) -> Client:
    """Connect without a word of Dask's on the terminal: what matters becomes a sentence of ours."""
    try:
        import dask  # noqa: PLC0415 - an extra, half a second
        from distributed import Client  # noqa: PLC0415
    except ImportError:
        raise GraderError(
            "--scheduler needs Dask, which is not installed here: run pip install '.[cluster]' in the "
            "course's folder, on this machine and on all that shall grade"
        ) from None
    _require_address(address)
    for name in ("distributed", "distributed.client", "tornado", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})  # a notebook may be large
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of versions, which are compared more closely than Dask does
            return _in_time(
                lambda: Client(address, timeout=_CONNECT_SECONDS, set_as_default=False, name="grader")
            )
    except OSError:
        raise GraderError(
            f"no Dask scheduler answers at {address}: start one (dask scheduler) and give the "
            "address it prints"
        ) from None


def _in_time(connect: Callable[[], Client]) -> Client:
    """Connect; whoever listens there without being a scheduler is not listened to for ever, as Dask would."""
    connected: Promise[Client] = Promise()

    def attempt() -> None:
        try:
            connected.set_result(connect())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            connected.set_exception(error)

    threading.Thread(target=attempt, daemon=True).start()
    return connected.result(_CONNECT_SECONDS + _GRACE_SECONDS)


def _require_address(address: str) -> None:
    """Refuse what Dask itself would refuse after a while, with a traceback."""
    from distributed import Security  # noqa: PLC0415 - an extra

    looks = _ADDRESS.fullmatch(address)
    if not looks or int(looks[1]) >= 1 << 16:
        raise GraderError(f"{address!r} is no address of a Dask scheduler: one looks like tcp://host:8786")
    reason = "there is none"
    try:
        if not address.startswith("tls:") or Security().get_connection_args("client")["ssl_context"]:
            return
    except OSError as error:
        reason = str(error)
    raise GraderError(
        f"{address} wants a certificate ({reason}): give the settings distributed.comm.tls of Dask here too"
    )
