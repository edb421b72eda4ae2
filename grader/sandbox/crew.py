"""Outside: the workers of a Dask scheduler, and whether they are alike enough for one class.

Dask's own processes trust each other: whoever reaches one may have it unpickle, and so run, anything. They
are ours and run no student's code; what a student's process said crosses Dask as JSON in bytes. Pickled are
names of functions in ``grader.sandbox.dask_worker``, by this side, and errors, by the others.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from grader import errors
from grader.errors import BrokenRunError, GraderError
from grader.sandbox import dask_worker as outpost
from grader.sandbox.zygote import Protection
from grader.version import __version__

if TYPE_CHECKING:
    from distributed import Client

GO_ON = "The same command goes on where this one stopped"
_CONNECT_SECONDS = 10
_GRACE_SECONDS = 5  # for Dask to give up by itself
_WORKERS_SECONDS = 15  # for the first worker to come
_ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?[^\s/]+:(\d{1,5})", re.ASCII)
_ALIKE = "install the same on every machine, with constraints.txt, and grade again"


class Crew:
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

    def introduction(self) -> Introduction:
        """What all workers have in common with each other and, as far as it must be, with this machine.

        Raises:
            GraderError: something differs; it names a worker and the difference.
        """
        found = [Introduction(worker, said) for worker, said in self._all(outpost.introduce).items()]
        here, first = Introduction("this machine", outpost.introduce()), found[0]
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
            for worker, said in self._all(outpost.prove, settings).items()
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


class Introduction:
    """Who it is, what it has, and a digest of that."""

    def __init__(self, name: str, said: bytes) -> None:
        introduced = json.loads(said)
        self.name, self.digest = name, outpost.digest(said)
        self.surroundings: list[str] = introduced["surroundings"]
        self.versions = dict(entry.split(" ", 1) for entry in self.surroundings)
        self.versions |= {"grader": introduced["grader"], "code": introduced["code"]}


def _refuse_difference(name: str, one: Introduction, other: Introduction) -> None:
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
    connected: Future[Client] = Future()

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
