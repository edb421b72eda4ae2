"""One question's code cannot spoil another's facts, and no answer of a worker spoils the grader."""

import math
import time

import pytest
from observing import QUICK, look, request

from grader.sandbox import cells as cells_module
from grader.sandbox.cells import NothingToObserveError
from grader.sandbox.decoding import NO_ANSWER
from grader.sandbox.evidence import Evidence, Failure, NotObserved, RequestRaised, not_observed
from grader.sandbox.observer import RequestRun
from grader.sandbox.plan import TimeLimits
from grader.sandbox.values import Other, Tensor, is_cut_off

SHORT = TimeLimits(cell=0.5, question=2, notebook=30)


@pytest.fixture(autouse=True)
def little_grace(monkeypatch):
    """A cell that survived its limit is killed soon after it."""
    monkeypatch.setattr(cells_module, "_GRACE_SECONDS", 0.3)


@pytest.fixture
def isolations(monkeypatch):
    """Counts how often a notebook was observed again with a worker per question."""
    counted = []
    isolated = RequestRun.ask_in_own_workers
    monkeypatch.setattr(RequestRun, "ask_in_own_workers", lambda *args: counted.append(1) or isolated(*args))
    return counted


# One worker for all questions, and what keeps them apart. The three functions use everything that another
# question's code might have changed; `spoil` is what `first` does besides.

NOTEBOOK = """
import ctypes, gc, os, random, signal, sys, threading, _thread, time, warnings
import numpy as np
import torch
from torch import nn

def work(x):
    def deep(n):
        return deep(n - 1) if n else 0
    warnings.warn("harmless")
    layer = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    loss = (layer(x) ** 2).sum() + deep(200)
    loss.backward()
    optimizer.step()
    drawn = [random.random(), float(np.random.rand()), len([1, 2]), torch.equal(x, x), abs(-1)]
    return loss, layer.weight, layer.weight.grad, torch.ones(1), drawn

def spoil():
    pass

def first(x):
    spoil()
    return work(x)

def second(x):
    return work(x)

def third(x):
    return work(x)
"""
ASKED = {name: f"student.{name}(torch.randn(4, 3))" for name in ("first", "second", "third")}
#: What a request names of torch's modules and of Python's functions is compared.
ASKED["first"] = f"[{ASKED['first']}, torch.equal, nn.Linear, len, isinstance][0]"


def spoiled(zygote, body, *, seconds=5.0, limits=QUICK):
    """What is seen of the notebook when `first` does this besides; its request has so many seconds."""
    questions = {**ASKED, "first": request("first", ASKED["first"], seconds=seconds)}
    cells = [NOTEBOOK, f"def spoil():\n    {body}"]
    return look(zygote, cells, limits=limits, **questions)


@pytest.fixture(scope="module")
def clean(zygote):
    return spoiled(zygote, "pass")


def test_one_worker_serves_all_questions(zygote, clean, isolations):
    """A notebook without faults is observed once, in one worker, and the same again a second time."""
    again = spoiled(zygote, "pass")
    assert (isolations, again.evidence) == ([], clean.evidence)


FATAL = {
    "while True: pass": "still running after",
    "sum(iter(int, 1))": "still running after",
    "time.sleep(60)": "still running after",
    "os._exit(0)": "ended the Python process",
    "ctypes.string_at(0)": "ended the Python process",
    "os.kill(os.getpid(), signal.SIGKILL)": "was killed (signal 9)",
    "torch.Tensor.backward = lambda *_, **__: None": "replaced torch.Tensor.backward",
    "torch.equal = lambda *_: False": "replaced torch.equal",
    "nn.Linear.__call__ = lambda self, x: self.forward(2 * x)": "linear.Linear.__call__ while it ran",
    "import builtins; builtins.len = lambda _: 7": "replaced builtins.len",
    "random.random = lambda: 1 / 0; os._exit(1)": "ended the Python process",
}


@pytest.mark.parametrize("body", FATAL)
def test_a_fault_costs_its_own_question(zygote, clean, isolations, body):
    """A request that hangs, dies or finds torch replaced has no facts and says why; others have theirs."""
    seen = spoiled(zygote, body, seconds=0.5 if "still running" in FATAL[body] else 5.0)
    assert isinstance(seen["first"], NotObserved)
    assert FATAL[body] in seen["first"].reason
    assert [seen[name] for name in ("second", "third")] == [clean[name] for name in ("second", "third")]
    assert isolations == [1]


CHANGES = [
    "torch.set_grad_enabled(False)",
    "torch.set_default_dtype(torch.float64)",
    "torch._C._set_deterministic_algorithms(True)",
    "torch.autograd.set_detect_anomaly(True)",
    "torch.set_default_device('meta')",
    "globals().update(kept=torch.inference_mode()); kept.__enter__(); torch.set_grad_enabled(True)",
    "globals().update(kept=torch.autocast('cpu')); kept.__enter__()",
    "torch.autograd.graph.saved_tensors_hooks(lambda t: 1 / 0, lambda t: t).__enter__()",
    "nn.modules.module.register_module_forward_hook(lambda m, args, out: 2 * out)",
    "nn.modules.module.register_module_forward_pre_hook(lambda m, args: 1 / 0)",
    "nn.modules.module.register_module_parameter_registration_hook(lambda m, name, p: 1 / 0)",
    "nn.modules.module.register_module_full_backward_hook(lambda m, i, o: 1 / 0)",
    "from torch.optim.optimizer import register_optimizer_step_pre_hook as add; add(lambda *_: 1 / 0)",
    "globals().update(kept=torch.autocast('cpu', torch.float16, cache_enabled=False)); kept.__enter__()",
    "torch.set_autocast_enabled('cpu', True)",
    "torch.set_autocast_enabled(True)",
    "torch.autocast_increment_nesting(); torch.autocast_increment_nesting()",
    "torch.inference_mode().__enter__()",
    "globals().update(second=third, third=second, new=1)",
    "signal.setitimer(signal.ITIMER_REAL, 1)",
    "sys.settrace(lambda frame, *_: 1 / 0 if frame.f_code.co_name == 'second' else None)",
    "sys.setprofile(lambda frame, *_: 1 / 0 if frame.f_code.co_name == 'second' else None)",
    "sys.setrecursionlimit(150)",
    "gc.disable()",
    "globals().update(second=None, third=len)",
    "globals().update(work=lambda x: x)",
    "del globals()['work']",
]
THREADS = [  # which nothing can end
    "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "e = threading.Event(); _thread.start_new_thread(lambda: (e.set(), time.sleep(60)), ()); e.wait()",
]
HARMLESS = [
    "warnings.simplefilter('error')",
    "torch.manual_seed(0); random.seed(0); np.random.seed(0)",
    "torch.set_rng_state(torch.get_rng_state().fill_(3))",
    "globals().update(new=1)",
    "sys.stdout = sys.stderr = sys.stdin = None",
    "os.close(0); os.close(1); os.close(2)",
    "nn.Module.helper = lambda self: 1",
    "torch.helper = 1",
    "print('x' * 10_000_000)",
]


@pytest.mark.parametrize("body", CHANGES + THREADS + HARMLESS)
def test_what_one_question_leaves_behind_reaches_no_other(zygote, clean, isolations, body):
    """Modes, hooks, timers and names are put back; only a thread costs another run."""
    seen = spoiled(zygote, body)
    assert [seen[name] for name in ("second", "third")] == [clean[name] for name in ("second", "third")]
    assert isolations == ([1] if body in THREADS else [])
    assert not isinstance(seen["first"], NotObserved)


#: Between torch and its callers.
LYING_MODE = (
    "lie = {'__torch_function__': lambda *_, **__: 1 / 0}\n"
    "type('Lying', (torch.overrides.TorchFunctionMode,), lie)().__enter__()"
)
LEFT = [change for change in CHANGES if "globals().update(second" not in change and "work" not in change]
REPLACED = ["torch.equal = lambda *_: 3", "torch.Tensor.backward = None", "nn.Module.__call__ = None"]


@pytest.mark.parametrize("left", [*LEFT, *HARMLESS[:3], LYING_MODE, *REPLACED])
def test_what_cells_leave_behind_is_put_back(zygote, clean, left):
    """Modes, filters, generators and torch's functions are the same in every request; a patch is told."""
    seen = look(zygote, [NOTEBOOK, left], **ASKED)
    assert [seen[name] for name in ASKED] == [clean[name] for name in ASKED]
    assert len(seen.evidence.patched) + seen.evidence.traces.count(("patched", None)) == (left in REPLACED)


HONEST = """
import asyncio, copy, io, threading, warnings
from concurrent.futures import ThreadPoolExecutor
import torch
from torch import nn

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x
    @staticmethod
    def backward(ctx, g):
        return 2 * g

class Mine(nn.Linear):
    pass

def f():
    model, x = nn.Sequential(nn.Linear(2, 2), nn.LSTM(2, 2)), torch.randn(3, 2)
    model.register_forward_hook(lambda *_: None)
    Mine.helper = print
    torch.set_default_dtype(torch.float64)
    torch.set_default_dtype(torch.float32)
    for make in (torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.SGD):
        optimizer = make(model.parameters(), lr=0.1)
        torch.optim.lr_scheduler.StepLR(optimizer, 1)
        Twice.apply(model(x)[0]).sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad(), torch.autocast("cpu"), torch.random.fork_rng():
        model(x)
    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("error")
        model(x)
    with torch.autograd.detect_anomaly(), torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        torch.utils.checkpoint.checkpoint(model, x.requires_grad_(), use_reentrant=False)[0].sum().backward()
    torch.set_grad_enabled(False)
    torch.set_grad_enabled(True)
    torch.func.vmap(torch.func.grad(lambda t: (t * t).sum()))(x.detach())
    torch.autograd.gradcheck(lambda t: t**2, torch.ones(2, dtype=torch.float64, requires_grad=True))
    nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))(x)
    handle = nn.modules.module.register_module_forward_hook(lambda *_: None)
    handle.remove()
    torch.save(copy.deepcopy(model).state_dict(), io.BytesIO())
    list(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), batch_size=2))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(abs, [1, 2]))
    thread = threading.Thread(target=lambda: model(x)[0].sum().backward())
    thread.start()
    thread.join()
    return repr(model)[:10]
"""


def test_ordinary_use_of_torch_is_no_fault(zygote, isolations):
    """Optimizers, context managers, hooks that are removed and threads that end leave nothing behind."""
    seen = look(zygote, HONEST, f="student.f()")
    assert (seen["f"], seen.evidence.patched, seen.evidence.traces) == ("Sequential", [], [])
    assert isolations == []


# Cells that kill

DEFINES = ["def f():\n    return 1", "def g():\n    return 2"]
KILLERS = {
    "while True: pass": "CellTimeout",
    "def h():\n    return 3\nimport time\ntime.sleep(60)": "CellTimeout",
    "import time\nwhile True:\n    try: time.sleep(60)\n    except BaseException: pass": "still running",
    "sum(iter(int, 1))": "still running after",
    "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass": "still running after",
    "import os\nos._exit(0)": "ended the Python process",
    "import os\nos.abort()": "ended the Python process",
    "import os\nos.kill(os.getpid(), 9)": "was killed (signal 9)",
    "import ctypes\nctypes.string_at(0)": "ended the Python process",
    "import os\nos.write(11, b'x' * 1000)": "sent something that is not an answer",
    "import os\nos.write(11, b'\\0\\0\\0\\2{}')": "sent answers without a request",
}


@pytest.mark.parametrize("killer", KILLERS)
def test_a_cell_that_kills_is_left_out(zygote, killer):
    """A cell that hangs, ends its process or forges answers costs itself, and the reason is known."""
    seen = look(zygote, [DEFINES[0], killer, DEFINES[1]], limits=SHORT, f="student.f()", g="student.g()")
    assert (seen["f"], seen["g"]) == (1, 2)
    assert set(seen.raised) == {2}
    assert KILLERS[killer] in seen.raised[2]
    assert not (seen.evidence.starved and "Python process" in KILLERS[killer])


def test_two_killers_are_left_out_and_the_third_takes_the_rest_along(zygote):
    """There is an end to running a notebook again; what stands above the third killer counts."""
    kill = "import os\nos._exit(0)"
    cells = [DEFINES[0], kill, "def h():\n    return 3", kill, DEFINES[1], kill, "def late():\n    return 4"]
    seen = look(zygote, cells, f="student.f()", g="student.g()", h="student.h()", late="student.late()")
    assert [seen["f"], seen["g"], seen["h"]] == [1, 2, 3]
    assert seen.status["late"] == "missing"
    assert set(seen.raised) == {2, 4, 6}


def test_a_notebook_of_killers_has_evidence_too(zygote):
    seen = look(zygote, ["import os\nos._exit(0)"] * 5, f="student.f()")
    assert (seen.status, set(seen.raised)) == ({"f": "missing"}, {1, 2, 3})
    assert look(zygote, [], f="student.f()").status == {"f": "missing"}


def test_a_process_that_ends_behind_its_cells_leaves_nothing(zygote):
    """What ends the process while no cell runs is nobody's cell's fault; the evidence says that it ended."""
    ends = "import os, sys\nsys.addaudithook(lambda event, _: event == 'object.__getattr__' and os._exit(0))"
    seen = look(zygote, [*DEFINES, ends], f="student.f()")
    assert (seen.status, seen.evidence.answers) == ({}, {})
    assert seen.evidence.fault.startswith("the notebook ended or blocked its process")


def test_what_a_slow_cell_defined_survives_a_fault(zygote):
    """A function above the loop that ran out of time counts, in a worker of its own as well."""
    slow = "def f():\n    return 1\nwhile True: pass"
    quick = request("g", "student.g()", seconds=0.5)
    seen = look(zygote, [slow, "def g():\n    while True: pass"], limits=SHORT, f="student.f()", g=quick)
    assert (seen["f"], set(seen.raised)) == (1, {1})
    assert "still running after" in seen["g"].reason


# Time


def test_a_question_does_not_pay_for_the_cells(zygote):
    """Running the cells again for a worker of its own takes nothing from a question's time."""
    cells = ["import os, time\ntime.sleep(0.6)", "def f():\n    os._exit(0)", "def g():\n    return 2"]
    limits = TimeLimits(cell=5, question=0.5, notebook=30)
    requests = [request(name, "student.f()") for name in ("one", "two")]
    seen = look(zygote, cells, limits=limits, f=requests, g="student.g()")
    assert seen["g"] == 2
    assert all("ended the Python process" in seen[name].reason for name in ("one", "two"))


def test_the_time_of_a_question_is_limited(zygote):
    """The time that first requests of a question used is missing for the last, and for no other question."""
    limits = TimeLimits(cell=5, question=0.7, notebook=30)
    requests = [request(name, "student.f()", seconds=0.4) for name in ("one", "two", "three")]
    cells = ["def f():\n    while True: pass", DEFINES[1]]
    seen = look(zygote, cells, limits=limits, f=requests, g="student.g()")
    assert "still running after" in seen["one"].reason
    assert "the time of the question was used up" in seen["three"].reason
    assert seen["g"] == 2


def test_the_time_of_a_notebook_is_limited(zygote):
    """A notebook that hangs everywhere is given up in time, and what was seen before counts."""
    limits = TimeLimits(cell=5, question=5, notebook=3)
    hanging = [request(f"h{number}", "student.h()", seconds=0.3) for number in range(20)]
    begun = time.monotonic()
    cells = [DEFINES[0], "def h():\n    while True: pass"]
    seen = look(zygote, cells, limits=limits, f="student.f()", h=hanging)
    assert time.monotonic() - begun < 6
    assert seen["f"] == 1
    assert all(isinstance(seen[f"h{number}"], NotObserved) for number in range(20))


def test_cells_that_swallow_their_time_limit_are_bounded_by_the_notebooks(zygote):
    """Cells that each outlive their limit do not add up without end; what was defined counts."""
    swallowing = "import time\ntry:\n    time.sleep(9)\nexcept BaseException:\n    time.sleep(0.05)"
    limits = TimeLimits(cell=0.1, question=5, notebook=2)
    begun = time.monotonic()
    seen = look(zygote, ["def f():\n    return 1", *[swallowing] * 20], limits=limits, f="student.f()")
    assert time.monotonic() - begun < 5
    assert seen["f"] == 1
    assert "used up the time of the notebook" in seen.raised[21]


def test_what_was_seen_before_the_time_was_over_counts(zygote, monkeypatch):
    """When no further worker can be had with the cells run, only the questions left have no facts."""
    loaded, loads = cells_module.NotebookRun.loaded, []

    def loaded_twice(self):
        loads.append(1)
        if len(loads) > 2:
            raise NothingToObserveError(Failure.NOTHING_SEEN)
        return loaded(self)

    monkeypatch.setattr(cells_module.NotebookRun, "loaded", loaded_twice)
    cells = [DEFINES[0], "import os\ndef g():\n    os._exit(0)"]
    seen = look(zygote, cells, f="student.f()", g="student.g()")
    assert (seen["f"], seen["g"], seen.status["g"]) == (1, not_observed(Failure.NOTHING_SEEN), "answered")


SLOW_CELL = "import os, time\ntime.sleep(0.5)"


@pytest.mark.parametrize("fatal", ["os._exit(0)", "while True: pass"])
def test_where_isolation_does_not_reach_the_shared_worker_counts(zygote, fatal):
    """Slow demonstrations and one fault cost that question only, however little time is left."""
    names = [f"good{number}" for number in range(6)]
    cells = [SLOW_CELL, *(f"def {name}():\n    return '{name}'" for name in names), f"def bad(): {fatal}"]
    bad = request("bad", "student.bad()", seconds=0.2)
    limits = TimeLimits(cell=5, question=5, notebook=2.4)
    seen = look(zygote, cells, limits=limits, **{name: f"student.{name}()" for name in names}, bad=bad)
    assert [seen[name] for name in names[:-1]] == names[:-1]
    assert isinstance(seen["bad"], NotObserved)


def test_a_forger_is_not_believed_for_want_of_time(zygote):
    """Answers that nobody asked for are used no more when there is no time to ask anew."""
    cells = [FORGE, SLOW_CELL, "def f():\n    reply(WON); reply(WON)", *DEFINES[1:]]
    limits = TimeLimits(cell=5, question=5, notebook=1.3)
    seen = look(zygote, cells, limits=limits, f="student.f()", g="student.g()")
    assert isinstance(seen["f"], NotObserved)


# Answers that nobody can have given

FORGE = """
import json, os, struct, sys, threading

def forge(text, name=None):
    data = text.encode() if isinstance(text, str) else text
    os.write(11, struct.pack(">I", len(data)) + data)

def wanted():
    "The id of the request that is being answered, which stands in a frame of the worker."
    frame = sys._getframe()
    while "message" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["message"]["id"]

def answer(facts):
    return {"raised": None, "returned": facts, "changed": [], "patched": []}

def reply(ok):
    forge('{"id":"%s","ok":%s}' % (wanted(), ok if isinstance(ok, str) else json.dumps(ok)))

WON = answer({"value": ["str", "won"], "tensors": []})

def steal():
    while True:
        (length,) = struct.unpack(">I", os.read(10, 4))
        stolen = json.loads(os.read(10, length))
        said = WON if stolen["op"] == "observe" else "end"
        forge(json.dumps({"id": stolen["id"], "ok": said}, separators=(",", ":")))

def good():
    return "good"
"""


def forged(zygote, body):
    """What is seen when the first of two requests of `f` finds this code; `good` is another question."""
    cells = [FORGE, f"def f():\n    {body}\n    return 'honest'"]
    requests = [request("one", "student.f()"), request("two", "'second'")]
    seen = look(zygote, cells, f=requests, good="student.good()")
    assert seen["good"] == "good"
    return seen


@pytest.mark.parametrize(
    "body",
    [
        "forge(json.dumps({'id': 'guessed', 'ok': WON}))",
        "reply(WON)",
        "reply(WON); reply(WON)",
        "os.write(11, b'\\0')",
        "os.write(11, b'\\0\\0\\0\\2')",
        "os.write(11, struct.pack('>I', 0xffffffff)); os._exit(0)",
        "reply('{'); os._exit(0)",
        "reply('[' + '0,' * 400_000 + '0]'); os._exit(0)",
        "reply({**WON, 'score': 10}); os._exit(0)",
        "reply(answer({'value': ['tensor', 0], 'tensors': []})); os._exit(0)",
    ],
)
def test_a_forged_answer_is_not_believed(zygote, body):
    """Bytes beside the one answer that is due, or in another form, spoil their own question only."""
    seen = forged(zygote, body)
    assert isinstance(seen["one"], NotObserved)
    assert NO_ANSWER in seen.evidence.traces


@pytest.mark.parametrize(
    "cells",
    [
        ["def f():\n    reply(WON)\n    return 'honest'"],  # no other question follows its answer
        [DEFINES[0], "reply({'raised': None, 'skipped': []}); reply(WON)"],  # before anything was asked
    ],
)
def test_a_forgery_by_the_last_request_is_not_believed(zygote, cells):
    """The very last answer has to be the only one, too."""
    seen = look(zygote, [FORGE, *cells], f="student.f()")
    assert isinstance(seen["f"], NotObserved)
    assert NO_ANSWER in seen.evidence.traces


@pytest.mark.parametrize(
    "body",
    [
        "reply(WON); os._exit(0)",
        "reply(WON); os.read(10, 1)",
        "threading.Thread(target=steal, daemon=True).start()",  # which may read what is asked next
    ],
)
def test_a_process_that_answers_for_itself_answers_for_no_other(zygote, body):
    """Code inside can claim what it likes, about its own question only."""
    forged(zygote, body)


def test_what_all_workers_noticed_can_be_read_elsewhere(zygote):
    """Every worker may notice much; what is kept of it is so little that another machine accepts it."""
    flood = """
def f():
    many = ['f%d' % n for n in range(6_000)]
    os.write(12, b''.join(b'ctypes\\t%d\\n' % n for n in range(99)))  # after an answer it would be ended
    reply({**WON, 'patched': many})
    os._exit(0)
"""
    floods = [flood.replace("f()", f"{name}()").replace("'f", f"'{name}") for name in "pq"]
    evidence = look(zygote, [FORGE, *floods], p="student.p()", q="student.q()").evidence
    assert (len(evidence.patched), evidence.names) == (100, {"p": "answered", "q": "answered"})
    assert 10 < sum(what == "ctypes" for what, _ in evidence.traces) <= 100
    assert Evidence.from_json(evidence.to_json()) == evidence


# Values


def value_of(zygote, body):
    """What `f` returns, as it arrives; its statements run in a cell that knows torch and numpy."""
    preamble = "import sys\nimport numpy as np\nimport torch\nfrom torch import nn\n"
    lines = body.splitlines()
    body = "\n".join(f"    {line}" for line in [*lines[:-1], f"return {lines[-1]}"])
    seen = look(zygote, f"{preamble}def f():\n{body}", f="student.f()")
    assert seen.raised == {}
    return seen["f"]


def nested(kind, times):
    value = Other("value nested too deeply or too long")
    for _ in range(times):
        value = kind(value)
    return value


PLAIN = {
    "None": None,
    "(True, 1, 1.5, 'text', [1], {'a': (2,)})": (True, 1, 1.5, "text", [1], {"a": (2,)}),
    "[float('inf'), -0.0, float('nan')]": [math.inf, -0.0, math.nan],
    "'a\\ud800b\\udfff\\0\\N{SNOWMAN}\\N{PILE OF POO}'": "a?b?\0\N{SNOWMAN}\N{PILE OF POO}",
    "'x' * 10**7": "x" * 2000,
    "10**400": Other("int of more than 64 bits"),
    "[2**63 - 1, -2**63, 2**63]": [2**63 - 1, -(2**63), Other("int of more than 64 bits")],
    "dict.fromkeys([1, None, (1,), 1.5, b'x', 10**5000, '\\ud800'])": dict.fromkeys(
        ("1", "NoneType", "tuple", "float", "bytes", "int", "?")
    ),
    "{torch.ones(1): 1}": {"Tensor": 1},
    "np.float64(1.5), np.bool_(True)": (1.5, True),
    "np.float32(1), np.ones(2)": (Other("float32"), Other("ndarray")),
    "[nn.Linear(1, 1), {1}, (i for i in []), f, nn, torch.float32]": [
        *map(Other, ("Linear", "set", "generator", "function", "module", "dtype"))
    ],
    "l = []\nl.append(l)\nl": nested(lambda v: [v], 11),
    "l = []\nfor _ in range(100_000): l = [l]\nl": nested(lambda v: [v], 11),
    "d = {}\nd['d'] = d\nd": nested(lambda v: {"d": v}, 11),
    "type('D', (dict,), {'items': None, '__iter__': None, '__len__': None})(a=1)": {"a": 1},
    "[type('L', (base,), {})() for base in (list, str, int, float)]": [Other("L")] * 4,
    "type('L', (tuple,), {})()": (),
    "type('Q' * 1000, (), {})()": Other("Q" * 100),
}


@pytest.mark.parametrize("body", PLAIN)
def test_values_arrive_as_what_they_are(zygote, body):
    """Exact types and tuples arrive as themselves, anything else as the name of its type, cut where long."""
    assert repr(value_of(zygote, body)) == repr(PLAIN[body])


@pytest.mark.parametrize(
    "body",
    [
        "list(range(10**6))",
        "['a, ' * 1000] * 5000",
        "['\\ud800' * 2000] * 5000",
        "list(torch.zeros(4999))",
        "[torch.randn(4096) for _ in range(200)]",
        "[torch.zeros([1] * 60) for _ in range(3000)]",
        "l = list(range(5000))\nfor _ in range(9): l = [l] * 5000\nl",
        "[nn.Parameter(torch.ones(1)) for _ in range(4999)]",
        "[{('k' * 190) + str(i): [] for i in range(4999)}]",
    ],
)
def test_large_values_are_cut_inside(zygote, isolations, body):
    """An honest answer is never refused for its size: it is cut off where it is made."""
    assert not isinstance(value_of(zygote, body), NotObserved | RequestRaised)
    assert isolations == []


@pytest.mark.parametrize("body", ["[[0] * 50000, 1]", "{'a': {i: i for i in range(50000)}, 'b': 1}"])
def test_what_is_left_out_is_marked(zygote, body):
    """Where a list or a dict was cut, that can be seen; where nothing was, it cannot."""
    assert is_cut_off(value_of(zygote, body))
    assert not is_cut_off(value_of(zygote, body.replace("50000", "500")))


REFUSED = """
left, right = (torch.ones(1, 4, requires_grad=True) * 1).chunk(2, -1)
with torch.no_grad():
    left *= 2
"""
TENSORS = {
    "torch.ones(1).expand(10**12)": ("torch.float32", (10**12,), None),
    "torch.ones(()).as_strided((64, 64), (0, 0))": ("torch.float32", (64, 64), (1.0,) * 4096),
    "torch.tensor([float('nan')])": ("torch.float32", (1,), (math.nan,)),
    "torch.ones(4097)": ("torch.float32", (4097,), None),
    "torch.tensor([1 + 2j]).conj()": ("torch.complex64", (1,), (1.0, -2.0)),
    "torch.tensor([1 + 2j]).conj().imag": ("torch.float32", (1,), (-2.0,)),
    "torch.eye(3).to_sparse()": ("torch.float32", (3, 3), None),
    "torch.eye(3).to_sparse_csr()": ("torch.float32", (3, 3), None),
    "torch.empty(3, device='meta')": ("torch.float32", (3,), None),
    "torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)": ("torch.qint8", (2,), None),
    "torch.ones(2, dtype=torch.bfloat16)": ("torch.bfloat16", (2,), (1.0, 1.0)),
    "torch.ones(2).to(torch.float8_e4m3fn)": ("torch.float8_e4m3fn", (2,), (1.0, 1.0)),
    "torch.tensor([2**64 - 1], dtype=torch.uint64)": ("torch.uint64", (1,), (2**64 - 1,)),
    "torch.tensor([True])": ("torch.bool", (1,), (True,)),
    "torch.ones(0, 3)": ("torch.float32", (0, 3), ()),
    "t = torch.ones(3)\nt.untyped_storage().resize_(0)\nt": ("torch.float32", (3,), None),
    f"{REFUSED}\nleft": ("torch.float32", (1, 2), (2.0, 2.0)),
}


@pytest.mark.parametrize("body", TENSORS)
def test_every_kind_of_tensor_has_facts(zygote, body):
    """Dtype and shape are always there, the elements where there are some to be read."""
    seen = value_of(zygote, body)
    assert isinstance(seen, Tensor)
    assert repr((seen.dtype, seen.shape, seen.value)) == repr(TENSORS[body])


def test_a_history_that_torch_refuses_to_tell_is_a_fact(zygote):
    """A chunk of what was overwritten has values, and no node; nothing that reads it raises."""
    seen = value_of(zygote, f"{REFUSED}\nleft")
    assert (seen.grad_fn, seen.is_leaf, seen.requires_grad) == ("(refused)", False, True)
    body = f"{REFUSED}\ndrawn = graph(left=left)\nreturn drawn['total'], drawn['tensors'][0]['made_by']"
    assert look(zygote, "def f(): return 1", f=body)["f"] == (0, None)


def test_what_torch_itself_cannot_read_is_an_error(zygote):
    """A tensor without readable facts is as if the request had raised, and the worker lives on."""
    nested = "torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])"
    assert isinstance(value_of(zygote, nested), RequestRaised)


def test_what_a_gradient_pretends_is_left_out(zygote):
    pretending = "w.grad = w.detach().as_subclass(type('T', (torch.Tensor,), {}))"
    assert value_of(zygote, f"w = torch.ones(1, requires_grad=True)\n{pretending}\nw").grad is None


LIARS = """
class Liar:
    __class__ = property(lambda self: torch.Tensor)
    __module__ = property(lambda self: 1 / 0)
    def __getattribute__(self, name): 1 / 0
    def __repr__(self): 1 / 0
    def __eq__(self, other): return True
    def __hash__(self): 1 / 0
    def __len__(self): 1 / 0
    def __bool__(self): 1 / 0
    def __iter__(self): 1 / 0
    def __index__(self): 1 / 0

class Meta(type):
    __name__ = __mro__ = __dict__ = __module__ = __class__ = property(lambda self: 1 / 0)
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def __instancecheck__(self, value): return True
    def __subclasscheck__(self, value): return True

class MetaLiar(metaclass=Meta):
    pass
"""


def test_a_value_that_lies_is_known_by_its_type(zygote):
    cell = f"import torch\n{LIARS}\ndef f():\n    return [Liar(), MetaLiar(), {{'x': Liar()}}, Liar]"
    seen = look(zygote, cell, f="student.f()")
    assert seen["f"] == [Other("Liar"), Other("MetaLiar"), {"x": Other("Liar")}, Other("type")]


# Errors

#: The class of what is raised, what that is besides, and its text.
ERRORS = {
    "raise ValueError('plain')": ("ValueError Exception", "plain"),
    "raise ValueError('x' * 10**7)": ("ValueError Exception", "x" * 2000),
    "raise ValueError('\\ud800')": ("ValueError Exception", "?"),
    "raise KeyError(1)": ("KeyError LookupError Exception", "1"),
    "raise SystemExit(2)": ("SystemExit", "2"),
    "raise KeyboardInterrupt": ("KeyboardInterrupt", ""),
    "raise StopIteration": ("StopIteration Exception", ""),
    "raise own('told', __str__=lambda self: 1 / 0)": ("Own Exception", "told"),
    "raise own('told', __str__=hang)": ("Own Exception", "told"),
    "raise own('told', __str__=lambda self: 3)": ("Own Exception", "told"),
    "raise own('told', args=lie, __traceback__=lie, __cause__=lie)": ("Own Exception", "told"),
    "raise own('told', __module__='torch', __str__=lambda self: 1 / 0)": ("Own Exception", ""),
    "raise own('told', __module__='torch', __str__=lambda self: Text('x'))": ("Own Exception", "x"),
    "raise Meta('Own', (Exception,), {})('told')": ("Own Exception", "told"),
    "raise ValueError(type('A', (), {'__str__': lambda self: 1 / 0})())": ("ValueError Exception", ""),
    "raise type('Q' * 1000, (Exception,), {})": ("Q" * 100 + " Exception", ""),
}
OWN = """
def lie(self): 1 / 0
lie = property(lie)
def hang(self):
    while True: pass
class Text(str):
    def __getitem__(self, key): 1 / 0
    def encode(self, *_): 1 / 0
    def __len__(self): 1 / 0
def own(text, **members):
    return type('Own', (Exception,), {'__module__': '__main__'} | members)(text)
"""


@pytest.mark.parametrize(("body", "classes", "text"), [(body, *said) for body, said in ERRORS.items()])
def test_an_error_is_told_without_running_it(zygote, isolations, body, classes, text):
    """Class names and text of whatever is raised arrive, from a cell, from a request and from attempt."""
    cells = [OWN, LIARS.replace("torch.Tensor", "int"), body, f"def f():\n    {body}"]
    types = (*classes.split(), "BaseException")
    attempted = request("attempted", "[attempt(student.f)]" if "Exception" in types else "[]")
    seen = look(zygote, cells, f=[request("f", "student.f()"), attempted])
    error = seen["f"].error
    assert (error.types, error.text, error.where) == (types, text, "cell 4, line 2")
    assert {(error.types, error.text) for error in seen["attempted"]} <= {(types, text)}
    assert seen.raised == {3: f"{types[0]}: {text}"}
    assert isolations == []


def test_an_error_whose_text_hangs_costs_its_own_question(zygote):
    """A text that can only be had by running what was raised may cost the time of its request."""
    cell = OWN + "def f():\n    raise ValueError(type('A', (), {'__str__': hang})())\ndef g():\n    return 2"
    seen = look(zygote, cell, f=request("f", "student.f()", seconds=0.4), g="student.g()")
    assert ("still running after" in seen["f"].reason, seen["g"]) == (True, 2)


def test_a_file_name_cannot_break_the_place_of_an_error(zygote):
    """Code that calls its file a cell, with characters no file can hold, still has an error that arrives."""
    cell = "def f():\n    exec(compile('1 / 0', '<cell \\ud800' + 'x' * 500 + '>', 'exec'))"
    error = look(zygote, cell, f="student.f()")["f"].error
    assert (error.type, error.where[:7], len(error.where)) == ("ZeroDivisionError", "cell ?x", 80)


# Requests


def test_a_name_that_is_missing_says_so(zygote):
    """A request that asks for something the notebook does not define gets Python's own error."""
    seen = look(zygote, DEFINES[0], f="student.helper()")
    assert seen["f"].error.text == "helper is not defined in this notebook"


@pytest.mark.parametrize(("seed", "continues"), [(None, True), (1, False)])
def test_without_a_seed_random_numbers_continue_after_a_call(zygote, seed, continues):
    """They are those of a notebook; with a seed, no call of a student's decides what is drawn later."""
    body = """
    torch.manual_seed(3)
    first, later = student.f(), torch.rand(())
    torch.manual_seed(3)
    return [first, later] == [torch.rand(()), torch.rand(())]
    """
    seen = look(zygote, "import torch\ndef f():\n    return torch.rand(())", f=request("f", body, seed=seed))
    assert seen["f"] is continues


def test_the_seed_decides_the_inputs(zygote):
    """The same seed gives the same facts in every worker, and another seed other inputs."""
    cells = ["import random, torch, numpy", "def f(x):\n    return x * random.random() * numpy.random.rand()"]
    drawing = (
        "x = torch.randn(3, requires_grad=True)\ny = student.f(torch.randn(3) * x)\nreturn [x, y, *vjp(y, x)]"
    )
    one, same, other = (look(zygote, cells, f=request("f", drawing, seed=seed))["f"] for seed in (5, 5, 6))
    assert one == same
    assert all(a.value != b.value for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("body", ["torch.manual_seed(3)", "torch.rand(2)", "1 / 0"])
def test_nothing_a_function_draws_moves_later_inputs(zygote, body):
    drawing = request("f", "first = attempt(student.f)\nreturn [first, torch.randn(3)]", seed=5)
    texts = (f"import torch\ndef f():\n    {one}" for one in ("pass", body))
    plain, moved = (look(zygote, text, f=drawing)["f"] for text in texts)
    assert plain[1:] == moved[1:]


def test_only_answered_functions_are_asked(zygote):
    """An untouched or missing function has no facts, and costs no time."""
    cells = ["def f():\n    ...", "def h():\n    return 3"]
    seen = look(zygote, cells, f="while True: pass", g="while True: pass", h="student.h()")
    assert seen.status == {"f": "untouched", "g": "missing", "h": "answered"}
    assert set(seen.evidence.answers) == {"h"}


def test_the_graders_own_modules_cannot_be_imported(zygote):
    seen = look(zygote, ["from grader.runtime import toolbox", "def f(): return 1"], f="student.f()")
    assert (seen["f"], list(seen.raised)) == (1, [1])


@pytest.mark.parametrize(
    "call", ["cell(x, h)", "cell(x, hx=h)", "cell.forward(x, h)", "cell.forward(input=x, hx=h)"]
)
def test_a_watched_module_sees_every_way_of_calling(zygote, call):
    """A module called by its forward is called; the state is known by its name."""
    body = """
        cell, readout = nn.RNNCell(2, 3), nn.Linear(3, 1)
        drawn = graph_at(readout, steps=cell, after=1)
        readout(student.f(cell, torch.randn(4, 2), torch.randn(4, 3)))
        return [(tensor["name"], tensor["shape"]) for tensor in drawn()["tensors"]]
    """
    seen = look(zygote, f"def f(cell, x, h):\n    return {call}", f=[request("f", body)])
    assert seen["f"] == [("h1", "4x3"), ("start", "4x3")]


def test_forward_mode_is_imported_before_its_time_runs(zygote):
    """What torch imports at the first derivative in forward mode costs no time of a request's."""
    body = """before = set(sys.modules)
torch.func.jvp(nn.RNNCell(2, 3), (torch.ones(4, 2),), (torch.ones(4, 2),))
sorted(set(sys.modules) - before)"""
    assert value_of(zygote, body) == []


@pytest.mark.parametrize(
    "body",
    [
        "torch.func.grad(lambda h: cell(x, h).sum())(h)",
        "torch.func.vmap(lambda h: cell(x[0], h))(h)",
        "torch.func.jvp(lambda h: cell(x, h), (h,), (h,))",
        "torch.utils.checkpoint.checkpoint(cell, x, h, use_reentrant=False).sum().backward()",
        "pickle.dumps(nn.Linear(2, 3)); torch.save(nn.Tanh(), io.BytesIO())",
        "torch.jit.script(nn.Linear(2, 3)); print(nn.GRUCell.__annotations__)",
    ],
)
def test_a_watched_module_is_an_ordinary_one(zygote, isolations, body):
    """Whatever torch offers works on a module that is watched, and nothing of it is taken for a patch."""
    imports = "import io, pickle, torch, torch.utils.checkpoint\nfrom torch import nn\n"
    watched = """
    cell = nn.RNNCell(2, 3)
    graph_at(cell)
    return student.f(cell, torch.randn(4, 2), torch.randn(4, 3))
    """
    seen = look(zygote, f"{imports}def f(cell, x, h):\n    {body}\n    return 1", f=request("f", watched))
    assert (seen["f"], seen.evidence.patched, isolations) == (1, [], [])


TWIN = """
import copy, torch

def f(cell, x, h):
    twin = copy.deepcopy(cell)
    for parameter in twin.parameters():
        torch.nn.init.zeros_(parameter)
    return twin(x, h)
"""


def test_a_copy_of_a_watched_module_is_its_own(zygote):
    watched = """
    cell = nn.RNNCell(2, 3)
    drawn = graph_at(cell)
    return student.f(cell, torch.randn(1, 2), torch.randn(1, 3)), drawn()
    """
    value, drawn = look(zygote, TWIN, f=request("f", watched))["f"]
    assert (value.value, drawn) == ((0.0, 0.0, 0.0), None)


def test_who_returned_nothing_is_known(zygote):
    """A function that returned None whenever a request called it is named; one that gave a value is not."""
    cells = "def f(x):\n    return None\ndef g(x):\n    return x"
    asked = [request("never", "student.f(1), student.f(2)"), request("once", "student.g(None), student.g(1)")]
    seen = look(zygote, cells, f=[*asked, request("uncalled", "1"), request("stopped", "student.f(1).grad")])
    names = ("never", "once", "uncalled", "stopped")
    assert [n for n in names if seen.evidence.returned_none(n, "f")] == ["never", "stopped"]
    assert not seen.evidence.returned_none("once", "g")
