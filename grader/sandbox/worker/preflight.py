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
from typing import NamedTuple, NoReturn

from .attacks import Target, attacks, controls, refused, works
from .cage import Cage, CageError


class Findings(NamedTuple):
    """What the preflight found.

    Attributes:
        attacks: for each attack, whether it was stopped.
        controls: for each ordinary thing, whether it works.
        trouble: why nothing could be tried; None when it could.
    """

    attacks: dict[str, bool]
    controls: dict[str, bool]
    trouble: str | None = None

    @property
    def failures(self) -> list[str]:
        """What got through, is broken or went wrong; an empty list means that the cage holds."""
        names = [name for name, good in {**self.attacks, **self.controls}.items() if not good]
        return [self.trouble, *names] if self.trouble else names


def preflight(cage: Cage, seconds: float = 10.0) -> Findings:
    """Fork a child into the cage and let it try to break out.

    Call it in the zygote, while that has one thread.

    Args:
        cage: the prepared cage.
        seconds: time after which the child is killed.

    Returns:
        The outcome of every attack and every control, by name.
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
        return Findings({}, {}, "the preflight did not end by itself")
    return Findings(*json.loads(answer))


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


def _findings(cage: Cage, target: Target) -> Findings:
    sealed = cage.protection == "sealed seccomp"
    try:
        cage.enter({target.pipe})
    except CageError as error:
        return Findings({}, {}, str(error))
    stopped = {name: refused(attack) for name, attack in attacks(target, sealed=sealed).items()}
    return Findings(stopped, {name: works(control) for name, control in controls(sealed=sealed).items()})


def _read(descriptor: int, deadline: float) -> bytes | None:
    """Read until the other end closes; None when that takes longer than the deadline."""
    answer = b""
    while select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            return answer
        answer += piece
    return None
