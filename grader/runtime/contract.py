"""Observes a student's function in all cases of a contract, each in its own setup.

A *case* assigns a level to every factor of the arguments and of the call. Its observation is a dict of those
fields of ``Observation`` (explained in ``grader/contracts/cases.py``) that differ from their defaults.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise, starmap
from typing import Any

from . import gradients, memory, perturbation, torch_objects, torch_state, vocabulary
from .encoding import Raised, Snap
from .kinds import MAKERS, Recorder, Scale, Setup, listen, measures_memory, snapped, tensors_in
from .opaque import opaque
from .originals import (
    ITIMER_PROF,
    SIGPROF,
    Module,
    Optimizer,
    builtins_copy,
    cat,
    collect_garbage,
    detach,
    float64,
    freeze_garbage,
    identity,
    multiply,
    numel,
    ones,
    randn_like,
    requires_grad,
    reshape,
    set_grad_enabled,
    set_signal_handler,
    set_timer,
    shape_of,
    strides_of,
    to_dtype,
)
from .side_effects import SideEffects
from .student_namespace import CallWatch

__builtins__ = builtins_copy()

_METHODS = {types.MethodType, types.BuiltinMethodType}
_OTHER = {"other", "other data"}  # sequences in which an earlier result is backpropagated again
_MAX_DEPTH = 6
_SECONDS = 2.0  # seconds of processor time for a call, so that a busy machine costs no student points
_SECONDS_PERTURBED = 8.0  # the same of the reference while its results are perturbed, which takes its time


def observe_cases(
    watch: CallWatch,
    student: Any,
    plan: dict[str, Any],
    functions: dict[str, Callable[..., Any]],
    builders: dict[str, Callable[..., Any]],
) -> list[Any]:
    """Observe every case.

    Args:
        watch: notices changes of torch by the student's functions.
        student: the names of the notebook.
        plan: the result of ``Contract.plan`` outside: function, arguments, given, base, cases and settings.
        functions: those of the check file that the plan names.
        builders: the sources of kinds as functions, by ``maker.factor.kind``.
    """
    observations: list[dict[str, Any]] = []
    remains: list[_Remains] = []
    leaves: list[_Leaf] = []
    if plan["counts graphs"]:
        # To count is to collect garbage: then what lives now need not be looked through again.
        collect_garbage()
        freeze_garbage()
    sizes: dict[str, int] = {}  # of every second case, because allocators reuse memory of the same shape
    for number, unusual in enumerate(plan["cases"]):
        levels = {**plan["base"], **unusual}
        is_usual = number % 2 == 0 and "all.sizes" not in unusual and not measures_memory(unusual)
        seed = vocabulary.seed_of_case(number)
        case = _Case(watch, student, plan, functions, builders, levels, sizes if is_usual else {}, seed)
        gradients.begin_case(number, levels["call.arriving"])
        try:
            observations.append(case.observed())
        except _LateError:
            left = len(plan["cases"]) - len(observations) - 1
            observations += [{"stopped_after": _SECONDS}, *({"stopped_after": 0.0} for _ in range(left))]
            break
        remains.append(case.remains)
        leaves += case.leaves
    # A changed result that a case reports already needs no second report.
    is_reported = any("earlier_result" in observation for observation in observations)
    are_others = any(_values([t]) != [value] for of_case in remains for t, value in of_case)
    if not is_reported and (are_others or any(_leaf(leaf[0]) != leaf for leaf in leaves)):
        observations[0]["later_result"] = False
    return observations


_Remains = list[
    tuple[Any, Any]
]  # tensors that share storage with those of a case, and their numbers after it
_Leaf = tuple[Any, bool, int]  # a leaf that was given, whether it requires grad, and what its .grad is


_Place = tuple[int, int]  # the addresses at which memory begins and ends


class _LateError(BaseException):
    """A call of the student's function exceeded its time limit."""


@opaque
def _raise_late(*_: object) -> None:
    raise _LateError


def _called(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a call, or the error that it raised; raises _LateError after the time limit."""
    set_signal_handler(SIGPROF, _raise_late)
    set_timer(ITIMER_PROF, _SECONDS_PERTURBED if perturbation.is_in_force() else _SECONDS)
    try:
        return function(*args)
    except _LateError:
        raise
    except BaseException as error:  # SystemExit, too, affects only this case
        return Raised(error)
    finally:
        set_timer(ITIMER_PROF, 0)


class _Case:
    """One case: a setup, a call, and the observations of both."""

    def __init__(  # noqa: PLR0913, PLR0917 - the arguments of `observe_cases`, and those of a case
        self,
        watch: CallWatch,
        student: Any,
        plan: dict[str, Any],
        functions: dict[str, Any],
        builders: dict[str, Callable[..., Any]],
        case: dict[str, Any],
        sizes: dict[str, int],
        seed: int,
    ) -> None:
        self._watch, self._student, self._plan = watch, student, plan
        self._functions, self._builders, self._case = functions, builders, case
        self._sizes = sizes
        self._is_base = case == plan["base"]
        own = functions.get(plan["call"])
        self._call = own or (lambda function, setup: function(*(setup[name] for name in plan["given"])))
        self._seed = seed
        self.remains: _Remains = []
        self.leaves: list[_Leaf] = []

    def observed(self) -> dict[str, Any]:
        vocabulary.reseed(self._seed)
        setup = self._setup({})
        if setup.measures_memory:
            return self._with_memory(setup)
        sequence = self._case["call.sequence"]
        trained = {
            name: thing for name, thing in setup.items() if sequence == "other data" and _is_trained(thing)
        }
        other = self._setup(trained) if sequence in _OTHER else setup
        pending = self._losses(setup)
        places = [
            (torch_objects.place_of(t), name) for name, thing in setup.items() for t in tensors_in(thing)
        ]
        make = self._functions.get(self._plan["mistakes"])
        mistakes = snapped(make(setup)) if make and self._is_base else None
        function = getattr(self._student, self._plan["function"])  # from here on results may be perturbed
        earlier: Any = None
        if sequence != "first":
            self._switch()
            earlier = self._called(function, other)
            _put_modes_back()
            self._between(sequence, setup, earlier)
        arguments = {identity(thing) for one in (setup, other) for thing in one.values()}
        before = _contents(earlier, arguments)
        networks = {name: thing for name, thing in setup.items() if isinstance(thing, Module)}
        recorder = Recorder(networks, self._plan["record"])
        self._switch()
        only_modes = self._case["call.mode"] == "only modes"
        with SideEffects(**({} if only_modes else {**setup, **setup.around})) as side_effects:
            listen(recorder)
            result = self._called(function, setup)
            listen(None)
        _put_modes_back()
        if only_modes:
            perturbation.pause()
            return {"side_effects": side_effects}
        seen: dict[str, Any] = {
            "raised": result if type(result) is Raised else None,
            "side_effects": side_effects,
            "earlier_result": not self._plan["result"] or _contents(earlier, arguments) == before,
            "mistakes": mistakes,
            "recorded": recorder.recorded_events() if self._plan["record"] else None,
            "switched": recorder.switched,
        }
        if seen["raised"] is None and self._plan["result"]:
            places += [(torch_objects.place_of(t), "an earlier result") for t in _tensors(earlier)]
            seen |= self._of_result(result, setup, places)
        judged = {name: one for name, one in pending.items() if self._case[f"{name}.pending"] == "loss"}
        if judged:
            seen["pending"] = {name: gradients.gradients(*loss) for name, loss in judged.items()}
        if self._plan["then"] and seen["raised"] is None:
            seen["then"] = vocabulary.attempt(self._functions[self._plan["then"]], setup, result)
        if sequence in _OTHER and seen["raised"] is None and self._goes_back("all", "backward"):
            of_earlier = _one_tensor(earlier, [*_tensors(earlier)])
            seen["earlier_gradients"] = self._gradients(of_earlier, _targets(other))
        given = [t for thing in setup.values() for t in tensors_in(thing)]
        learning = {identity(t): t for t in given if _learns(t)}
        seen["arrives"] = gradients.reach([*learning.values()])  # unless a hook changes what it is given
        perturbation.pause()
        left = [*_tensors(result), *given]
        self.leaves = [_leaf(t) for t in given if torch_objects.is_leaf(t)]
        self.remains = [(detach(t), value) for t, value in zip(left, _values(left), strict=True)]
        _let_go([seen.get(name) for name in ("result", "gradients", "earlier_gradients", "then")])
        return {name: value for name, value in seen.items() if not _is_default(name, value)}

    def _called(self, function: Any, setup: Setup) -> Any:
        """The result of the call, or the error that it raised. A class is watched while the call uses it."""
        if isinstance(function, type):
            return _called(self._watch.call, lambda: self._call(function, setup), setup.values())
        return _called(self._call, function, setup)

    def _with_memory(self, setup: Setup) -> dict[str, Any]:
        """The additional bytes that the process holds after the call, and the observation of the call."""
        function = getattr(self._student, self._plan["function"])
        perturbation.pause()
        seen = self._called_on_scale(function, setup)
        if self._plan["plain"]:
            before = memory.held_for_good()
            result = self._functions[self._plan["plain"]](setup)
            seen["memory"]["plain"] = memory.held() - before
            del result
        if perturbation.is_in_force():  # which costs memory itself
            vocabulary.reseed(self._seed)
            setup = self._setup({})
            function = getattr(self._student, self._plan["function"])
            seen = {**self._called_on_scale(function, setup), "memory": seen["memory"]}
            perturbation.pause()
        return {name: value for name, value in seen.items() if not _is_default(name, value)}

    def _called_on_scale(self, function: Any, setup: Setup) -> dict[str, Any]:
        """The memory that a call holds, and its observation; the result is dropped."""
        self._switch()
        with SideEffects(**setup, **setup.around) as side_effects:
            memory.held_for_good()
            listen(scale := Scale())
            result = self._called(function, setup)
            listen(None)
            _put_modes_back()
            held = scale.amounts(memory.held_for_good())
        raised = result if type(result) is Raised else None
        seen: dict[str, Any] = {"memory": held, "raised": raised, "side_effects": side_effects}
        if raised is None and self._plan["result"]:
            seen["result"] = snapped(result)
            _let_go(seen["result"])
        returned = [detach(tensor) for tensor in _tensors(result)]
        del result  # whose graph may hold what a network returned
        held["outputs left"] = scale.outputs_left(returned)
        return seen

    def _goes_back(self, *ways: str) -> bool:
        """Whether losses of the result are backpropagated, in one of these ways."""
        return self._plan["gradients"] in ways and self._case["call.mode"] == "on"

    def _gradients(self, output: Any, targets: dict[str, Any]) -> Any:
        """The gradients of the result, in the way that the contract asks for."""
        by = "backward" if self._plan["gradients"] == "backward" else "grad"
        return gradients.gradients(output, targets, by=by)

    def _switch(self) -> None:
        set_grad_enabled(self._case["call.mode"] == "on")

    def _setup(self, made: Mapping[str, Any]) -> Setup:
        """The things of the case but for those that are made; another time others of the same sizes."""
        setup = Setup(self._case, self._functions, self._builders, self._sizes, self._plan["large"])
        for name, maker, options in self._plan["arguments"]:
            kind = setup.kind(name)
            setup[name] = made[name] if name in made else _hidden(MAKERS[maker](setup, name, kind, options))
        return setup

    def _between(self, sequence: str, setup: Setup, earlier: Any) -> None:
        """Run the steps between two calls with the same arguments."""
        if sequence in self._functions:
            self._functions[sequence](setup, earlier)
        elif sequence.startswith("changed"):
            only = sequence.removeprefix("changed").strip()
            things = [thing for name, thing in setup.items() if only in {"", name}]
            for tensor in {identity(t): t for thing in things for t in tensors_in(thing)}.values():
                if tensor.is_floating_point() and not _has_shared_entries(tensor):
                    tensor.data.mul_(_factors(tensor))

    def _losses(self, setup: Setup) -> dict[str, tuple[Any, dict[str, Any]]]:
        """Losses that need the present values of some arguments, and the tensors that they depend on.

        They exist in every case, so that reference counts don't reveal the cases in which they are judged.
        """
        losses = {}
        for name, thing in setup.items():
            factor = f"{name}.pending"
            if not any(case.get(factor) == "loss" for case in (self._plan["base"], *self._plan["cases"])):
                continue
            parts = [t for t in tensors_in(thing) if t.is_floating_point() and numel(t)]
            if not parts:  # it is empty
                continue
            slopes = {f"a factor of `{name}`": randn_like(t).requires_grad_() for t in parts[:1]}
            slopes |= {f"factor {n}": randn_like(t).requires_grad_() for n, t in enumerate(parts[1:])}
            loss = cat([reshape(multiply(t, s), (-1,)) for t, s in zip(parts, slopes.values(), strict=True)])
            start = {name: setup.starts[name]} if name in setup.starts else {}
            losses[name] = loss, {**slopes, **start}
        return losses

    def _of_result(self, result: Any, setup: Setup, places: list[tuple[_Place, str]]) -> dict[str, Any]:
        tensors = [*_tensors(result)]
        objects = {identity(thing): name for name, thing in setup.items()}
        own = [torch_objects.place_of(t) for t in tensors]
        seen: dict[str, Any] = {
            "result": snapped(result),
            "storage": [
                next((name for other, name in places if _overlap(place, other)), "") for place in own
            ],
            "objects": [objects.get(identity(t), "") for t in tensors],
            "incoming": True,
            "shared": any(starmap(_overlap, pairwise(sorted(own)))) or any(map(_has_shared_entries, tensors)),
        }
        if self._goes_back("all", "backward", "each"):
            targets = _targets(setup)
            if self._goes_back("each"):
                parts = {f"entry {n}": self._gradients(t, targets) for n, t in enumerate(tensors)}
                seen["gradients"] = parts
            else:
                seen["gradients"] = self._gradients(_one_tensor(result, tensors), targets)
                if torch_objects.is_tensor(result):
                    seen["gradients"]["output"] = seen["result"]  # its snap exists already
            seen["incoming"] = not gradients.was_overwritten()
        return seen


def _let_go(seen: Any) -> None:
    """Free the result and its graph: snaps hold a detached tensor on the same storage instead."""
    if type(seen) is Snap:
        seen.tensor = detach(seen.tensor)
    elif type(seen) in {list, tuple, dict}:
        for part in seen.values() if type(seen) is dict else seen:
            _let_go(part)


def _is_default(name: str, value: Any) -> bool:
    """Whether a field has its default, and is not sent; ``_USUAL`` in ``contracts/cases.py`` must agree."""
    match name:
        case "raised" | "recorded" | "mistakes":
            return value is None
        case "side_effects":
            return not value["before"] and not value["after"]
        case "earlier_result" | "incoming" | "arrives":
            return value is True
        case "shared":
            return value is False
        case "storage" | "objects" | "switched":
            return not any(value)
    return False


def _put_modes_back() -> None:
    """Restore global modes, so that those left by a student's function affect no other case."""
    if perturbation.is_in_force():  # perturbation is such a mode itself, and then only the reference runs
        set_grad_enabled(True)
    else:
        torch_state.restore_modes()


def _targets(setup: Setup) -> dict[str, Any]:
    """The tensors whose gradients are observed: non-leaves by the leaves behind them, all others directly."""
    return {**setup.starts, **{name: thing for name, thing in setup.items() if name not in setup.starts}}


def _one_tensor(result: Any, tensors: list[Any]) -> Any:
    """The tensor to backpropagate from: a single one, or all connected ones as a float64 vector."""
    if torch_objects.is_tensor(result) or not tensors:
        return result
    learning = [t for t in tensors if requires_grad(t)]
    if not learning:
        return detach(tensors[0])
    return cat([reshape(to_dtype(t, float64), (-1,)) for t in learning])


def _tensors(value: Any, depth: int = 0) -> Iterator[Any]:
    """The tensors of a result, those of a dict in the order of its keys."""
    if torch_objects.is_tensor(value):
        yield value
    elif depth < _MAX_DEPTH and (kind := _collection(value)):
        parts = [value[key] for key in sorted(value, key=str)] if kind is dict else kind.__iter__(value)
        for part in parts:
            yield from _tensors(part, depth + 1)


def _collection(value: Any) -> Any:
    """The type list, tuple or dict of a value, or None; a NamedTuple is a tuple."""
    kind = type(value)
    return tuple if issubclass(kind, tuple) else kind if kind is list or kind is dict else None


def _has_shared_entries(tensor: Any) -> bool:
    """Whether two entries of a tensor share memory."""
    pairs = zip(strides_of(tensor), shape_of(tensor), strict=True)
    return numel(tensor) > 0 and any(stride == 0 and size > 1 for stride, size in pairs)


def _overlap(one: _Place, other: _Place) -> bool:
    """Whether two ranges of addresses overlap."""
    return max(one[0], other[0]) < min(one[1], other[1])


def _factors(tensor: Any) -> Any:
    """0.75 for every second entry except the first and the last, which may represent all entries."""
    factors = ones(numel(tensor), dtype=tensor.dtype)
    (factors if len(factors) < 3 else factors[1:-1:2]).fill_(0.75)
    return factors.view(tensor.shape)


def _hidden(thing: Any) -> Any:
    """A method, or methods in a list, without access to their object; our functions are opaque already."""
    if type(thing) in _METHODS:
        return opaque(thing)
    has_functions = type(thing) in {list, tuple} and any(_hidden(part) is not part for part in thing)
    return type(thing)(map(_hidden, thing)) if has_functions else thing


def _is_trained(thing: Any) -> bool:
    """Whether an object exists for a whole training: a network, an optimizer, a list of parameters."""
    if isinstance(thing, list | tuple):
        return bool(thing) and all(torch_objects.is_tensor(t) and _learns(t) for t in thing)
    return isinstance(thing, Module | Optimizer)


def _learns(tensor: Any) -> bool:
    return torch_objects.is_leaf(tensor) and requires_grad(tensor)


def _leaf(tensor: Any) -> _Leaf:
    return tensor, requires_grad(tensor), identity(torch_objects.read_grad(tensor))


def _values(tensors: list[Any]) -> list[Any]:
    """The present numbers of tensors, as far as they can be read."""
    return [torch_objects.elements_of(tensor) for tensor in tensors]


def _contents(value: Any, arguments: set[int], depth: int = 0) -> Any:
    """The present contents of a result, as far as they can be read, without the arguments."""
    if identity(value) in arguments:
        return None
    if torch_objects.is_tensor(value):
        return torch_objects.elements_of(value)
    if depth < _MAX_DEPTH and (kind := _collection(value)):
        parts = dict.items(value) if kind is dict else enumerate(kind.__iter__(value))
        return [(_exact(key), _contents(part, arguments, depth + 1)) for key, part in parts]
    return _exact(value)


def _exact(value: Any) -> Any:
    """A number or a text; None for anything whose class may be the student's."""
    return value if type(value) in {int, float, str} else None
