"""Without a flagged audit event, student code reaches no Python function, module or open class of ours."""

import pytest
from declaring import declared, facts
from observing import look, request

from grader import network, own, tensor
from grader.inside import inside, nn, torch
from grader.sandbox.plan import TimeLimits

PATIENT = TimeLimits(cell=60, question=60, notebook=120)

#: Follows every reference that attributes, items, closures and the collector show. It is a superset of what a
#: student can follow without the collector, except that it stops where only the collector could go on: at
#: opaque callables, frames and tracebacks.
WALK = '''
import asyncio, functools, gc, signal, sys, types, weakref
import torch

OPAQUE = type(functools.lru_cache(lambda: 0))
CLOSED = (types.FrameType, types.TracebackType)
walked, ours = {}, []

def name_of(thing):
    named = (type, types.FunctionType, types.ModuleType)
    return thing.__name__ if type(thing) in named else type(thing).__name__

def is_ours(thing):
    kind = type(thing)
    code = thing.__code__ if kind is types.FunctionType else thing if kind is types.CodeType else None
    if code is not None:
        own = ("/grader/runtime/", "/grader/sandbox/worker/", "<inside>")
        return any(part in code.co_filename for part in own)
    if issubclass(kind, types.ModuleType):
        return str(vars(thing).get("__name__")).startswith(("grader.", "inside"))
    return False

def shown_by(thing):
    """What the collector does not list, or what an opaque callable shows."""
    kind = type(thing)
    if kind is OPAQUE:
        return [vars(thing)]
    if kind is weakref.ref:
        return [thing()]
    if issubclass(kind, type):
        return type.__subclasses__(thing)
    if issubclass(kind, torch.Tensor):
        return [thing.grad_fn, thing._backward_hooks, vars(thing)]
    if hasattr(kind, "next_functions") and kind is not torch.autograd.graph.Node:
        return [thing.metadata, *(node for node, _ in thing.next_functions)]
    return []

def walk(*roots):
    level = [*roots]
    while level:
        fresh = {id(t): t for t in level if id(t) not in walked and type(t) not in CLOSED}
        walked.update(fresh)
        things = [*fresh.values()]
        ours.extend(t for t in things if is_ours(t))
        looked_into = [t for t in things if type(t) is not OPAQUE and gc.is_tracked(t) and not is_ours(t)]
        level = [*gc.get_referents(*looked_into), *map(type, looked_into)]
        level += [part for t in things for part in shown_by(t)]
    if ours:
        raise RuntimeError(" < ".join(map(name_of, way_to(ours[0]))))

def way_to(thing):
    """The thing, what led to it, what led to that, and so on; the collector does not list who holds it."""
    way = [thing]
    while len(way) < 5:
        led = (h for h in walked.values() if type(h) is not OPAQUE and h is not walked and h is not ours)
        led = (h for h in led if any(part is way[-1] for part in gc.get_referents(h)))
        way.append(next(led, None))
    return way

def everything():
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    return [globals(), sys.modules, handlers, gc.callbacks, object]
'''


def test_a_cell_reaches_nothing_of_ours(zygote):
    """Neither names, modules, signal handlers and classes nor the running event loop lead to the worker."""
    await_all = (
        "await asyncio.sleep(0)\nwalk(*everything(), asyncio.get_running_loop(), get_ipython(), display)"
    )
    seen = look(zygote, [WALK, await_all, "len(walked) > 100_000 or 1 / 0"], limits=PATIENT)
    assert not seen.raised


def test_the_walk_finds_what_an_open_function_leads_to(zygote):
    """Otherwise it could find nothing: a closure in place of an opaque handler is reported."""
    opened = "found = [f for h in handlers if type(h) is OPAQUE for f in gc.get_referents(h)]"
    cells = [WALK, f"handlers = everything()[2]\n{opened}\nwalk(found)"]
    assert "_raise_timeout" in look(zygote, cells, limits=PATIENT).raised[2]


@inside
def things(setup, kind):
    """Whatever a check file can hand over: a network of its own, functions, hooks, a Function's node."""
    seen = []

    class Doubling(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x):
            return self.inner(x)

    network = Small()
    network.inner.register_forward_hook(lambda module, args, out: seen.append(out))
    network.inner.weight.register_hook(seen.append)
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    optimizer.register_step_pre_hook(lambda *_: seen.append(1))
    x = torch.ones(2, requires_grad=True)
    return [
        network,
        optimizer,
        Doubling.apply(network(x)),
        lambda v: network(v).sum(),
        seen.append,
        network.forward,
    ]


def test_a_call_reaches_nothing_of_ours(zygote):
    """Arguments, their classes, their hooks and the graphs behind them do not lead to the worker either."""
    given = {
        "x": tensor("n k", roles=["computed"]),
        "part": tensor("n k", roles=["computed"], layouts=["gaps"]),
        "net": network(),
        "bare": network(every=False, nest=["bare"]),
        "things": own(things, kind=["one"]),
    }
    asked = declared(
        "f", given, returns="nothing", modes=["on"], sequences=["first"], dtypes=["float32"], cover=[]
    )
    answer = """
walk(*everything())
def f(*given):
    net = given[2]
    width = next(p for p in net.parameters() if p.dim() == 2).shape[1]
    walk(given, everything()[2], net(torch.ones(2, width, dtype=given[0].dtype)))
    walk([made for own in given[2:4] for module in own.modules() for made in made_by(module)])
    assert id(net) in walked

def made_by(module):  # what methods of its own class give that ask for no argument
    for name in vars(type(module)):
        method = getattr(module, name)
        if not name.startswith("_") and type(method) is types.MethodType:
            try:
                yield method()
            except TypeError:
                pass  # it asks for one
"""
    found = facts(zygote, asked, WALK + answer, limits=PATIENT)
    assert found
    assert not [fact for fact in found if "raised" in fact or "stopped_after" in fact]


#: Each gets a frame by a way on which no event names the notebook, or a library seems to keep the frame.
FRAMES = {
    "a function of a library that typing calls": """
import inspect, typing
found = typing._GenericAlias(inspect.currentframe, int)()""",
    "a function that traceback uses": """
import linecache, traceback
seen = []
vars(linecache)['lazycache'] = lambda *its: seen.append(its)
try:
    1 / 0
except ZeroDivisionError as error:
    traceback.extract_tb(error.__traceback__)
found = seen[0]""",
    "a built-in function that traceback uses": """
import traceback
seen = []
vars(traceback)['repr'] = lambda value: seen.append(value) or ''
try:
    1 / 0
except ZeroDivisionError as error:
    traceback.TracebackException.from_exception(error, capture_locals=True)
found = seen[0]""",
    "a function behind the search for a stack": """
import linecache, traceback
seen = []
vars(linecache)['lazycache'] = lambda *its: seen.append(its)
with torch.autograd.set_detect_anomaly(True):
    traceback.format_stack()
found = seen[0]""",
    "a file that traceback writes to": """
import collections, functools, traceback
class File:
    pass
made = collections.defaultdict(functools.partial(list, traceback.walk_stack(None)))
file = File()
file.write = made.__getitem__
traceback.print_exception(ValueError('x'), file=file)
found = [*made.values()][0]""",
    "a module that calls itself typing": """
import importlib.machinery, importlib.util, types, typing
class Loader(importlib.machinery.SourceFileLoader):
    def get_data(self, path):
        return b'import sys\\ndef grab(): return sys._getframe()'
    def path_stats(self, path):
        return {'mtime': 0, 'size': 0}
loader = Loader('x', typing.__file__)
module = types.ModuleType('x')
module.__spec__ = importlib.util.spec_from_loader('x', loader)
loader.exec_module(module)
found = module.grab()""",
    "the end of the stack": """
import sys
found = None
def at(depth):
    return at(depth - 1) if depth else sys._getframe()
for depth in range(sys.getrecursionlimit(), 0, -1):
    try:
        found = found or at(depth)
    except RecursionError:
        pass""",
}


@pytest.mark.parametrize("way", FRAMES)
def test_a_frame_is_noticed_however_it_is_got(zygote, way):
    """Libraries that count as innocent, names of files and an error in the listener hide nothing."""
    seen = look(zygote, ["import torch", FRAMES[way], "assert found is not None"], limits=PATIENT)
    assert not seen.raised
    assert "frames" in {what for what, _ in seen.evidence.traces}


#: Callables that give what they find in the code that runs, when C calls them.
NAMESPACES = {
    "locals": ("locals", "frames"),
    "vars": ("vars", "frames"),
    "dir": ("dir", "frames"),
    "code of a generator": ("functools.partial(eval, getattr(names(), 'gi_code'))", "imports at run time"),
}


@pytest.mark.parametrize("way", NAMESPACES)
def test_a_callable_of_c_is_noticed_while_our_code_runs(zygote, way):
    """The death of an object calls it, and no code of the notebook runs then: the notebook is flagged."""
    give, flag = NAMESPACES[way]
    answer = f"""
import collections, functools, sys, weakref
def names():
    yield globals()
found, kept = collections.defaultdict({give}), []
class Mark:
    pass
def first():
    mark = Mark()
    kept.append(weakref.ref(mark, found.__getitem__))
    hash(kept[-1])  # which needs the object, and is remembered
    return mark
def second():
    return len(found)"""
    asked = request("first", "student.first()\nreturn student.second()")
    seen = look(zygote, [answer], first=asked)
    assert seen["first"] == 1
    assert (flag, None) in seen.evidence.traces


def test_a_test_module_of_pythons_is_noticed(zygote):
    """It gives what ctypes gives, and no event of Python's tells of it."""
    cells = ["import importlib", "importlib.import_module('_test' + 'capi')"]
    assert ("ctypes", 2) in look(zygote, cells, limits=PATIENT).evidence.traces


def test_what_gives_a_namespace_works_in_a_notebook(zygote):
    """In cells, functions and classes, and in what they execute, it gives what it gives in Jupyter."""
    answer = """
x = 1
class Made:
    z = 3
    names = [name for name in sorted(locals()) if name[0] != "_"]
def f():
    y = 2
    texts = eval("y + x"), eval("sorted(locals())")
    return sorted(locals()), sorted(vars()), dir(), "x" in globals(), texts, Made.names, vars(Made)["z"]"""
    seen = look(zygote, [answer], f="student.f()")
    inside = ["texts", "y"]
    assert seen["f"] == (inside, inside, inside, True, (3, ["y"]), ["z"], 3)
    assert "frames" not in {what for what, _ in seen.evidence.traces}
