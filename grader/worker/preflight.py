"""Inside the worker: the preflight attacks the cage from within before any student's code enters it."""

import contextlib
import json
import os
import select
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from .attacks import Target, attacks, controls, refused, works
from .cage import Cage, CageError


def preflight(cage: Cage, seconds: float = 10.0) -> list[str]:
    """Fork a child into the cage and let it try to break out.

    Call it in the zygote, while that has one thread.

    Args:
        cage: the prepared cage.
        seconds: time after which the child is killed.

    Returns:
        The attacks that were not stopped and the controls that failed, by name; an empty list means that the
        cage holds.
    """
    reading, writing = os.pipe()
    with _target(writing) as target:
        child = os.fork()
        if child == 0:
            _attack_and_exit(cage, target)
        os.close(writing)
        try:
            answer = _read(reading, time.monotonic() + seconds)
        finally:
            os.close(reading)
            os.kill(child, signal.SIGKILL)  # most often it has ended already
            status = os.waitpid(child, 0)[1]
    if answer is None or status != 0:
        return ["the preflight did not end by itself"]
    return [str(name) for name in json.loads(answer)]


@contextlib.contextmanager
def _target(pipe: int) -> Iterator[Target]:
    """Lay out a folder and a file that permission bits open to everybody: only the cage protects them."""
    with tempfile.TemporaryDirectory(prefix="preflight-") as name:
        folder = Path(name)
        file = folder / "answers.py"
        file.write_text("expected = 42\n", encoding="utf-8")
        file.chmod(0o644)
        folder.chmod(0o777)
        places = dict.fromkeys((folder, Path("/tmp"), Path.cwd()))  # noqa: S108 - where an attacker writes
        writable = tuple(place / f"{folder.name}.written" for place in places)
        try:
            yield Target(folder, file, writable, pipe)
        finally:
            for path in writable:
                with contextlib.suppress(OSError):
                    path.unlink()


def _attack_and_exit(cage: Cage, target: Target) -> NoReturn:
    status = 1
    try:
        os.write(target.pipe, json.dumps(_findings(cage, target)).encode())
        status = 0
    finally:
        os._exit(status)


def _findings(cage: Cage, target: Target) -> list[str]:
    sealed = cage.protection == "sealed seccomp"
    try:
        cage.enter({target.pipe})
    except CageError as error:
        return [str(error)]
    open_ways = [name for name, attack in attacks(target, sealed=sealed).items() if not refused(attack)]
    failures = [name for name, control in controls(sealed=sealed).items() if not works(control)]
    return open_ways + failures


def _read(descriptor: int, deadline: float) -> bytes | None:
    """Read until the other end closes; None when that takes longer than the deadline."""
    answer = b""
    while select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            return answer
        answer += piece
    return None
