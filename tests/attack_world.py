"""What lies around a grader for attacks to find, open to everybody: only the sandbox protects it."""

import contextlib
import fcntl
import os
import socketserver
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grader.course.course import Course
from grader.sandbox import zygote

_MARK = "ATTACK_WORLD"  # in the environment of the zygote, of its workers and of whatever they leave behind
NEIGHBOUR = "__NEIGHBOUR__"
_FIRST_WORKER_UID = 0x70000000
_LOOT = ("/tmp", "/dev/shm", "/var/tmp")


@dataclass
class World:
    """The surroundings of one run."""

    folder: Path  # of ``answer.py``, ``answers.sock`` and ``writable/``
    port: int  # TCP and UDP, on 127.0.0.1
    course: Course
    _neighbours: list[subprocess.Popen] = field(default_factory=list)

    def places(self) -> dict[str, str]:
        """What takes the place of each placeholder but the neighbour's."""
        return {
            "__OUTSIDE__": str(self.folder),
            "__PORT__": str(self.port),
            "__COURSE__": str(self.course.root),
        }

    def neighbour(self) -> dict[str, str]:
        """The placeholder of a process that must survive, started for one attack."""
        started = subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        threading.Thread(target=started.wait, daemon=True).start()  # once dead it shall be gone
        self._neighbours.append(started)
        return {NEIGHBOUR: str(started.pid)}

    def survivors(self, zygote: int) -> list[int]:
        """Processes that workers of this run left behind; the zygote itself is none."""
        mark = f"{_MARK}={self.folder}"
        orphans = [pid for pid in _processes() if _is_orphaned_worker(pid)]
        return [pid for pid in (*marked(mark), *orphans) if pid != zygote]

    def loot(self) -> list[str]:
        """Whatever was written in the places where an attack may write."""
        found = [path for place in _LOOT for path in Path(place).glob("*loot*")]
        for place in ("", "solutions", "tests/hidden"):
            found += filter(Path.is_file, (self.course.root / place).glob("*loot*"))
        found += (self.folder / "writable").iterdir()
        found += set(self.folder.iterdir()) - {self.folder / name for name in _OWN}
        if (self.folder / "answer.py").read_text(encoding="utf-8") != answer_of(self.course):
            found.append(self.folder / "answer.py")
        return sorted(map(str, found))

    def tidy(self) -> None:
        """Take away what was written, so that it is blamed on nobody else."""
        for path in map(Path, self.loot()):
            path.unlink(missing_ok=True)
        (self.folder / "answer.py").write_text(answer_of(self.course), encoding="utf-8")

    def close(self) -> None:
        """End the neighbours."""
        for neighbour in self._neighbours:
            neighbour.kill()
        for neighbour in self._neighbours:
            neighbour.wait()


_OWN = ("answer.py", "answers.sock", "writable")


def answer_of(course: Course) -> str:
    """The right answer of the question most attacks answer."""
    return course.assignments["01_leaves"].questions[0].answer


@contextlib.contextmanager
def world(course: Course) -> Iterator[World]:
    """Lay everything out, and clean it up."""
    text = answer_of(course)
    with contextlib.ExitStack() as stack:
        made = tempfile.TemporaryDirectory(prefix="attack-world-", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(made))
        (folder / "answer.py").write_text(text, encoding="utf-8")
        (folder / "writable").mkdir()
        for path in (folder, *folder.iterdir()):
            path.chmod(0o777)
        port = _serve(stack, folder / "answers.sock", text.encode())
        stack.enter_context(_surroundings(text, folder))
        around = World(folder, port, course)
        stack.callback(around.close)
        yield around


def _serve(stack: contextlib.ExitStack, path: Path, text: bytes) -> int:
    """Tell the answer to whoever asks: by TCP, by UDP on the same port, and by a Unix socket."""

    class Stream(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                self.request.sendall(text)

    class Packet(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request[1].sendto(text, self.client_address)

    tcp = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Stream)
    port = tcp.server_address[1]
    udp = socketserver.ThreadingUDPServer(("127.0.0.1", port), Packet)
    unix = socketserver.ThreadingUnixStreamServer(str(path), Stream)
    path.chmod(0o777)
    for server in (tcp, udp, unix):
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        stack.callback(server.server_close)
        stack.callback(server.shutdown)
    return port


@contextlib.contextmanager
def _surroundings(text: str, folder: Path) -> Iterator[None]:
    """The answer in the environment and behind an inheritable descriptor; the mark of this run."""
    clean, before = zygote._environment, os.environ.get("ANSWER")  # of a world around this one
    opened = os.open(folder / "answer.py", os.O_RDONLY)
    inherited = fcntl.fcntl(opened, fcntl.F_DUPFD, 40)
    os.close(opened)
    zygote._environment = lambda: {**clean(), _MARK: str(folder)}
    os.environ["ANSWER"] = text
    try:
        yield
    finally:
        del os.environ["ANSWER"]
        os.environ.update({} if before is None else {"ANSWER": before})
        zygote._environment = clean
        os.close(inherited)


def marked(mark: str) -> list[int]:
    """Processes in whose environment there is an entry that begins with this."""
    begin = mark.encode()
    return [pid for pid in _processes() if any(e.startswith(begin) for e in _environment_of(pid))]


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _environment_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _is_orphaned_worker(pid: int) -> bool:
    """Whether a process has a worker's uid and no zygote any more."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    return int(status["Uid"].split()[0]) >= _FIRST_WORKER_UID and int(status["PPid"]) <= 1
