"""Flags: traces of the known ways to deceive are named, ordinary code is not, and searching is cheap."""

import pytest
from observing import look

from grader.grading import flags
from grader.grading.flags import flags_of, traces_in
from grader.notebooks.reader import Cell
from grader.sandbox.cells import united
from grader.sandbox.decoding import TRACES
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import Zygote


def kinds_in(*sources):
    cells = [Cell(number, source) for number, source in enumerate(sources, start=1)]
    return [(flag.what, flag.cell) for flag in traces_in(cells)]


NAMED = {
    "import ctypes": "ctypes",
    "from _ctypes import dlopen": "ctypes",
    "gc.callbacks": "gc",
    "f.__globals__": "frames",
    "getattr(f, '__globals__')": "frames",
    "'{0.__globals__}'.format(f)": "frames",
    "match 1:\n    case object(f_back=found): pass": "frames",
    "os.write(11, b'')": "raw descriptors",
    "import os as o\no.write(11, b'')": "raw descriptors",
    "from os import path, write": "raw descriptors",
    "getattr(os, 'write')(11, b'')": "raw descriptors",
    "os._exit(0)": "leaving the process",
    "from grader.runtime import toolbox": "the grader itself",
    "get_ipython()._notebook": "the grader itself",
    "sys.modules['torch']": "imports at run time",
    "from sys import modules as m": "imports at run time",
    "__import__('os')": "imports at run time",
    "vars(builtins)": "builtins",
    "timeit.timeit('y = 1; f.__globals__')": "frames",
    "get_ipython().run_cell_magic('time', '', '%time import ctypes\\nx = 1')": "ctypes",
    "f(g(['a b', {1: 'x = os.write(11, b)'}]))": "raw descriptors",
    "exec('exec(\\'exec(\"y = 1; f.__globals__\")\\')')": "frames",
    "def f(x: 'List [ g.__globals__ ]') -> 'a b': pass": "frames",
    "code = 'y = 1; f.__globals__'": "frames",
    "%timeit -n 1 f.__globals__": "frames",
    "x = !echo {f.__globals__}": "frames",
    "%%script thing\nthe body, f.__globals__": "frames",
    "y = '''\n%time'''\nos.write(11, b'')": "raw descriptors",
    "getattr(x, '_' + name)": "names put together",
    "getattr(x, '%s__' % name)": "names put together",
    "torch._C._autograd._unsafe_set_version_counter": "version counter",
    "class M(TorchFunctionMode): pass": "modes of torch",
    "def __torch_function__(*_): pass": "modes of torch",
    "torch.library.Library('aten', 'IMPL')": "kernels of torch",
    "torch.Tensor.backward = f": "patched",
    "del torch.Tensor.backward": "patched",
    "for name in names: setattr(torch, name, f)": "patched",
    "T = torch\nA, b = T.autograd, 1\nsetattr(A, 'grad', f)": "patched",
    "import torch as t\n(A := t.autograd).grad\nA.grad = f": "patched",
    "warnings.catch_warnings = Quiet": "patched",
    "vars(torch.autograd)['grad'] = f": "patched",
    "vars(torch).update(sum=f)": "patched",
    "ModuleType.__setattr__(torch.autograd, 'grad', f)": "patched",
    "torch.autograd.__setattr__('grad', f)": "patched",
    "o = os\no.write(11, b'')": "raw descriptors",
    "import _signal": "signals",
    "np.random.seed = f": "patched",
    "type(cell).forward(cell, x, h)": "past the instance",
    "cell.__class__.forward(cell, x, h)": "past the instance",
    "nn.RNNCell.forward(cell, x, h)": "past the instance",
    "kind.__mro__[1]": "past the instance",
    "torch" + ".functional.torch" * 60 + ".Tensor.backward = f": "patched",
    "import threading": "threads",
    "import signal": "signals",
    "from weakref import finalize\nfinalize(x, print)": "acting later",
    "class Later:\n    def __del__(self): pass": "acting later",
    "node.register_prehook(f)": "acting later",
    "torch.utils.dlpack.from_dlpack(x)": "raw memory",
    "from numpy.lib.stride_tricks import as_strided": "raw memory",
    "getattr(sys, ''.join(['ver', 'sion']))": "names put together",
    "attrgetter('__co' + 'de__')": "names put together",
    "  import os as o\n  o.write(11, b'')": "raw descriptors",
    "this cell does not parse, os.write(11, b'')": "raw descriptors",
}
ORDINARY = [
    "self.__dict__['x'] = 1",
    "nn.Module.__setattr__(self, 'x', 1)",
    "vars(arguments).update(x=1)",
    "if 'sum' in vars(torch): pass",
    "def eval(self): return self.train(False)",
    "import gc\ngc.collect()",
    "x: torch.Tensor = None",
    "def f(x:torch.Tensor = None, *, y: np.ndarray = zeros): pass",
    "IN_COLAB = 'google.colab' in sys.modules",
    "__import__('IPython').display.clear_output()",
    "from importlib import import_module\nimport_module('matplotlib.pyplot')",
    "import builtins\nbuiltins.print('x was shadowed', builtins.sum)",
    "getattr(torch, f'float{bits}')",
    "getattr(nn.init, 'xavier_%s_' % kind)(w)",
    "torch._dynamo.config.suppress_errors = True",
    "os.environ['CUDA_VISIBLE_DEVICES'] = ''; torch.cuda.set_device(0)",
    "locale.setlocale(locale.LC_ALL, ''); warnings.filterwarnings('ignore')",
    "from numpy.lib.stride_tricks import sliding_window_view",
    "%matplotlib inline\n!pip install torch",
    "%%time\nloss.backward()",
    "print('Do not use __globals__ here.', 'or threading'); raise ValueError('no such os')",
    "eval(model, loader)",
    "except ValueError as e: print(e.__traceback__)",
    "from concurrent.futures import ThreadPoolExecutor",
    "with open('notes.txt') as file: file.write(os.name == 'posix')",
    "torch.backends.cudnn.deterministic = True",
    "print(self.__class__.__name__, type(x).__name__)",
    "pattern = re.compile('x'); fast = torch.compile(model)",
    "return type(state)(repackage(part) for part in state)",
    "the signal = 'the gradient is a signal.'",
    "seen = weakref.WeakKeyDictionary()",
    "loss.grad_fn.next_functions[0][0].register_hook(print)",
    "w = torch.ones(3)\nw.grad = None\ntorch.ones(3).grad = None",
]


def test_every_kind_of_trace_is_tried():
    assert set(NAMED.values()) == {what for what, kind in flags._KINDS.items() if kind.names}


@pytest.mark.parametrize(("source", "what"), NAMED.items())
def test_a_trace_is_flagged_with_its_cell(source, what):
    assert kinds_in("x = 1", source) == [(what, 2)]


def test_an_alias_of_one_cell_is_known_in_the_others():
    found = kinds_in("import os as o", "o.write(11, b'')", "file.write(text)")
    assert found == [("raw descriptors", 2)]


@pytest.mark.parametrize("source", ORDINARY)
def test_ordinary_code_is_not_flagged(source):
    assert traces_in([Cell(1, source)]) == ()


def test_what_the_worker_saw_replaced_is_flagged():
    assert [flag.what for flag in flags_of([], [], ["torch.equal"])] == ["torch.equal was replaced"]
    assert len(flags_of([], [], ["x" * 500] * 1000)) == 5


def test_a_flag_says_what_was_found_and_why_it_matters():
    (flag,) = traces_in([Cell(1, "import threading")])
    assert flag.why.startswith("Found `import threading`.")
    assert "timer" in flag.why


def test_a_notice_of_the_worker_adds_no_second_flag():
    found = traces_in([Cell(1, "import ctypes")])
    assert flags_of(found, [("ctypes", 1), ("frames", 2)]) == [*found, *flags_of([], [("frames", 2)])]


def test_each_word_for_a_trace_has_a_reason():
    assert flags._KINDS.keys() >= TRACES
    assert all(flag.why for flag in flags_of([], [(what, 1) for what in TRACES], ["torch.equal"]))


def test_a_flood_of_traces_hides_none_and_fills_no_memory():
    cells = [Cell(number, "import gc; gc.callbacks") for number in range(1, 5_000)]
    flags = flags_of(traces_in([*cells, Cell(5_000, "import ctypes")]))
    assert len(flags) < 50
    assert [(flag.what, flag.cell) for flag in (flags[0], flags[-1])] == [("gc", 1), ("ctypes", 5_000)]


TOO_LONG = flags.TOO_LONG


@pytest.mark.parametrize("padding", ["#", "x = 1\n", "\ufdfa", "(", "'"])
def test_a_cell_too_long_to_parse_is_flagged_and_its_words_are_searched(padding):
    cell = padding * flags.MAX_PARSED_CELL + "\nos.write(11, b'')"
    assert kinds_in("x = 1", cell, "import ctypes") == [("raw descriptors", 2), (TOO_LONG, 2), ("ctypes", 3)]


def test_cells_beyond_what_is_parsed_of_a_notebook_are_flagged():
    filler = "x = 1\n" * (flags.MAX_PARSED_CELL // 6)
    fitting = flags.MAX_PARSED // len(filler)
    found = kinds_in(*[filler] * fitting, filler + "os.write(11, b'')")
    assert found == [("raw descriptors", fitting + 1), (TOO_LONG, fitting + 1)]


def test_text_beyond_what_is_searched_of_a_notebook_is_not_read_but_flagged():
    filler = " ".join(["word"] * (flags.MAX_SEARCHED // 5))
    long = "x" * flags.MAX_PARSED_CELL
    found = kinds_in(filler, f"{long} os.write", *[f"{long} gc.garbage"] * 99)
    assert {what for what, _ in found} == {TOO_LONG}
    assert len(found) == 20


def test_however_many_modules_a_name_stands_for_each_is_known():
    flood = "".join(f"import m{number} as o\n" for number in range(1_000))
    assert kinds_in(flood + "import os as o", "o.write(11, b'')") == [("raw descriptors", 2)]


def test_a_library_that_runs_texts_inside_texts_is_followed_to_their_end():
    text = "x = 1; f.__globals__"
    for _ in range(9):
        text = f"exec({text!r}); y = 2"
    assert kinds_in(text) == [("frames", 1)]


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("frames", "getattr(sys, '_get' + 'frame')()"),
        ("frames", "[getattr(sys, name)() for name in ['emarfteg_'[::-1]]]"),
        ("frames", "sys._getfr\uff41me()"),
        ("frames", "inspect.stack()"),
        ("frames", "getattr((_ for _ in ()), 'emarf_ig'[::-1])"),
        ("frames", "import traceback as t; getattr(t, 'kcats_tamrof'[::-1])()"),
        ("frames", "import traceback as t; list(getattr(t, 'kcats_klaw'[::-1])(None))"),
        ("frames", "import torch._jit_internal as t; t.createResolutionCallbackFromFrame(0)"),
        ("frames", "import bdb; bdb.Bdb().set_trace()"),
        ("frames", "try: 1 / 0\n    except Exception as e: getattr(e.__traceback__, 'emarf_bt'[::-1])"),
        ("settrace", "getattr(sys, 'set' + 'trace')(None)"),
        ("settrace", "getattr(sys, 'eliforptes'[::-1])(None)"),
        ("settrace", "import profile; profile.Profile().runcall(len, '')"),
        ("gc", "getattr(__import__('g' + 'c'), 'get_' + 'objects')()"),
        ("ctypes", "getattr(__import__('cty' + 'pes'), 'string_' + 'at')(b'x')"),
        ("code objects", "setattr(leaf, '__co' + 'de__', (lambda: 1).__getattribute__('__co' + 'de__'))"),
        ("code objects", "inspect.functools.update_wrapper(leaf, lambda: 1, ['__%s__' % 'code'])"),
        ("past the instance", "setattr(P(1), '__ssalc__'[::-1], P)"),
        ("imports at run time", "vars(__builtins__ or sys)['ex' + 'ec']('1')"),
        ("imports at run time", "[vars(__builtins__ or sys)[name]('1') for name in ['lave'[::-1]]]"),
        ("raw descriptors", "open(11, 'wb', closefd=False)"),
        ("raw descriptors", "import pathlib; pathlib.Path('/proc/self/' + 'maps').read_text()"),
        ("leaving the process", "import os; getattr(os, 'llik'[::-1])(os.getpid(), 0)"),
    ],
)
def test_what_the_text_hides_is_noticed(zygote, what, code):
    ordinary = "import sys, inspect, collections\nP = collections.namedtuple('P', 'x')"
    below = code.replace("\n    ", "\n")
    for text in (f"def leaf():\n    {code}\n    return 1", f"def leaf():\n    return 1\n{below}"):
        seen = look(zygote, [ordinary, text], leaf="student.leaf()")
        assert (what, 2) in seen.evidence.traces
        assert {cell for _, cell in seen.evidence.traces} == {2}


def test_a_text_that_a_magic_runs_but_no_cell_has_is_noticed(zygote):
    """A text that is put together for a magic stands in no cell; the body of a measured cell does."""
    measured = "%%time\n%time x = 'it''s'\nx"
    hidden = "get_ipython().run_cell_magic('time', '', ';'.join(['y = 1', 'z = 2']))"
    seen = look(zygote, [measured, hidden, "def leaf():\n    return x + str(y)"], leaf="student.leaf()")
    assert (seen["leaf"], seen.evidence.traces) == ("its1", [("imports at run time", 2)])


def test_what_a_librarys_thread_does_is_noticed(zygote):
    """No line of a cell stands above it, but nothing of ours does, either."""
    cell = "from concurrent.futures import ThreadPoolExecutor as P\nimport sys\nwith P() as pool:\n"
    cell += "    pool.submit(getattr(sys, 'semarf_tnerruc_'[::-1])).result()\ndef leaf():\n    return 1"
    assert look(zygote, cell, leaf="1").evidence.traces == [("frames", None)]


HONEST = """
import logging, sys, traceback
try:
    1 / 0
except ZeroDivisionError as error:
    traceback.print_exc()
    print(sys.exc_info()[0], traceback.format_tb(error.__traceback__))
    logging.exception("y")
# %%
import torch
x = torch.ones(4)
print(x.as_strided((2,), (1,), 1), x[1:].data_ptr() - x.data_ptr())
# %%
import inspect
from operator import attrgetter
print(inspect.signature(print), inspect.getsource(inspect.isclass)[:3])
print(attrgetter("real")(1), "{0.real}".format(1))
# %%
import asyncio
async def wait():
    await asyncio.sleep(0)
await wait()
# %%
w = torch.ones(1, requires_grad=True)
with torch.autograd.detect_anomaly():
    w.sum()
torch.manual_seed(1)
torch.func.vmap(torch.sin)(torch.ones(2))
torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(1, 1))
# %%
import collections, enum, typing
collections.namedtuple("P", "x", defaults=[1])
enum.Enum("E", "a")
typing.NamedTuple("Q", [("x", int)])
typing.TypeVar("T")
# %%
import pandas, tqdm, warnings
print(pandas.DataFrame({"a": [1]}))
list(tqdm.tqdm(range(3)))
warnings.warn("x")
# %%
import matplotlib.pyplot as plt
plt.legend()
plt.title("$x$")
plt.plot([1], [2], "r", color="b")
plt.tight_layout()
plt.show()
"""


def test_honest_code_of_the_same_libraries_is_not_noticed(zygote):
    limits = TimeLimits(cell=30, question=2, notebook=200)  # pandas and matplotlib are read from the disk
    cells = HONEST.split("# %%")
    seen = look(zygote, [*cells, "def leaf():\n    return 1"], limits=limits, leaf="student.leaf()")
    assert (seen["leaf"], seen.raised, seen.evidence.traces) == (1, {}, [])
    assert traces_in([Cell(number, code) for number, code in enumerate(cells, 1)]) == ()


def test_a_notice_cannot_be_taken_back(zygote):
    """What was noticed has left the process before its code goes on, also when that dies."""
    look_and_die = "import os, sys\ndef leaf():\n    getattr(sys, '_get' + 'frame')()\n    os._exit(0)"
    seen = look(zygote, look_and_die, leaf="student.leaf()")
    assert ("frames", 1) in seen.evidence.traces


@pytest.mark.parametrize("lines", ["nothing to see\\n", "\\n", "gc\\t1\\n", "frames"])
def test_what_stands_in_the_pipe_of_notices_but_is_none_is_a_trace(zygote, lines):
    """Who writes there, or fills the pipe so that nothing more goes in, is noticed by that."""
    cell = f"import os\nos.write(12, b'{lines}' * (1 << 16))\ndef leaf():\n    return 1"
    assert ("raw descriptors", None) in look(zygote, cell, leaf="1").evidence.traces


@pytest.mark.parametrize(
    "code", ["os.closerange(3, 64)", "fcntl.fcntl(12, fcntl.F_SETFD, 0)", "os.close(12)", "os.dup2(1, 12)"]
)
def test_the_pipe_of_notices_cannot_be_closed_or_moved(zygote, code):
    leaf = "def leaf():\n    getattr(sys, 'emarfteg_'[::-1])()\n    return 1"
    cell = f"import contextlib, fcntl, os, sys\nwith contextlib.suppress(OSError):\n    {code}\n{leaf}"
    seen = look(zygote, cell, leaf="student.leaf()")
    assert (seen["leaf"], seen.evidence.traces) == (1, [("frames", 1)])


def test_without_a_sandbox_a_closed_pipe_of_notices_is_a_trace():
    cell = "import os\nos.close(12)\ndef leaf():\n    return 1"
    with Zygote(sandbox=False) as unprotected:
        assert look(unprotected, cell, leaf="student.leaf()").evidence.traces == [("raw descriptors", None)]


def test_a_flood_of_one_notice_leaves_room_for_others(zygote):
    cell = (
        "import sys\nfor number in range(500):\n    compile('1', f'<cell {number}>', 'eval')\n"
        "    eval(compile('1', f'<cell {number}>', 'eval'))\n"
        "    exec(compile('compile(\"1\", \"x\", \"eval\")', f'<cell {number}>', 'exec'))\n"
        "getattr(sys, 'emarfteg_'[::-1])()\ndef leaf():\n    return 1"
    )
    traces = look(zygote, cell, leaf="1").evidence.traces
    assert ("frames", 1) in traces
    assert len(traces) < 30


def test_a_flood_of_one_kind_leaves_the_other_kinds():
    flood = [("builtins", cell) for cell in range(1, 500)]
    kept = united(flood, [("threads", 7)])
    assert ("threads", 7) in kept
    assert len(kept) < len(flood)
