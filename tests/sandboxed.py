"""Outside and inside: runs a function of a test in the sandbox and tells what came of it.

Imported, this offers `run_in_sandbox`. As a program it is the zygote: a fresh process without threads and
without pytest, which prepares the sandbox, forks a child into it, and prints what happened as JSON.
"""

import contextlib
import fcntl
import importlib
import inspect
import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What a test's function may name: the modules it and this file both import.
MODULES = (
    *(contextlib, fcntl, importlib, os, pathlib),
    *(resource, signal, sys, threading, time),
)
READ_SEARCH = 1 << 2
PR_SET_DUMPABLE = 4


@dataclass
class Outcome:
    """What a sandboxed child answered or raised, how it ended, and what /proc said of it meanwhile."""

    answer: object = None
    raised: str | None = None
    status: int = 0
    process: dict[str, str] = field(default_factory=dict)
    kept: list[int] = field(default_factory=list)
    protection: str = ""
    oom_score_adj: int | None = None

    @property
    def signal(self) -> int:
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else 0


def run_in_sandbox(function, place, **options) -> Outcome:
    """Call `function(place)` in a sandboxed child, started from its source.

    Options: those of `Sandbox.prepare`; `extra` (more readable paths, importable too), `headroom` (bytes
    above what the zygote has), `uid` or `groups` (become that first), `without_read_search`,
    `landlock_version`, `few_users` (as in a container).
    """
    return Outcome(**_answer(order_to_call(function, place, **options)))


def run_preflight(place, **options) -> list[str]:
    """Run the preflight in a fresh zygote; the options are the same."""
    return _answer({"place": str(place), **options})


def start_zygote(order, keep=()) -> subprocess.Popen:
    """Start a zygote which works off the order it reads; `keep` are descriptors its child holds on to."""
    zygote = subprocess.Popen(
        [sys.executable, "-I", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=order["place"],
        pass_fds=keep,
    )
    zygote.stdin.write(json.dumps({**order, "keep": keep}) + "\n")
    zygote.stdin.flush()
    return zygote


def order_to_call(function, place, **options):
    """Write down what a zygote needs to call the function, wherever it runs."""
    source = textwrap.dedent(inspect.getsource(function))
    return {"source": source, "name": function.__name__, "place": str(place), **options}


def _answer(order):
    with start_zygote(order) as zygote:
        try:
            stdout, stderr = zygote.communicate(timeout=60)
        finally:
            zygote.kill()
    assert zygote.returncode == 0, stderr
    return json.loads(stdout)


def _serve():
    order = json.loads(sys.stdin.readline())
    sys.path[:0] = order.get("extra", ())
    sys.path.append(str(ROOT))
    from grader.sandbox.worker import access  # noqa: PLC0415 - exists only in the zygote
    from grader.sandbox.worker.access import readable_paths  # noqa: PLC0415
    from grader.sandbox.worker.confinement import Sandbox  # noqa: PLC0415
    from grader.sandbox.worker.preflight import preflight  # noqa: PLC0415

    readable_paths()  # loads what it needs while this process may still read it
    _become(order)
    if "landlock_version" in order:
        access.landlock_version = lambda: order["landlock_version"]
    if order.get("few_users"):
        access._mapped = lambda _: [(0, 100000, 65536)]
    sandbox = Sandbox.prepare(
        readable=[*readable_paths(), *order.get("extra", ())],
        cpu_seconds=order.get("cpu_seconds", 20),
        memory_bytes=_address_space() + order.get("headroom", 256 << 20),
        sandbox=order.get("sandbox", True),
        landlock=order.get("landlock", True),
    )
    sys.stdout.write(json.dumps(_watch(sandbox, order) if "source" in order else preflight(sandbox).failures))


def _become(order):
    from grader.sandbox.worker.syscalls import syscall  # noqa: PLC0415

    if "groups" in order:
        os.setgroups(order["groups"])
    if order.get("without_read_search"):
        held = int(_status("self")["CapPrm"], 16) & ~READ_SEARCH
        low, high = held & 0xFFFFFFFF, held >> 32
        header = struct.pack("=Ii", 0x20080522, 0)
        syscall("capset", header, struct.pack("=6I", low, low, 0, high, high, 0))
    if uid := order.get("uid"):
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        syscall("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)  # as any program this user starts


def _address_space():
    return int(_status("self")["VmSize"].split()[0]) << 10


def _status(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def _watch(sandbox, order):
    """Fork the child, take its answer, look at it through /proc while it waits, and let it end."""
    answer_reads, answer_writes = os.pipe()
    leave_reads, leave_writes = os.pipe()
    child = os.fork()
    if child == 0:
        _call_and_exit(sandbox, order, answer_writes, leave_reads)
    os.close(answer_writes)
    answer = b""
    while not answer.endswith(b"\n") and (piece := os.read(answer_reads, 1 << 16)):
        answer += piece
    owner = str(pathlib.Path(f"/proc/{child}/mem").stat().st_uid)
    process = {**_status(child), "owner": owner} if answer else {}
    goes = int(pathlib.Path(f"/proc/{child}/oom_score_adj").read_text())
    os.close(leave_writes)
    status = os.waitpid(child, 0)[1]
    told = json.loads(answer) if answer else {}
    kept = [answer_writes, leave_reads]
    return {
        **told,
        "status": status,
        "process": process,
        "kept": kept,
        "protection": sandbox.protection,
        "oom_score_adj": goes,
    }


def _call_and_exit(sandbox, order, answer, leave):
    try:
        names = {module.__name__: module for module in MODULES}
        exec(order["source"], names)
        sandbox.enter({answer, leave, *order.get("keep", ())})
        try:
            told = {"answer": names[order["name"]](order["place"], *order.get("keep", ()))}
        except BaseException as error:  # noqa: BLE001 - it is the answer
            told = {"raised": type(error).__name__}
        os.write(answer, json.dumps(told).encode() + b"\n")
        os.read(leave, 1)
    finally:
        os._exit(0)


if __name__ == "__main__":
    _serve()
