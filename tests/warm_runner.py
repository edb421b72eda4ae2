"""Outside: a Python that has imported torch, and is forked where `python -c` would start a fresh one.

To import torch takes a second and a half, and what a notebook of a student does then is the same in a fork.
`test_student_check.py` and `test_kernel_notebook.py` start fresh ones, too.
"""

import contextlib
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])


class Server:
    """The process that is forked; `modules` are what it imports before."""

    def __init__(self, *modules):
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno()), *modules],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "MPLBACKEND": "agg", "PYTHONUNBUFFERED": "1"},
                start_new_session=True,  # Ctrl-C is for the tests
            )

    def close(self):
        self._control.close()
        self._process.wait()

    def popen(self, command, *, stdin, stdout, stderr, cwd, env, **_):
        """As `subprocess.Popen`, for `python -c` and a pipe."""
        python, *options, code, argv = *command[: command.index("-c") + 2], command[command.index("-c") + 2 :]
        assert (python, {*options} - {"-P", "-c"}, stdin) == (sys.executable, set(), subprocess.PIPE)
        (read, write), (ended, status) = os.pipe(), os.pipe()
        nothing = os.open(os.devnull, os.O_WRONLY)
        shown = [nothing if to == subprocess.DEVNULL else own for to, own in ((stdout, 1), (stderr, 2))]
        request = {"code": code, "argv": ["-c", *map(str, argv)], "cwd": str(cwd), "env": env}
        socket.send_fds(self._control, [json.dumps(request).encode()], [read, *shown, status])
        for descriptor in (read, nothing, status):
            os.close(descriptor)
        return Forked(int(self._control.recv(16)), os.fdopen(write, "wb"), ended)


class Forked:
    """What is needed of a Popen; somebody else is the parent, and writes how it ended."""

    def __init__(self, pid, stdin, ended):
        self.pid, self.stdin, self.returncode = pid, stdin, None
        self._ended = ended

    def poll(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout=None):
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a notebook", timeout)
            self.returncode = int(os.read(self._ended, 16))
            os.close(self._ended)
        return self.returncode

    def communicate(self):
        with contextlib.suppress(OSError):  # what was not sent is for nobody any more
            self.stdin.close()
        self.wait()


def in_ipython(script, cells, folder, popen=subprocess.Popen, **environment):
    """What a script writes about cells: its arguments are these as JSON, and the file to write to."""
    seen = folder / "seen.json"
    process = popen(
        [sys.executable, "-c", script, json.dumps(cells), seen],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=None,
        cwd=folder,
        env={**os.environ, "IPYTHONDIR": str(folder), "PYTHONPATH": ROOT, **environment},
    )
    process.communicate()
    assert process.returncode == 0
    return json.loads(seen.read_text(encoding="utf-8"))


def serve(control):
    """Fork for each request; returns in the fork, as the process that was asked for, with its code."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, 1 << 20, 4)
        if not request:
            os._exit(0)
        if os.fork() == 0:
            break
        for descriptor in descriptors:
            os.close(descriptor)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, status = descriptors
    if pid := os.fork():
        for descriptor in streams:
            os.close(descriptor)
        _, ended = os.waitpid(pid, 0)
        os.write(status, str(os.waitstatus_to_exitcode(ended)).encode())
        os._exit(0)
    os.close(status)
    os.setsid()
    control.send(str(os.getpid()).encode())
    control.close()
    for own, descriptor in enumerate(streams):
        os.dup2(descriptor, own)
        os.close(descriptor)
    asked = json.loads(request)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.argv = asked["argv"]
    return asked["code"]


if __name__ == "__main__":
    sys.path.insert(0, ROOT)
    _, number, *modules = sys.argv
    for module in modules:
        importlib.import_module(module)
    sys.path.remove(ROOT)
    exec(serve(socket.socket(fileno=int(number))), {"__name__": "__main__"})
