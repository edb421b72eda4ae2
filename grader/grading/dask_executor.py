"""Observes notebooks on the workers of a Dask scheduler; judging and writing stay on this machine.

Dask's own processes are ours. They unpickle everything that they send each other, so Dask is no trust
boundary: student code runs only in the processes of each worker's zygote, which have no sockets. Its answers
travel through Dask as JSON, which is decoded here as strictly as on one machine.

* Workers must have the same packages, Python, grader code and sandbox. The plugin that holds a worker's
  zygote knows the required versions, so a worker that joins later with other versions runs no notebook.
  pip, setuptools and wheel may differ.
* The plugin is named by the zygote's settings and by what is installed. Graders of one course share it,
  and it stays when a grader is killed; its zygote ends after a minute without work.
* A plan is the result of a task, not scattered data: Dask computes it again where it was lost with a worker,
  while scattered data is gone with the last worker that held it.
* An address is checked before Dask sees it, and connecting has a deadline of ours: Dask hangs over a port
  beyond 65535, and for ever over a port that is no scheduler.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager, suppress
from copy import copy
from functools import lru_cache
from typing import Any, Self, cast

import dask
from dask.base import tokenize
from distributed import Client, Future, KilledWorker, Worker, WorkerPlugin, get_worker

from grader.errors import BrokenRunError, GraderError
from grader.grading.executor import Executor, Settings, environment_fingerprint
from grader.notebooks.reader import Cell
from grader.sandbox.decoding import MalformedError
from grader.sandbox.evidence import REASONS, Evidence, Failure
from grader.sandbox.observer import observe
from grader.sandbox.plan import ObservationPlan, TimeLimits
from grader.sandbox.zygote import ActiveSandbox, Zygote, ZygoteGoneError
from grader.version import __version__, code_hash

_CONNECT_SECONDS = 30  # of which Dask gives the first attempt a fifth; on a busy machine 10 were too few
_WORKERS_SECONDS = 15  # for the first worker to come
_LOOK_SECONDS = 5.0  # between looks whether there are workers, which may come and go
_HOPE_SECONDS = 60.0  # for another worker, where the last one was lost
_FOR_EACH_THREAD = 4  # notebooks, so that none of them waits while a batch is judged here
_IDLE_SECONDS = 60.0  # after which an unused zygote ends, also if the grader was killed
_ALIKE = "install the same on every machine, with constraints.txt, and grade again"
_ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?[^\s/]+:(\d{1,5})", re.ASCII)


class DaskExecutor(Executor):
    """Workers of many machines, which have to be alike; connected when the block begins."""

    max_workers = 1_000  # threads here, each of which only waits for a notebook

    def __init__(self, address: str, settings: Settings) -> None:
        super().__init__()
        self._address, self._settings = address, settings
        self._start_one = f"start one on each machine (dask worker {address})"
        self._deserted = f"all Dask workers have left {address}: {self._start_one}"
        self._gone = f"the Dask scheduler at {address} has gone: start it again"
        self._plans: dict[str, Future[ObservationPlan]] = {}

    def __enter__(self) -> Self:
        self._client = _connect(self._address)
        try:
            self._client.wait_for_workers(1, timeout=_WORKERS_SECONDS)
            self._plugin = ZygotePlugin(self._settings, self._require_alike())
            self._client.register_plugin(self._plugin)
        except BaseException as error:
            self.__exit__()
            if not isinstance(error, OSError):
                raise
            raise GraderError(f"no Dask worker is connected to {self._address}: {self._start_one}") from None
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):  # the scheduler may have gone before
            self._client.close(timeout=_CONNECT_SECONDS)

    @property
    def environment_fingerprint(self) -> Sequence[str]:
        return [entry for entry in self._plugin.expected if not entry.startswith(("grader ", "grader-code "))]

    @property
    def prefetch(self) -> int:
        return min(self.max_workers, max(1, self._count_threads()) * _FOR_EACH_THREAD)

    def _start(self) -> ActiveSandbox:
        answers = [*map(json.loads, self._ask_workers(start_sandbox, self._plugin.name).values())]
        sandbox = ActiveSandbox(*answers[0]["protection"])
        for answer in answers:
            _require_same_sandbox(sandbox, answer)
        return sandbox

    def observe(self, cells: Sequence[Cell], plan: ObservationPlan, limits: TimeLimits) -> Evidence:
        sandbox = self.start()
        sent = json.dumps([(cell.number, cell.source) for cell in cells]).encode()
        arguments = self._plugin.name, self._share(plan), sent, limits
        task = self._client.submit(observe_on_worker, *arguments, pure=False, retries=2)
        try:
            answer = json.loads(self._result(task))
            _require_same_sandbox(sandbox, answer)
            return Evidence.from_json(answer["evidence"])
        except MalformedError:  # that notebook's fault alone
            return Evidence(fault=REASONS[Failure.MALFORMED])
        except (AttributeError, KeyError, TypeError, ValueError):
            raise _broken(f"a Dask worker of {self._address} sent no evidence") from None

    def _share(self, plan: ObservationPlan) -> Future[ObservationPlan]:
        """The plan that notebooks share, sent to each worker once."""
        key = f"plan-{tokenize(plan)}"
        with self._lock:
            if key not in self._plans:
                self._plans[key] = self._client.submit(copy, plan, key=key)
            return self._plans[key]

    def _result(self, task: Future[bytes]) -> bytes:
        """The result of a task; Dask itself runs a task again if its worker was lost or a zygote ended."""
        last_peopled = time.monotonic()
        while True:
            try:
                return task.result(timeout=_LOOK_SECONDS)
            except TimeoutError:
                if self._count_threads():
                    last_peopled = time.monotonic()
                elif time.monotonic() - last_peopled > _HOPE_SECONDS:
                    raise _broken(self._deserted) from None
            except KilledWorker as error:
                lost = "one Dask worker after the other was lost over the same notebook, the last at"
                address = error.last_worker.address
                raise _broken(f"{lost} {address}: its log says why; often it is memory") from None
            except (futures.CancelledError, asyncio.CancelledError, OSError):
                raise _broken(self._gone) from None
            except GraderError:
                raise
            except Exception as error:  # noqa: BLE001 - a failed task raises anything
                raise _broken(f"a Dask worker of {self._address} failed ({error!r:.200})") from None

    def _count_threads(self) -> int:
        """How many threads the workers have, all together."""
        with suppress(Exception):  # a call that waits for a result reports that the scheduler has gone
            return int(self._client.scheduler_info(n_workers=0)["total_threads"])
        return 1

    def _require_alike(self) -> list[str]:
        """The packages on all workers; GraderError if they differ, or if their grader is another one."""
        answers = self._ask_workers(installed)
        first_worker, first = next(iter(answers.items()))
        for worker, there in answers.items():
            require_same(
                "this machine",
                installed(),
                worker,
                there,
                ("grader", "grader-code", "distributed"),
            )
            require_same(first_worker, first, worker, there)
        return list(first)

    def _ask_workers(self, function: Callable[..., Any], *arguments: str) -> dict[str, Any]:
        """The answer of each worker by its address, without workers that are lost meanwhile."""
        try:
            answers = self._client.run(function, *arguments, on_error="return")
        except (futures.CancelledError, OSError):
            raise _broken(self._gone) from None
        for worker, answer in answers.items():
            if isinstance(answer, GraderError):
                raise answer
            if isinstance(answer, Exception) and not isinstance(answer, OSError):
                raise GraderError(
                    f"the Dask worker {worker} has no grader, or another one than {__version__} "
                    f"({type(answer).__name__}: {str(answer)[:200]}): {_ALIKE}"
                )
        living = {worker: said for worker, said in sorted(answers.items()) if not isinstance(said, OSError)}
        if not living:
            raise _broken(self._deserted)
        return living


def _require_same_sandbox(expected: ActiveSandbox, answer: dict[str, Any]) -> None:
    if (there := ActiveSandbox(*answer["protection"])) != expected:
        raise GraderError(
            f"students' code is confined by {there.name} on {answer['worker']}, but by {expected.name} on "
            "others: use machines on which it is the same"
        )


def _broken(sentence: str) -> BrokenRunError:
    return BrokenRunError(f"{sentence}. The same command continues where this one stopped")


class _Client(Client):
    """A client that is closed by hand only.

    The garbage collector closes Dask's own, such as one that found no certificate. Where that happens while
    another client starts in the same thread, it waits for a lock which that thread holds: for ever, and with
    it every later client of the process.
    """

    def __del__(self) -> None:
        pass


def _connect(address: str) -> Client:
    """Connect without Dask's output: problems become our errors."""
    looks = _ADDRESS.fullmatch(address)
    if not looks or int(looks[1]) >= 1 << 16:
        raise GraderError(
            f"{address!r} is not the address of a Dask scheduler: write one such as tcp://host:8786"
        )
    for name in ("distributed", "distributed.client", "tornado", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", module="distributed")  # versions are compared more closely here
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})  # a notebook may be large
    connected: futures.Future[Client] = futures.Future()

    def attempt() -> None:
        try:
            client = _Client(  # type: ignore[no-untyped-call]
                address, timeout=_CONNECT_SECONDS, set_as_default=False, name="grader"
            )
            connected.set_result(client)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            connected.set_exception(error)

    try:
        # In a thread, because Dask waits for ever for a port that is no scheduler.
        threading.Thread(target=attempt, daemon=True).start()
        return connected.result(_CONNECT_SECONDS + 5)
    except (TypeError, FileNotFoundError, ssl.SSLError) as error:
        reason = "there is none" if isinstance(error, TypeError) else error
        settings = "Dask's settings distributed.comm.tls"
        raise GraderError(f"{address} wants a certificate ({reason}): give {settings} here too") from None
    except OSError as error:
        raise GraderError(
            f"no Dask scheduler answers at {address}: start one (dask scheduler), give the address it prints"
        ) from error


# What runs on a Dask worker.


@lru_cache(maxsize=1)
def installed() -> list[str]:
    """Names and versions: the grader, its code, and the environment, as they were when first asked for."""
    return [f"grader {__version__}", f"grader-code {code_hash()[:16]}", *environment_fingerprint()]


def require_same(one: str, here: list[str], other: str, there: list[str], names: Iterable[str] = ()) -> None:
    """Refuse another version of any of these names, or of any name; the error names torch first."""
    ours, theirs = (dict(entry.split(" ", 1) for entry in entries) for entries in (here, there))
    for name in names or sorted(ours | theirs, key=lambda name: (name != "torch", name)):
        if ours.get(name) != theirs.get(name):
            versions = [side.get(name, "not installed") for side in (ours, theirs)]
            raise GraderError(f"{name} is {versions[0]} on {one}, but {versions[1]} on {other}: {_ALIKE}")


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
        """The result of a task and the sandbox in force, as JSON; an error names the worker."""
        try:
            require_same("the others", self.expected, "it", installed())
            with self._borrowed() as zygote:
                sandbox = [zygote.sandbox.name, zygote.sandbox.torch]
                return json.dumps({"worker": self._worker, "protection": sandbox, **task(zygote)}).encode()
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
    """Start the sandbox and return its name; runs on a Dask worker, beside its tasks."""
    return await asyncio.to_thread(dask_worker.plugins[plugin].answer, lambda _: {})


def observe_on_worker(plugin: str, plan: ObservationPlan, cells: bytes, limits: TimeLimits) -> bytes:
    """Observe one notebook. Runs on a Dask worker, in one of its threads."""
    numbered = [Cell(number, source) for number, source in json.loads(cells)]
    holder = cast("ZygotePlugin", get_worker().plugins[plugin])
    return holder.answer(lambda zygote: {"evidence": observe(zygote, numbered, plan, limits).to_json()})
