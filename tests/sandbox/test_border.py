"""What students' code tries to have of the outside, and that it gets nothing."""

import ast
import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import tempfile

import pytest
from observing import SECRET, look, request

from grader.course.course import Course, observe_reference
from grader.sandbox.plan import TimeLimits
from grader.sandbox.worker import syscalls
from grader.sandbox.zygote import Zygote

PATIENT = TimeLimits(cell=30, question=90, notebook=300)
PATIENTLY = request("f", "student.f()", seconds=80)  # takes its time, in a worker of its own
COURSE = Course.find(pathlib.Path(__file__).parent)
STEM = "01_leaves"
OTHER, NEIGHBOUR = "what-the-other-student-" + "has-thought-of", "what-the-neighbour-is-" + "thinking-of-now"


@pytest.fixture(scope="module")
def outside():
    """What lies around a grader, open to every user: results, a notebook of another student, a server."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="outside-of-the-sandbox-"))
    (folder / "results").mkdir()
    (folder / "results" / "ada.json").write_text('{"score": 30}')
    (folder / "ada.ipynb").write_text('{"cells": []}')
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield {
            "folder": str(folder),
            "results": str(folder / "results"),
            "result": str(folder / "results" / "ada.json"),
            "other": str(folder / "ada.ipynb"),
            "stem": COURSE.check_file(STEM).stem,
            "checks": str(COURSE.check_file(STEM)),
            "master": str(COURSE.assignments[STEM].path),
            "port": server.getsockname()[1],
            "grader": os.getpid(),
            "openat": syscalls.numbers(syscalls.machine())["openat"],
        }
    shutil.rmtree(folder)


# What can be looked for in the process itself

SEARCH = """
import ctypes, gc, itertools, os

libc = ctypes.CDLL(None, use_errno=True)
libc.sbrk.restype = ctypes.c_void_p
PAGE, WINDOW = 4096, 1 << 20
SIGPROCMASK = {"x86_64": 14, "aarch64": 135}[os.uname().machine]

def is_memory(address):
    "Whether the kernel can read there: it answers EFAULT (14) where it cannot, and EINVAL where it can."
    libc.syscall(SIGPROCMASK, 99, ctypes.c_void_p(address), None, 8)
    return ctypes.get_errno() != 14

def windows():
    "The megabytes in which objects live, the heap below its end, and what lies around."
    gc.unfreeze()
    objects = gc.get_objects()
    places = {id(o) // WINDOW for o in objects}
    places |= {id(o) // WINDOW for o in itertools.chain.from_iterable(map(gc.get_referents, objects))}
    heap = libc.sbrk(0) // WINDOW
    places |= {heap - n for n in range(128)}
    return sorted({place + n for place in places for n in (-1, 0, 1) if place + n > 0})

def stretches():
    "All readable memory there, in contiguous pieces."
    begin = end = 0
    for place in windows():
        for address in range(place * WINDOW, (place + 1) * WINDOW, PAGE):
            if not is_memory(address):
                continue
            if address != end:
                if end > begin:
                    yield begin, end
                begin = address
            end = address + PAGE
    yield begin, end

def found(halves):
    "For each pair of halves whether they stand together anywhere; here they never do."
    pairs = [(a.encode(), b.encode()) for a, b in halves]
    hits = [False] * len(pairs)
    for begin, end in list(stretches()):
        for start in range(begin, end, 8 * WINDOW):
            piece = ctypes.string_at(start, min(8 * WINDOW + PAGE, end - start))
            for number, (a, b) in enumerate(pairs):
                place = piece.find(a)
                while place >= 0 and not hits[number]:
                    hits[number] = piece.startswith(b, place + len(a))
                    place = piece.find(a, place + 1)
    return hits
"""


def secrets_of_the_course():
    """The texts of assertions, and the lines in which the reference's answers differ from the stubs."""
    tree = ast.parse(COURSE.check_file(STEM).read_text(encoding="utf-8"))
    texts = [ast.unparse(node.msg) for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    for question in COURSE.assignments[STEM].questions:
        texts += set(question.answer.splitlines()) - set(question.starter_code.splitlines())
    told = {text.strip().strip("'\"f") for text in texts}
    return sorted(told, key=len, reverse=True)[:12]  # a few decide as well as all


def test_no_secret_is_anywhere_in_the_memory_of_a_worker(zygote, outside):
    """In all memory that can be found there is nothing of the course, the outside and other notebooks."""
    reference = observe_reference(zygote, COURSE, STEM, seed=7, expected=False)
    look(zygote, f"def f():\n    return {OTHER!r}", f="student.f()")
    expected = [
        str(table["value"])[1:40] for answer in reference.answers.values() for table in _tensors(answer)
    ]
    secrets = [SECRET, outside["results"], OTHER, NEIGHBOUR, *expected[:4], *secrets_of_the_course()]
    halves = [("my-own-", "cell-says-this"), *((text[:12], text[12:]) for text in secrets)]
    cells = [
        SEARCH,
        "note = 'my-own-cell-says-this'",
        f"HALVES = {halves!r}\ndef f():\n    return found(HALVES)",
    ]
    with zygote.worker() as neighbour:
        neighbour.wire.ask("cell", {"number": 1, "source": f"x = {NEIGHBOUR!r}", "seconds": 5}, 10)
        seen = look(zygote, cells, f=PATIENTLY, limits=PATIENT)
    own, *others = seen["f"]
    assert own
    assert [text for text, hit in zip(secrets, others, strict=True) if hit] == []
    assert len(secrets) == 20


def _tensors(answer):
    tensors = (json.loads(answer.text)["returned"] or {"tensors": []})["tensors"]
    return [tensor for tensor in tensors if tensor["value"] and len(str(tensor["value"])) > 60]


LOOK_AROUND = """
import ctypes, gc, linecache, os, sys, traceback

def environment():
    table = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    raw = []
    while table[len(raw)] is not None:
        raw.append(table[len(raw)].decode())
    return [sorted(os.environ), sorted(line.partition("=")[0] for line in raw)]

def modules():
    inside = [name for name in sys.modules if name.partition(".")[0] in ("grader", "pytest", "_pytest")]
    gc.unfreeze()
    homes = {str(vars(o).get("__module__")) for o in gc.get_objects() if type(o) is type}
    foreign = {home for home in homes if not home.startswith(("grader.runtime.", "grader.sandbox.worker."))}
    return inside + [home for home in foreign if home.startswith(("grader.", "pytest", "_pytest"))]

def frames():
    frame, names = sys._getframe(), []
    while frame:
        names.append(os.path.basename(frame.f_code.co_filename))
        frame = frame.f_back
    return names

def f():
    return [environment(), modules(), frames(), linecache.getlines("<inside>")]
"""


def test_python_shows_nothing_of_the_outside(zygote):
    """Environment, loaded modules, living classes and the frames of the caller are a worker's own."""
    environment, modules, frames, lines = look(zygote, LOOK_AROUND, f="student.f()")["f"]
    assert {"HOME", "LANG", "PATH"} <= set(environment[0]) == set(environment[1])
    assert "SECRET_OF_THE_OUTSIDE" in os.environ.keys() - environment[0]
    assert modules == ["grader"]  # the stand-in
    ours = {"student_namespace.py", "service.py", "zygote.py"}
    assert set(frames) == {"<cell 1>", "<inside>", "<string>", *ours}
    assert lines == []


DESCRIPTORS = """
import os, stat

def works(function, *arguments):
    try:
        function(*arguments)
    except OSError:
        return False
    return True

def f():
    opened = [d for d in range(1024) if works(os.fstat, d)]
    kinds = [stat.S_IFMT(os.fstat(d).st_mode) for d in opened]
    reopened = [d for d in opened if works(os.open, f"/proc/self/fd/{d}", os.O_RDWR)]
    wrong_way = [works(os.read, 1, 1), works(os.read, 2, 1), works(os.read, 11, 1), works(os.write, 10, b"x")]
    return [opened, kinds, reopened, wrong_way, [os.readlink(f"/proc/self/fd/{d}")[:5] for d in opened[1:]]]
"""


def test_no_descriptor_leads_outside(zygote, outside):
    """Open are /dev/null and the pipes of output, requests, answers and notices; none can be turned round."""
    opened, kinds, reopened, wrong_way, links = look(zygote, DESCRIPTORS, f="student.f()")["f"]
    assert opened == [0, 1, 2, 10, 11, 12]
    assert kinds == [stat.S_IFCHR, *[stat.S_IFIFO] * 5]
    assert (reopened, wrong_way, set(links)) == ([0], [False] * 4, {"pipe:"})


def test_a_worker_knows_nothing_of_the_one_before(zygote):
    """What a notebook leaves in Python, torch and the environment is gone with it."""
    leave = """
import builtins, os, sys, torch
for place in (builtins, sys, torch, torch.Tensor):
    place.left = 1
sys.modules["left"] = sys
os.environ["left"] = "1"
def f():
    return sys.left
"""
    find = """
import builtins, os, sys, torch
def f():
    places = [vars(sys), vars(torch), vars(torch.Tensor), vars(builtins), sys.modules, os.environ]
    return ["left" in place for place in places]
"""
    assert look(zygote, leave, f="student.f()")["f"] == 1
    assert look(zygote, find, f="student.f()")["f"] == [False] * 6


# What can be tried. Every attack gives what it got; in a sandbox none succeeds, without one all do.

ATTACKS = {
    "open the checks": "open(T['checks']).read()",
    "open the master": "pathlib.Path(T['master']).read_bytes()",
    "open another's notebook": "io.FileIO(T['other']).read()",
    "open a result": "os.read(os.open(T['result'], os.O_RDONLY), 9)",
    "open by a folder": "os.read(os.open('ada.json', 0, dir_fd=os.open(T['results'], os.O_PATH)), 9)",
    "open by a link": "open('/proc/self/root' + T['result']).read()",
    "open past Python": "os.read(libc.syscall(T['openat'], -100, T['result'].encode(), 0), 9)",
    "open in C": "libc.fopen(T['result'].encode(), b'r')",
    "open by numpy": "numpy.fromfile(T['result'], 'u1').tobytes()",
    "open by torch": "torch.from_file(T['result'], size=4, dtype=torch.uint8).tolist()",
    "open by linecache": "linecache.getlines(T['checks'])",
    "import the checks": "machinery.PathFinder.find_spec(T['stem'], [os.path.dirname(T['checks'])])",
    "list the results": "os.listdir(T['results'])",
    "search the results": "glob.glob(T['folder'] + '/*/*.json')",
    "list the project": "[entry.name for entry in os.scandir(os.path.dirname(T['checks']))]",
    "list /tmp": "os.listdir('/tmp')",
    "list /proc": "os.listdir('/proc')",
    "read the users": "open('/etc/passwd').read()",
    "read the environment": "open(f'/proc/{os.getppid()}/environ', 'rb').read()",
    "read the grader's environment": "open(f'/proc/{T[\"grader\"]}/environ', 'rb').read()",
    "read the grader's command": "open(f'/proc/{T[\"grader\"]}/cmdline', 'rb').read()",
    "read the memory's map": "open('/proc/self/maps').readline()",
    "see the grader's folder": "os.readlink(f'/proc/{T[\"grader\"]}/cwd')",
    "see the parent's folder": "os.readlink(f'/proc/{os.getppid()}/cwd')",
    "list the grader's descriptors": "os.listdir(f'/proc/{T[\"grader\"]}/fd')",
    "write a result": "open(T['results'] + '/forged.json', 'w').name",
    "write to /tmp": "tempfile.TemporaryFile().fileno() + 1",
    "overwrite a result": "open(T['result'], 'r+').name",
    "make a folder": "os.mkdir(T['results'] + '/folder') or 'made'",
    "make a link": "os.symlink('/etc', T['results'] + '/link') or 'made'",
    "make a pipe": "os.mkfifo(T['results'] + '/pipe') or 'made'",
    "change a mode": "os.chmod(T['other'], 0o755) or 'changed'",
    "change a time": "os.utime(T['other']) or 'changed'",
    "rename a result": "os.rename(T['other'], T['other']) or 'renamed'",
    "make a file in memory": "os.memfd_create('file')",
    "connect": "socket.create_connection(('127.0.0.1', T['port'])).fileno()",
    "send a packet": "socket.socket(type=socket.SOCK_DGRAM).fileno()",
    "look up a host": "socket.getaddrinfo('localhost', 80)",
    "listen": "socket.create_server(('127.0.0.1', 0)).fileno()",
    "fork": "os.fork() or os._exit(0)",
    "start a program": "subprocess.run(['/bin/echo', 'started'], capture_output=True).stdout",
    "run a shell": "os.popen('echo started').read()",
    "run a shell in C": "libc.system(b'exit 3')  // 256 == 3",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "start a process": "multiprocessing.get_context('fork').Process(target=int).start() or 'started'",
    "signal the grader": "os.kill(T['grader'], 0) or 'signalled'",
    "signal the parent": "os.kill(os.getppid(), 0) or 'signalled'",
    "signal the group": "os.killpg(os.getpgid(os.getppid()), 0) or 'signalled'",
    "hold on to the parent": "os.pidfd_open(os.getppid())",
}
ATTACKER = """
import ctypes, glob, io, linecache, multiprocessing, os, pathlib, socket, subprocess, tempfile
import numpy, torch
from importlib import machinery

libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p

def had(attack):
    try:
        return repr(eval(attack) or None)[:60]
    except BaseException:
        return None

def f():
    return {name: had(attack) for name, attack in ATTACKS.items()}
"""


def gains(zygote, outside):
    """What each attack got, None for nothing."""
    cells = [ATTACKER, f"T = {outside!r}\nATTACKS = {ATTACKS!r}"]
    seen = look(zygote, cells, f=PATIENTLY, limits=PATIENT)
    assert seen.raised == {}
    return {name: got for name, got in seen["f"].items() if got not in (None, "None")}


def test_every_attack_comes_back_with_nothing(zygote, outside):
    """Files, listings, other processes, network, new processes and writing are all refused."""
    assert gains(zygote, outside) == {}


def test_without_a_sandbox_the_same_attacks_succeed(outside):
    """No attack fails for a reason of its own."""
    with Zygote(sandbox=False) as unprotected:
        assert unprotected.sandbox.name == "none"
        assert ATTACKS.keys() - gains(unprotected, outside) == set()


@pytest.mark.parametrize("code", ["os.execv('/bin/true', ['true'])", "C.execve(b'/bin/true', None, None)"])
def test_no_other_program_takes_the_place_of_a_worker(zygote, code):
    """After a refused exec the same process goes on answering."""
    cells = ["import contextlib, ctypes, os\nC = ctypes.CDLL(None)", "def f():\n    return 'still here'"]
    seen = look(zygote, [*cells, f"with contextlib.suppress(PermissionError):\n    {code}"], f="student.f()")
    assert (seen["f"], seen.raised) == ("still here", {})


def test_nothing_survives_a_worker(zygote):
    """Threads, also such as ignore signals, end with their worker, and the zygote has no child left."""
    cell = """
import os, signal, threading, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
for _ in range(20):
    threading.Thread(target=time.sleep, args=(600,)).start()
def f():
    return [os.getpid(), threading.active_count()]
"""
    pid, threads = look(zygote, cell, f="student.f()")["f"]
    assert threads == 21
    assert zygote._status(pid) == signal.SIGKILL, "whoever has ended is reaped by the time somebody asks"
    assert not pathlib.Path(f"/proc/{pid}/task").exists()
    parent = pathlib.Path(f"/proc/{zygote._process.pid}")
    assert [(task / "children").read_text() for task in (parent / "task").iterdir()] == [""]
