"""What students' code tries to have of the outside, and that it gets nothing."""

import ast
import json
import os
import pathlib
import signal
import stat

from observing import SECRET, look, request

from grader.course.course import Course, observe_reference
from grader.sandbox.plan import TimeLimits

PATIENT = TimeLimits(cell=30, question=90, notebook=300)
PATIENTLY = request("f", "student.f()", seconds=80)  # takes its time, in a worker of its own
COURSE = Course.find(pathlib.Path(__file__).parent)
STEM = "01_leaves"
OTHER, NEIGHBOUR = "what-the-other-student-" + "has-thought-of", "what-the-neighbour-is-" + "thinking-of-now"


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


def test_no_secret_is_anywhere_in_the_memory_of_a_worker(zygote, tmp_path):
    """In all memory that can be found there is nothing of the course, the outside and other notebooks."""
    reference = observe_reference(zygote, COURSE, STEM, seed=7, expected=False)
    look(zygote, f"def f():\n    return {OTHER!r}", f="student.f()")
    expected = [
        str(table["value"])[1:40] for answer in reference.answers.values() for table in _tensors(answer)
    ]
    secrets = [SECRET, str(tmp_path), OTHER, NEIGHBOUR, *expected[:4], *secrets_of_the_course()]
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


def test_no_descriptor_leads_outside(zygote):
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
