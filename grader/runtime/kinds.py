"""Makes the inputs of a contract: tensors, networks, optimizers and lists, with every level.

A *kind* is a level of a factor, such as ``transposed`` for the layout of a tensor. Levels are in
``grader/course/levels.py``, most with an expression that uses the names in this module. No class or attribute
here reveals to student code which question is being asked, and the events that networks recorded are behind a
callable of C.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from . import memory
from .encoding import snap
from .opaque import opaque, sealed, sealed_function
from .originals import (
    Parameter,
    builtins_copy,
    collect_garbage,
    count_allocated_blocks,
    element_size,
    empty,
    empty_strided,
    equal,
    float64,
    get_torch_random_state,
    identity,
    is_wrapped,
    next_sequence_number,
    rand,
    randn,
    shape_of,
    storage_size,
    weak_reference,
    without_subclasses,
    zeros,
)
from .torch_objects import attributes_of, made_by, modules_of, read_grad, storage_of

__builtins__ = builtins_copy()

Kind = Callable[[str], Any]  # of a factor
# Sizes of names, in order. They differ between seeds, but the same ones are always odd, and the same ones
# larger.
_ORDER = torch.tensor([5, 4, 3, 6, 7, 8, 9, 10, 11, 12, 13])
_LARGE = [44, 46]  # a tensor with twice as many entries has the largest size that is observed
_WIDE, _MANY = 512, 64  # the width of a network and the rows that are more, where memory is measured
_WIDEST = 8 * _WIDE  # the width where the number of rows is typical
memory.warm_up(6 * _MANY, 4 * _WIDE)
memory.warm_up(16, 3 * _WIDEST)


class Setup(dict[str, Any]):
    """The objects of one case, by name.

    Attributes:
        case: the level of every factor, by ``argument.factor``.
        dtype: that of all floating-point tensors.
        measures_memory: whether memory is measured, and some sizes are large.
        starts: for each non-leaf, by name, the leaf whose gradient is observed.
        remembered: objects that one `own` argument stores for another, by name.
        around: the caller's memory before and between the entries of inputs, by name.
    """

    def __init__(
        self,
        case: dict[str, Any],
        functions: dict[str, Any],
        builders: dict[str, Callable[..., Any]],
        sizes: dict[str, int] | None = None,
        large: Collection[str] = (),
    ) -> None:
        super().__init__()
        self.case, self.functions, self._builders = case, functions, builders
        self.dtype: torch.dtype = getattr(torch, case["all.dtype"])
        self.starts: dict[str, Any] = {}
        self.remembered: dict[str, list[Any]] = {}
        self.around: dict[str, Any] = {}
        self._sizes: dict[str, int] = {} if sizes is None else sizes
        order = (_ORDER + 2 * torch.randint(2, ())).tolist()
        others = {"equal": order[:1] * 20, "large": [*_LARGE, *order]}
        taken = set(self._sizes.values())
        self._free = others.get(case["all.sizes"], [n for n in order if n not in taken])
        self.measures_memory = measures_memory(case)
        self._more: dict[str, int] = {}
        if self.measures_memory:
            has_many_rows = case["call.memory"] != "measured, few rows"
            self._more = {"hidden": _WIDE if has_many_rows else _WIDEST}
            self._more |= dict.fromkeys(large, _MANY) if has_many_rows else {}

    def size(self, name: str) -> int:
        """The size of a name; sizes differ unless the case says otherwise."""
        if name not in self._sizes:
            self._sizes[name] = self._free.pop(0) + self._more.get(name, 0)
        return self._sizes[name]

    def shape(self, words: str) -> tuple[int, ...]:
        """The sizes of words: ``n 2c`` (c doubled), ``1 k``, ``*x k`` (x without its last dimension)."""
        sizes: list[int] = []
        for word in words.split():
            if word[0] in "*=":  # as another argument: without its last dimension, or whole
                like = tuple(self[word[1:]].shape)
                sizes += like[:-1] if word[0] == "*" else like
                continue
            factor, name = re.fullmatch(r"(\d*)(\w*)", word).groups()  # type: ignore[union-attr]
            sizes.append(int(factor or 1) * (self.size(name) if name else 1))
        return tuple(sizes)

    def kind(self, argument: str) -> Kind:
        """The levels of an argument's factors in this case."""
        return lambda factor: self.case[f"{argument}.{factor}"]

    def build(self, maker: str, factor: str, kind: Kind, *given: Any) -> Any:
        """The object that the source of a factor's level builds; None if it has no source."""
        builder = self._builders.get(f"{maker}.{factor}.{kind(factor)}")
        return None if builder is None else builder(*given)

    def numbers(self, maker: str, kind: Kind, shape: tuple[int, ...]) -> Any:
        """Numbers of a level of values, from the table or an author's function of a shape."""
        own = self.functions.get(kind("values"))
        return self.build(maker, "values", kind, shape) if own is None else own(*shape)


def measures_memory(case: dict[str, Any]) -> bool:
    """Whether memory is measured in a case."""
    return bool(case.get("call.memory", "free") != "free")


# Values: functions of a shape.


def _normal(*shape: int) -> Any:
    return randn(shape, dtype=float64)


def _huge(*shape: int) -> Any:
    """Numbers of either sign from 1e38 to 2e38, which are finite in float32."""
    return _normal(*shape).sign() * (1 + rand(shape, dtype=float64)) * 1e38


def _diverged(*shape: int) -> Any:
    """Numbers of a failed training: no arithmetic removes nan and inf."""
    values = _normal(*shape)
    values.view(-1)[:1], values.view(-1)[-1:] = math.inf, math.nan
    return values


# Tensors.


@sealed_function
class _WithGaps(torch.autograd.Function):
    """Give a non-leaf that is neither dense nor a view, which no operation of torch returns."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return laid_out(x, "gaps")

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


def laid_out(tensor: Any, how: str) -> Any:
    """The same values in new storage with the requested layout.

    Torch does not treat it as a view, which would have fewer rights: tasks mean the layout in memory.
    """
    if how == "transposed" and tensor.dim() > 1:
        like = tensor.transpose(0, -1).contiguous().transpose(0, -1)
        return empty_strided(like.shape, like.stride(), dtype=tensor.dtype).copy_(tensor)
    if how == "gaps" and tensor.dim():
        between = [size + 1 for size in tensor.shape[:-1]]  # no two dimensions can be merged
        room, apart = zeros(*between, 2 * tensor.shape[-1] + 1, dtype=tensor.dtype), tensor[:0]
        strides = [*room.stride()[:-1], 2]
        return apart.clone().set_(room.untyped_storage(), 0, tensor.shape, strides).copy_(tensor)
    if how == "expanded" and tensor.dim() and len(tensor):
        return tensor[:1].clone().expand(tensor.shape)
    if how == "part":
        larger = zeros(tensor.numel() + 3, dtype=tensor.dtype)
        larger[3:] = tensor.flatten()
        part = torch.empty(0, dtype=tensor.dtype)
        return part.set_(larger.untyped_storage(), 3, tensor.shape, tensor.contiguous().stride())
    return tensor.clone(memory_format=torch.contiguous_format)


def _around(tensor: Any, how: str) -> Any:
    """The memory that `laid_out` leaves before a part, or in gaps."""
    storage = tensor.untyped_storage()
    places: tuple[Any, ...] = (0, (3,), (1,)) if how == "part" else (1, tensor.shape, tensor.stride())
    return torch.empty(0, dtype=tensor.dtype).set_(storage, *places)


_LAYOUTS = {"contiguous", "transposed", "gaps", "part", "expanded"}
_ROLES = {"computed", "leaf", "plain", "saved"}


def make_tensor(setup: Setup, name: str, kind: Kind, options: dict[str, Any]) -> Any:
    """Make a tensor: shape, values, dtype, role, layout and ``.grad``."""
    plain = setup.numbers("tensor", kind, setup.shape(kind("shape")))
    dtype = getattr(torch, options["dtype"]) if options.get("dtype") else setup.dtype
    if plain.dtype is float64:
        plain = plain.to(dtype)
    how, role = kind("layout"), kind("role")
    if how not in _LAYOUTS or role not in _ROLES:
        raise ValueError(f"make_tensor builds no tensor with the layout {how!r} and the role {role!r}")
    if role not in {"plain", "leaf"}:
        is_alike = how == "transposed"  # an operation preserves such a layout of its input
        start = laid_out(plain, how) if is_alike else plain.clone(memory_format=torch.contiguous_format)
        setup.starts[name] = start.requires_grad_()
        return _computed(start, how, role)
    plain = laid_out(plain, how)
    if how == "part" or (how == "gaps" and plain.dim()):
        setup.around[f"memory around {name}"] = _around(plain, how)
    if role == "plain":
        return plain
    leaf = plain.requires_grad_()
    leaf.grad = setup.build("tensor", "grad", kind, leaf)
    return leaf


def _computed(start: Any, how: str, role: str) -> Any:
    """A non-leaf with the values of a leaf; with `saved`, its operation needs them in backward."""
    if role == "saved":  # made by exp, so its values are positive and cannot be chosen
        return start.exp()
    if how == "expanded" and start.dim() and len(start):
        return (1 * start[:1]).expand(start.shape)
    if how == "part":
        return torch.cat([zeros(3, dtype=start.dtype), start.flatten()])[3:].view(start.shape)
    return _WithGaps.apply(start) if how == "gaps" else 1 * start  # type: ignore[no-untyped-call]


def make_number(setup: Setup, name: str, kind: Kind, options: dict[str, Any]) -> Any:
    """Make a number: the declared one, or a random one between two bounds; an int between two ints."""
    value = kind("value")
    if type(value) is not tuple:
        return value
    first, last = value
    share = rand(()).item()
    return first + int(share * (last + 1 - first)) if type(first) is int else first + share * (last - first)


# Networks.

#: The recorder of the call that runs now, or nothing.
_noticed: list[Any] = []


class Recorder:
    """Records the calls of networks, given by name, during a call of the function, with their arguments."""

    def __init__(self, networks: dict[str, Any], wanted: Collection[str] = ()) -> None:
        events = [note.rpartition(".")[2].partition("+")[0] for note in wanted]
        self._names, self._wanted = {identity(net): name for name, net in networks.items()}, set(events)
        self._parts = {
            name: [attributes_of(part) for _, part in modules_of(net)] for name, net in networks.items()
        }
        self._modes = {name: self._modes_of(name) for name in networks}
        self.switched: list[str] = []  # networks that were called in other modes than at the beginning
        self.calls = dict.fromkeys(networks, 0)
        self.copies = 0
        self.recorded = False
        self.sequence = 0  # the number of the operation that autograd would have recorded next
        self.random_numbers = False
        self._random_state = get_torch_random_state() if "random numbers" in self._wanted else None
        self.given: list[Any] = []
        self.steps: list[dict[str, Any]] = []  # of each step of an optimizer the gradients that it had
        self.entered = dict.fromkeys(networks, 0)  # at most, of rows, in a call
        self.graphs = dict.fromkeys(networks, 0)  # at most, of earlier calls, alive at a call
        self._lives: list[tuple[str, Any]] = []  # whose graph, and a weak reference that dies with it

    def of_call(self, network: Any, out: Any, begun: int) -> None:
        name = self._names.get(identity(network))
        if name is None:
            self.copies += 1
        else:
            self.calls[name] += 1
            if name not in self.switched and self._modes_of(name) != self._modes[name]:
                self.switched.append(name)
            self._of_rows(name, out, begun)

    def _modes_of(self, name: str) -> list[bool]:
        return [held.get("training") is True for held in self._parts[name]]

    def _of_rows(self, name: str, out: Any, begun: int) -> None:
        """Record how many rows come out, and how many earlier graphs of the network are alive."""
        storage = storage_of(out)
        if "entered" in self._wanted and storage is not None:  # under vmap, too
            rows = storage_size(storage) // (element_size(out) * shape_of(out)[-1])
            self.entered[name] = max(self.entered[name], rows)
        if "graphs" in self._wanted:
            self.graphs[name] = max(self.graphs[name], self._alive(collect_from=2)[name])
            life = opaque(_let_through)
            for node in _recorded_since(made_by(out), begun):
                node.register_prehook(life)  # which torch holds as long as the node, out of sight
            self._lives.append((name, weak_reference(life)))

    def _alive(self, collect_from: int = 1) -> dict[str, int]:
        """The number of graphs of each network that are alive; from ``collect_from`` on, without garbage."""
        alive = Counter(name for name, life in self._lives if life() is not None)
        if max(alive.values(), default=0) >= collect_from:
            collect_garbage()
            alive = Counter(name for name, life in self._lives if life() is not None)
        return {name: alive[name] for name in self.calls}

    def of_step(self, optimizer: Any, names: dict[int, str]) -> None:
        """Record the ``.grad`` of all parameters after the step: a closure computes it during the step."""
        if "steps" in self._wanted and len(self.steps) < _MOST_NOTED:
            held = [p for group in optimizer.param_groups for p in group["params"]]
            self.steps.append({names.get(identity(p), "another tensor"): snap(read_grad(p)) for p in held})

    def of_end(self) -> None:
        """Record whether a call drew from torch's global generator, or seeded it."""
        if self._random_state is not None:
            self.random_numbers |= not equal(self._random_state, get_torch_random_state())

    def of_reseed(self) -> None:
        """Compare the next call with the present state, because the generators were seeded again."""
        if self._random_state is not None:
            self._random_state = get_torch_random_state()

    def recorded_events(self) -> dict[str, Any]:
        """The records that are compared with the reference after the call."""
        return {
            "given": self.given,
            "calls": self.calls,
            "copies": self.copies,
            "recorded": self.recorded,
            "random numbers": self.random_numbers,
            "steps": self.steps,
            "entered": self.entered,
            "graphs": self.graphs,
            "graphs left": self._alive(),
        }


class Scale(Recorder):
    """The additional memory of the process, measured by networks while they compute.

    It counts bytes, Python's small objects, whose sizes are unknown, and outputs that outlive the call.
    """

    def __init__(self) -> None:
        super().__init__({})
        self._outputs: list[Any] = []  # a weak reference to the storage of each
        self.peak = self.forward = self.peak_of_objects = 0
        self.before, self.objects_before = memory.held(), count_allocated_blocks()

    def of_call(self, network: Any, out: Any, begun: int) -> None:
        now = memory.held() - self.before
        self.forward = self.forward or now  # of the first forward alone
        self.peak = max(self.peak, now)
        self.peak_of_objects = max(self.peak_of_objects, count_allocated_blocks() - self.objects_before)
        if (storage := storage_of(out)) is not None:
            self._outputs.append(weak_reference(storage))

    def outputs_left(self, returned: Iterable[Any]) -> int:
        """The number of outputs that are alive, except those that share storage with a returned tensor."""
        collect_garbage()
        outputs = [storage for ref in self._outputs if (storage := ref()) is not None]
        kept = {identity(storage_of(tensor)) for tensor in returned}
        return sum(identity(storage) not in kept for storage in outputs)

    def amounts(self, left: int) -> dict[str, int]:
        """The amounts that are compared with the reference's, and those that remain after the call."""
        return {
            "left": left - self.before,
            "peak": self.peak,
            "forward": self.forward,
            "objects left": count_allocated_blocks() - self.objects_before,
            "objects peak": self.peak_of_objects,
        }


def listen(recorder: Recorder | None) -> None:
    """Let networks note what they do, or no longer; then it is known whether autograd recorded anything."""
    for ended in _noticed:
        ended.recorded = next_sequence_number() != ended.sequence
    _noticed[:] = [] if recorder is None else [recorder]
    for begun in _noticed:
        begun.sequence = next_sequence_number()


def _note_call(network: Any, out: Any, begun: int) -> None:
    if _noticed:
        with without_subclasses():  # a class of the student's may say anything of its tensors
            _noticed[0].of_call(network, out, begun)


def note_end_of_call() -> None:
    """Let the recorder observe the random generator, before it is seeded again."""
    for recorder in _noticed:
        recorder.of_end()


def note_reseed() -> None:
    """Let the recorder compare the next call with the generator as it is now."""
    for recorder in _noticed:
        recorder.of_reseed()


def _recorded_since(node: Any, number: int) -> list[Any]:
    """The nodes of a graph from one on, as far as they were recorded since an operation of this number."""
    found, waiting = dict[int, Any](), [node]
    while waiting:
        one = waiting.pop()
        # The nodes of leaves live as long as these, and have a number above all others.
        if one is not None and identity(one) not in found and number <= one._sequence_nr() < 1 << 63:
            found[identity(one)] = one
            waiting += [node for node, _ in one.next_functions]
    return [*found.values()]


def _let_through(_: Any) -> None:
    """A hook of a node, or of a network's input, that changes nothing."""


def _note_step(optimizer: Any, names: dict[int, str]) -> None:
    if _noticed:
        _noticed[0].of_step(optimizer, names)


def _note(value: Any) -> None:
    if _noticed and len(_noticed[0].given) < _MOST_NOTED:
        _noticed[0].given.append(snap(value))


_MOST_NOTED = 100
note_call, note = opaque(_note_call), opaque(_note)


@sealed
class Louder(nn.Module):
    """A layer that behaves differently in train mode, without random numbers."""

    def forward(self, x: Any) -> Any:
        return 2 * x if self.training else x


@sealed
class Dropout(nn.Module):
    """A layer that uses the function, not a module, for dropout."""

    def forward(self, x: Any) -> Any:
        return F.dropout(x, 0.5, self.training)


@sealed
class Norm(nn.Module):
    """Batch norm over all rows."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.rows = nn.BatchNorm1d(width)
        self.rows.running_mean.normal_()  # type: ignore[union-attr]
        self.rows.running_var.uniform_(0.5, 1.5)  # type: ignore[union-attr]

    def forward(self, x: Any) -> Any:
        return self.rows(x.reshape(-1, x.shape[-1])).view(x.shape)


class CallerError(Exception):
    """An error with its own class."""


class CallerInterrupt(BaseException):
    """A BaseException that is not an Exception, such as Ctrl-C."""


#: The errors of the caller's, by the number with which an input begins.
_ERRORS: dict[float, type[BaseException]] = {
    math.inf: CallerError,
    -math.inf: CallerInterrupt,
}


@sealed
class Net(nn.Module):
    """A network with any levels, from (..., inputs) to (..., outputs)."""

    def __init__(self, setup: Setup, sizes: tuple[int, int, int], kind: Kind, *, may_raise: bool) -> None:
        super().__init__()
        inputs, hidden, outputs = sizes
        first, last = _linear(inputs, hidden), _linear(hidden, outputs)
        # Put where `nn.Module` keeps them: its own way takes as long as a small product of matrices.
        parameters, modules, attributes = self._parameters, self._modules, vars(self)
        part = setup.build("module", "inside", kind, hidden)
        nest = kind("nest")
        gives, mixes = kind("gives"), kind("rows") == "together"
        # These hide the settings of the case from student code; a copy of the network has the same.
        attributes["begin"] = opaque(_raise_error_of if may_raise else _let_through)
        attributes["finish"] = opaque(lambda out: _finished(out, gives, mixes=mixes))
        if nest == "bare":  # it has no modules
            parameters.update(weight=first.weight, bias=first.bias)
            parameters.update(last_weight=last.weight, last_bias=last.bias)
        elif nest == "deep":
            low = nn.Sequential(nn.Sequential(first, part))
            modules.update(low=low, high=nn.ModuleList([nn.ModuleList([last])]))
        else:
            modules.update(first=first, part=part, last=last)
        if nest == "own":
            self.scale = nn.Parameter(1 + rand(outputs))
        setup.build("module", "numbers", kind, last)
        if kind("tied") == "tied":
            self.echo = _linear(inputs, hidden, bias=False)
            self.echo.weight = first.weight
        if kind("buffers") == "buffers":
            self.register_buffer("shift", randn(outputs))
            self.register_buffer("hidden_shift", randn(hidden), persistent=False)
            self.register_buffer("seen", torch.randint(1 << 41, 1 << 42, ()))
            self.register_buffer("unused", None)

    def pieces(self) -> tuple[Any, Any, Any]:
        """The first layer, the part that depends on the mode, and the last layer."""
        net: Any = self
        if "weight" in self._parameters:
            return (
                opaque(lambda x: F.linear(x, net.weight, net.bias)),
                opaque(lambda h: 2 * h if net.training else h),
                opaque(lambda h: F.linear(h, net.last_weight, net.last_bias)),
            )
        return (*net.low[0], net.high[0][0]) if "low" in self._modules else (net.first, net.part, net.last)

    def forward(self, x: Any) -> Any:
        """Tanh between two layers; how an input begins may be the caller's error."""
        attributes, begun = vars(self), next_sequence_number()
        attributes["begin"](x)
        first, part, last = self.pieces()
        h = first(x) if "echo" not in self._modules else first(x) - 2 * self.echo(x)
        hidden = torch.tanh(h + self.hidden_shift) if "hidden_shift" in self._buffers else torch.tanh(h)
        out = last(part(hidden))
        if "scale" in self._parameters:
            out = out * self.scale * (1.5 if self.training else 1)  # its forward uses self.training
        out = out + self.shift if "shift" in self._buffers else out
        out = attributes["finish"](out)
        note_call(self, out, begun)
        return out


def _raise_error_of(x: Any) -> None:
    """Raise the caller's error by which an input may begin."""
    error = _ERRORS.get(x.flatten()[0].item()) if x.numel() and not is_wrapped(x) else None
    if error is not None:
        raise error("no numbers", x.shape[0])


def _finished(out: Any, gives: str, *, mixes: bool) -> Any:
    """The output of a network, by its level of `gives`."""
    out = out - 3 * out.mean(0, keepdim=True) if mixes else out
    match gives:
        case "half":
            return out.half()
        case "view":
            return out.transpose(0, -1).contiguous().transpose(0, -1)
        case "a number":
            return out[..., 0]
        case "tanh":
            return torch.tanh(out)
    return out


def _linear(inputs: int, outputs: int, *, bias: bool = True) -> Any:
    """A layer whose values are drawn in one call."""
    layer = nn.Linear.__new__(nn.Linear)
    nn.Module.__init__(layer)
    vars(layer).update(in_features=inputs, out_features=outputs)
    bound = inputs**-0.5
    weight, shift = (empty(shape).uniform_(-bound, bound) for shape in ((outputs, inputs), (outputs,)))
    layer._parameters.update(weight=Parameter(weight), bias=Parameter(shift) if bias else None)
    return layer


def make_module(setup: Setup, name: str, kind: Kind, options: dict[str, Any]) -> Any:
    """A network: structure, modes, frozen and tied parameters, buffers, what it returns, ``.grad``, hooks."""
    built = setup.kind(options["like"]) if options.get("like") else kind
    outputs = 1 if built("width") == "one column" else setup.size(options["outputs"])
    inputs = options["inputs"]
    width = setup[inputs[1:]].shape[-1] if inputs[0] == "*" else setup.size(inputs)
    has_fault = any(key.endswith(".fault") and how != "none" for key, how in setup.case.items())
    net = Net(setup, (width, setup.size("hidden"), outputs), built, may_raise=has_fault)
    if setup.dtype is float64:
        net.to(float64)
    part = net if "weight" in net._parameters else net.pieces()[1]
    setup.build("module", "train", kind, net, part)
    parameters = list(net.parameters())
    for parameter in setup.build("module", "frozen", kind, parameters) or ():
        parameter.requires_grad_(False)
    filled = torch.zeros_like if kind("grads") == "zeros" else torch.randn_like
    for parameter in setup.build("module", "grads", kind, parameters):
        parameter.grad = filled(parameter)
    setup.build("module", "hooks", kind, net, part)
    return net


def _hook(net: Any, part: Any) -> None:
    """Register hooks that change nothing."""
    part.register_forward_hook(opaque(lambda module, args, out: out))
    learning = [p for p in net.parameters() if p.requires_grad]
    if learning:
        learning[0].register_hook(opaque(lambda gradient: gradient))


def _hook_that_changes(net: Any) -> None:
    """Register hooks that change the network's output."""
    net.register_forward_pre_hook(opaque(lambda module, args: None))
    net.register_forward_hook(opaque(lambda module, args, out: 3 * out))


# Optimizers.


def make_optimizer(setup: Setup, name: str, kind: Kind, options: dict[str, Any]) -> Any:
    """An optimizer of the named arguments' parameters; of the last of them it may hold some only."""
    held = _learners(setup, options["of"])
    last = _learners(setup, options["of"][-1:])
    some = setup.build("optimizer", "holds", kind, last)
    held = [p for p in held if all(p is not q for q in last)] + some
    groups = setup.build("optimizer", "groups", kind, held)
    optimizer = setup.build("optimizer", "rule", kind, groups)
    names = {identity(p): name for of in options["of"] for name, p in _named(of, setup[of])}
    optimizer.register_step_post_hook(opaque(lambda its, *_: _note_step(its, names)))
    if kind("state") == "stepped":
        kept = [p.grad for p in held]
        for _ in range(2):
            for p in held:
                p.grad = torch.randn_like(p) if p.requires_grad else None
            optimizer.step()
        for p, grad in zip(held, kept, strict=True):
            p.grad = grad
    return optimizer


def _two_groups(held: list[Any], rate: float) -> list[dict[str, Any]]:
    """Two halves, the second with a learning rate; a single tensor has one group."""
    cut = max(1, len(held) // 2)
    return (
        [{"params": held[:cut]}, {"params": held[cut:], "lr": rate}] if len(held) > 1 else [{"params": held}]
    )


def _named(name: str, thing: Any) -> list[tuple[str, Any]]:
    """The parameters of an argument, or that itself, and what they are called."""
    if not isinstance(thing, nn.Module):
        return [(name, thing)]
    return [(f"{name}.{part}", p) for part, p in thing.named_parameters()]


def _learners(setup: Setup, names: list[str]) -> list[Any]:
    """The parameters of some arguments, or these tensors themselves, each once."""
    things = [setup[name] for name in names]
    found = [p for name, thing in zip(names, things, strict=True) for _, p in _named(name, thing)]
    return list({identity(p): p for p in found}.values())


# Lists.


def make_inputs(setup: Setup, name: str, kind: Kind, options: dict[str, Any]) -> Any:
    """A list of inputs of a network."""
    width = setup.size(options["inputs"])
    rows = [setup.size("batch") + more for more in (1, 0, 3)]

    def one(*shape: int) -> Any:
        return randn(*shape, width, dtype=setup.dtype)

    return setup.build("inputs", "list", kind, one, rows)


def _views(larger: Any) -> list[Any]:
    """Views of one memory, of different shapes and layouts."""
    width = larger.shape[-1]
    return [larger, larger[:2], larger.flatten()[: 2 * width].view(width, 2).t(), larger[1:]]


def _twice(one: Callable[..., Any], rows: list[int]) -> list[Any]:
    """Three entries, of which the last is the first."""
    first = one(rows[0])
    return [first, one(rows[1]), first]


def make_pairs(setup: Setup, name: str, kind: Kind, options: dict[str, Any]) -> Any:
    """A list of batches (x, y) for a network; the first or the last of them may be the caller's error."""
    n, inputs, outputs = setup.size("batch"), setup.size(options["inputs"]), _width(setup, options)
    pairs = [
        (
            randn(rows, inputs, dtype=setup.dtype),
            setup.numbers("pairs", kind, (rows, outputs)).to(setup.dtype),
        )
        for rows in setup.build("pairs", "list", kind, n)
    ]
    if kind("fault") == "shape":
        pairs[-1] = (randn(n, inputs + 1, dtype=setup.dtype), pairs[-1][1])
    elif kind("fault") != "none":
        place, number = {"own": (0, math.inf), "interrupt": (-1, -math.inf)}[kind("fault")]
        pairs[place][0][0, 0] = number
    pairs[0][0].requires_grad_(kind("xs") == "requires grad")
    return pairs


def _width(setup: Setup, options: dict[str, Any]) -> int:
    """The number of output columns of the network."""
    of = options.get("of")
    return 1 if of and setup.case.get(f"{of}.width") == "one column" else setup.size(options["outputs"])


def make_target(setup: Setup, name: str, kind: Kind, options: dict[str, Any]) -> Any:
    """Make a tensor without grad, in the shape of a network's output for an input."""
    rows = tuple(setup[options["like"]].shape[:-1])
    is_number = setup.case.get(f"{options.get('of')}.gives") == "a number"
    shape = rows if is_number else (*rows, _width(setup, options))
    return setup.numbers("target", kind, shape).to(setup.dtype)


def make_own(setup: Setup, name: str, kind: Kind, options: dict[str, Any]) -> Any:
    """The object that a function of the check file makes from the setup and the levels of this argument."""
    return setup.functions[options["make"]](setup, kind)


MAKERS: dict[str, Callable[[Setup, str, Kind, dict[str, Any]], Any]] = {
    "tensor": make_tensor,
    "number": make_number,
    "module": make_module,
    "optimizer": make_optimizer,
    "inputs": make_inputs,
    "pairs": make_pairs,
    "target": make_target,
    "own": make_own,
}


#: Names that the sources of levels may use, besides torch and nn.
NAMES = {
    **{
        one.__name__: one
        for one in (_normal, _huge, _diverged, Louder, Norm, Dropout, _hook, _hook_that_changes)
    },
    **{one.__name__: one for one in (_two_groups, _views, _twice)},
    "_zeros": zeros,
    "_double": float64,
}


def tensors_in(thing: Any) -> Iterator[Any]:
    """The tensors of an argument: itself, or those in lists, tuples and networks."""
    if isinstance(thing, torch.Tensor):
        yield thing
    elif isinstance(thing, list | tuple):
        for part in thing:
            yield from tensors_in(part)
    elif isinstance(thing, nn.Module):
        yield from thing.parameters()
        yield from thing.buffers()


def snapped(value: Any) -> Any:
    """The present state of a value, to any depth of lists, tuples and dicts."""
    if type(value) is list:
        return [*map(snapped, value)]
    if isinstance(value, tuple):
        return tuple(map(snapped, tuple.__iter__(value)))
    if isinstance(value, dict):
        return {key: snapped(part) for key, part in dict.items(value)}
    return snap(value)
