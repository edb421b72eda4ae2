"""Probes: the observations that make a check fail in a case, and an expression for each."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from grader.contracts.cases import NOT_RECORDED, Case, NotApplicable, is_named
from grader.contracts.comparison import is_close
from grader.course.snippet import EARLIER, RESULT, CaseText
from grader.grading.judge import CheckFunction
from grader.sandbox.values import Raised, Tensor

_DEEPEST, _MOST_ENTRIES = 3, 8  # of a result: entries of entries, and how many of them
_PATH = re.compile(
    r"(\w+)((?:\.\w+|\[\d+\]|\['\w+'\])*)"
)  # a path as workers write it: no other text from a worker becomes code
#: Whether a check fails where only a part of a result is as the student's.
_Fails = Callable[[Any], bool]


@dataclass(frozen=True)
class Probe:
    """How an observation is shown.

    Attributes:
        shows: the expression below the call; empty if the call shows it.
        before, after: the lines above and below the call that it needs.
        around: the line that begins a block with the call in it.
        kind: ``property`` where the right one is shown, too; ``values`` where only the student's are shown;
            ``error`` where an error must be raised, or must not.
    """

    shows: str
    before: Sequence[str] = ()
    kind: Literal["property", "values", "error"] = "property"
    after: Sequence[str] = ()
    around: str = ""

    def of(self, x: str) -> Probe:
        """The same of an expression, which stands for ``{x}``."""
        before = [line.replace("{x}", x) for line in self.before]
        return replace(self, shows=self.shows.replace("{x}", x), before=before)


def _values(shows: str, *before: str) -> Probe:
    return Probe(shows, before, "values")


_FLAGS = {
    name: (Probe(f"{{x}}.{name}"),)
    for name in ("dtype", "shape", "requires_grad", "is_leaf", "retains_grad", "training")
}
_ATTRIBUTES = Probe("vars({x}).keys() - before", ["before = {*vars({x})}"])
_GRAD = (
    Probe("{x}.grad is None"),
    _values("{x}.grad"),
    Probe("torch.equal(held, before)", ["held = {x}.grad", "before = held.clone()"]),
)
_VERSION = Probe("{x}._version == before", ["before = {x}._version"])  # how often it is written to is free
#: By the fields of an observed tensor, or the part of an object of the caller's that the call changed.
_OF_TENSOR: Mapping[str, Sequence[Probe]] = {
    **_FLAGS,
    "grad_fn": (Probe("{x}.grad_fn is None"),),
    "version": (Probe("{x}.is_inference()"), _VERSION),
    "value": (_values("{x}"), _values("{x}.tolist()")),
}
_OF_CHANGE: Mapping[str, Sequence[Probe]] = {
    **_OF_TENSOR,
    "value": (Probe("torch.equal({x}, before)", ["before = {x}.detach().clone()"]), *_OF_TENSOR["value"]),
    "grad": _GRAD,
    "frozen grad": _GRAD,
    "history": (*_FLAGS["is_leaf"], _VERSION),
    "cut": (Probe("{x}.grad_fn is None"),),
    "identity": (Probe("{x} is before", ["before = {x}"]),),
    "storage": (Probe("{x}.data_ptr() == before", ["before = {x}.data_ptr()"]),),
    "hooks": (
        Probe("len({x}._backward_hooks or ())"),
        Probe("len({x}._forward_hooks) + len({x}._forward_pre_hooks)"),
        Probe("len({x}._post_accumulate_grad_hooks or ())"),
    ),
    "length": (Probe("len({x})"),),
    "attributes": (_ATTRIBUTES,),
}
_EACH_GRAD = (
    Probe("[p.grad is None for p in {x}.parameters()]"),
    _values("[p.grad for p in {x}.parameters()]"),
    _values("[p.grad.tolist() for p in {x}.parameters()]"),
    Probe(
        "all(map(torch.equal, held, before))",
        [
            "held = [p.grad for p in {x}.parameters() if p.grad is not None]",
            "before = [g.clone() for g in held]",
        ],
    ),
)
#: The same of a network in which any part changed: snippets have another one than the case.
_OF_NETWORK: Mapping[str, Sequence[Probe]] = {
    "value": (
        Probe(
            "all(map(torch.equal, {x}.state_dict().values(), before))",
            ["before = [t.clone() for t in {x}.state_dict().values()]"],
        ),
        _values("[*{x}.parameters()]"),
        _values("[*{x}.buffers()]"),
        _values("[p.tolist() for p in {x}.parameters()]"),
    ),
    "grad": _EACH_GRAD,
    "frozen grad": _EACH_GRAD,
    "identity": (
        Probe("[p is q for p, q in zip({x}.parameters(), before)]", ["before = [*{x}.parameters()]"]),
    ),
    "requires_grad": (Probe("[p.requires_grad for p in {x}.parameters()]"),),
    "version": (
        Probe(
            "[p._version == v for p, v in zip({x}.parameters(), before)]",
            ["before = [p._version for p in {x}.parameters()]"],
        ),
    ),
    "training": (Probe("[part.training for part in {x}.modules()]"),),
    "hooks": (Probe("[len(part._forward_hooks) for part in {x}.modules()]"),),
    "attributes": (_ATTRIBUTES,),
}
_OF_OPTIMIZER: Mapping[str, Sequence[Probe]] = {
    "value": (
        Probe("[len(state) for state in {x}.state.values()]"),
        _values("[group['lr'] for group in {x}.param_groups]"),
        _values("[v for state in {x}.state.values() for v in state.values()]"),
    ),
    "identity": (Probe("len({x}.state)"),),
    "attributes": (_ATTRIBUTES,),
}
_OF_MODES = {
    "grad mode": Probe("torch.is_grad_enabled()"),
    "default dtype": Probe("torch.get_default_dtype()"),
}
_WARNINGS = (
    Probe(
        "len(caught)",
        ["import warnings", "warnings.simplefilter('always')"],
        around="with warnings.catch_warnings(record=True) as caught:",
    ),
    Probe("[*warnings.filters] == before", ["import warnings", "before = [*warnings.filters]"]),
)
_RANDOM_NUMBERS = Probe(
    "torch.equal(torch.random.get_rng_state(), before)", ["before = torch.random.get_rng_state()"]
)
_CAUGHT = "except (Exception, KeyboardInterrupt):"
_GRAD_OR_NONE = "None if p.grad is None else p.grad.clone()"
_HELD = f"[{_GRAD_OR_NONE} for group in {{x}}.param_groups for p in group['params']]"
_COUNTED = Probe("len(calls)", ["calls = []", "{x}.register_forward_hook(lambda *_: calls.append(1))"])
#: The number of graphs of earlier calls that are alive at each call, and that of the call.
_GRAPHS = """\
import weakref
counts, alive = [], []
def count(net, args, out):
    hook = lambda *_: None
    alive.append(weakref.ref(hook))
    if out.grad_fn is not None:
        out.grad_fn.register_prehook(hook)
    counts.append(sum(one() is not None for one in alive))
{x}.register_forward_hook(count)"""
#: By what is recorded of networks and optimizers.
_OF_RECORDED: Mapping[str, Sequence[Probe]] = {
    "calls": (_COUNTED,),
    "given": (
        _COUNTED,
        _values(
            "given", "given = []", "{x}.register_forward_hook(lambda net, args, out: given.append(args[0]))"
        ),
    ),
    "graphs": (_values("counts", *_GRAPHS.splitlines()),),
    "recorded": (
        Probe(
            "modes",
            ["modes = []", "{x}.register_forward_hook(lambda *_: modes.append(torch.is_grad_enabled()))"],
        ),
    ),
    "steps": (
        Probe("len(steps)", ["steps = []", "{x}.register_step_pre_hook(lambda *_: steps.append(1))"]),
        _values("steps", "steps = []", f"{{x}}.register_step_pre_hook(lambda *_: steps.append({_HELD}))"),
    ),
}


def fails(check: CheckFunction, contract: str, case: Case) -> bool:
    """Whether a check fails in a case, or breaks; not if it says nothing about it."""
    try:
        check(**{contract: case})
    except NotApplicable:
        return False
    except Exception:  # noqa: BLE001 - as a verdict
        return True
    return False


def probes_of(
    check: CheckFunction, contract: str, case: Case, text: CaseText, message: str = ""
) -> Iterator[Probe]:
    """A probe for each observation of a failed case that makes the check fail by itself.

    Args:
        contract: the name of the check's parameter.
        text: the case as code.
        message: what the student reads; objects that it names come first.
    """
    seen, expected = case.records
    if any(record.get("raised") for record in (seen, expected)):
        yield from _of_errors(case, text, message)
        return

    def fails_with(name: str, observed: Any) -> bool:
        """Whether the check fails if only one observation is not the reference's."""
        return fails(check, contract, case.with_seen({**expected, name: observed}))

    differing = [name for name in {**expected, **seen} if seen.get(name) != expected.get(name)]
    differing.sort(key="side_effects".__eq__)  # the result is easier to see
    at_fault = [name for name in differing if fails_with(name, seen.get(name))]
    for name in at_fault or differing:
        own, right = seen.get(name), expected.get(name)
        if name == "recorded" and isinstance(own, dict) and isinstance(right, dict):
            alone = {k: v for k, v in own.items() if fails_with("recorded", {**right, k: v})}
            own = {**right, **alone} if alone else own
        if name == "result":
            yield from _of_result(RESULT, own, right, lambda part: fails_with("result", part))
        elif name == "then" and text.then:
            found = _of_result("after", own, right, lambda part: fails_with("then", part))
            yield from (_after(probe, text.then) for probe in found)
        elif name == "side_effects":
            yield from _of_side_effects(case, text, message)
        else:
            yield from _of_field(name, own, right, text, case, message)


def _of_errors(case: Case, text: CaseText, message: str) -> Iterator[Probe]:
    """Probes for an error, or for what is left where it must be raised."""
    seen, expected = (record.get("raised") for record in case.records)
    left = [_CAUGHT, "    pass"]
    if seen is not None and expected is not None:
        found = (probe for probe in _of_side_effects(case, text, message) if not probe.after)
        yield from (replace(probe, around="try:", after=left) for probe in found)
    if expected is not None and "Exception" not in expected.types:  # nothing else would catch it
        after = [f"{_CAUGHT[:-1]} as error:", "    raised = type(error).__name__"]
        yield Probe("raised", ["raised = None"], around="try:", after=after)
    else:
        yield Probe("", kind="error")


def _after(probe: Probe, then: Sequence[str]) -> Probe:
    """A probe of what a contract's ``then`` returns, with its lines: only those that an entry needs."""
    *lines, value = then
    body, whole = ast.parse("\n".join(lines)).body, ast.parse(value, mode="eval").body
    for key, entry in zip(whole.keys, whole.values, strict=True) if isinstance(whole, ast.Dict) else ():
        place = f"after[{ast.unparse(key)}]" if key else ""
        if place and place in probe.shows:
            value, name = ast.unparse(entry), "after"
            made = [
                n for n, node in enumerate(body) if isinstance(node, ast.Assign) and value in _stored(node)
            ]
            if made:  # a statement below it may only change it
                lines, name = ast.unparse(ast.Module(body[: made[-1] + 1], [])).splitlines(), value
            probe = replace(probe, shows=probe.shows.replace(place, name))
            return replace(probe, after=lines if made else [*lines, f"after = {value}"])
    return replace(probe, after=[*lines, f"after = {value}"])


def _stored(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def _of_field(  # noqa: C901, PLR0912, PLR0913, PLR0917 - one branch for each field, and what is known of it
    name: str, seen: Any, expected: Any, text: CaseText, case: Case, message: str
) -> Iterator[Probe]:
    """Probes for a field of an observation, besides results and side effects."""
    match name:
        case "gradients" | "earlier_gradients":
            yield from _of_gradients(seen, expected, text, case.records[1].get("result"), message)
        case "storage":
            for one in dict.fromkeys(seen or ()):
                variable = EARLIER if one == "an earlier result" else text.names.get(one)
                if one not in (expected or ()) and variable:
                    own, other = (f"{place}.untyped_storage().data_ptr()" for place in (RESULT, variable))
                    yield Probe(f"{own} == {other}")
        case "objects":
            for argument in dict.fromkeys([*(seen or ()), *(expected or ())]):
                if argument in text.names:
                    yield Probe(f"{RESULT} is {text.names[argument]}")
        case "shared":
            yield Probe(f"{RESULT}.untyped_storage().nbytes() >= {RESULT}.nbytes")
        case "earlier_result":
            yield Probe(f"torch.equal({EARLIER}, before)", [f"before = {EARLIER}.detach().clone()"])
        case "incoming":
            sent = [f"g = torch.ones_like({RESULT})", f"{RESULT}.backward(g)"]
            yield Probe("torch.equal(g, torch.ones_like(g))", after=sent)
        case "recorded" if isinstance(seen, dict) and isinstance(expected, dict):
            yield from _WARNINGS if "warnings" in case.record else ()
            if seen.get("random numbers") != expected.get("random numbers"):
                yield _RANDOM_NUMBERS
            differing = [one for one in _OF_RECORDED if seen.get(one) != expected.get(one)]
            for one in differing:
                maker = "optimizer" if one == "steps" else "module"
                makers = text.makers
                variables = [text.names[name] for name in makers if makers[name] in {maker, "own"}]
                yield from (probe.of(variable) for variable in variables for probe in _OF_RECORDED[one])
        case "pending" if isinstance(expected, dict):
            for one in expected:
                x = text.names.get(one, "")
                if text.makers.get(one) == "tensor":
                    loss = f"loss = ({x} * torch.ones_like({x}).requires_grad_()).sum()"
                    yield Probe("loss.backward()", [loss], "error")
                elif x:
                    yield Probe(f"sum({x}).sum().backward()", kind="error")


def _of_result(  # noqa: C901, PLR0912 - one for each type
    place: str, seen: Any, expected: Any, fails_with: _Fails, depth: int = 0
) -> Iterator[Probe]:
    """Probes for the properties of a result that make the check fail alone."""
    if isinstance(seen, Tensor) and isinstance(expected, Tensor):
        for name, probes in _OF_TENSOR.items():
            observed: Any = getattr(seen, name, None)
            if observed != getattr(expected, name, None) and fails_with(
                replace(expected, **{name: observed})
            ):
                row = _first_wrong_row(seen, expected) if name == "value" else 0
                yield from [_values(f"{place}[{row}]")] if row else []
                yield from (probe.of(place) for probe in probes)
    elif isinstance(expected, Raised):
        yield Probe(place, kind="error")
    elif type(seen) is not type(expected) and not (_is_number(seen) and _is_number(expected)):
        if seen is not NOT_RECORDED:
            yield Probe(f"type({place}).__name__")
    elif not isinstance(seen, list | tuple | dict):
        yield Probe(place, kind="property" if isinstance(seen, bool) else "values")
    elif len(seen) != len(expected):
        yield Probe(f"len({place})")
    elif isinstance(seen, dict) and seen.keys() != expected.keys():
        yield Probe(f"sorted({place})")
    elif depth < _DEEPEST:
        is_dict = isinstance(expected, dict)
        parts = expected if is_dict else dict(enumerate(expected))
        differing = [key for key in parts if seen[key] != parts[key]]
        if is_dict and any(re.fullmatch(r"\w+(\.\w+)+", str(key)) for key in parts):  # of another network
            yield _values(f"[*{place}.values()]")
            return
        if is_dict and {"output", "gradients"} <= parts.keys():  # of a loss: its snippet has only these
            differing = [key for key in differing if key == "gradients"]
        for key in differing[:_MOST_ENTRIES]:

            def fails(part: Any, key: Any = key) -> bool:
                changed = {**parts, key: part}
                return fails_with(changed if is_dict else type(expected)(changed.values()))

            of_part = place if key == "gradients" and "output" in parts else f"{place}[{key!r}]"
            yield from _of_result(of_part, seen[key], parts[key], fails, depth + 1)


def _first_wrong_row(seen: Tensor, expected: Tensor) -> int:
    """The first row of a matrix, or of more dimensions, that differs; 0 if that is not known."""
    if seen.shape != expected.shape or len(seen.shape) < 2 or not seen.value or not expected.value:
        return 0
    width = len(seen.value) // seen.shape[0]
    pairs = enumerate(zip(seen.value, expected.value, strict=True))
    return next((n // width for n, (own, right) in pairs if not is_close(own, right)), 0)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _of_gradients(  # noqa: C901, PLR0913, PLR0917 - what was observed, and what is known of it
    seen: Any, expected: Any, text: CaseText, result: Any, message: str, place: str = RESULT
) -> Iterator[Probe]:
    """The gradients that reach the arguments from a loss of the result, or the error of its backward."""
    parts = f"{place}.values()" if isinstance(result, dict) else place
    if isinstance(seen, dict) and isinstance(expected, dict) and "gradients" not in expected:
        for number, key in enumerate(expected):  # of each entry by itself
            if seen.get(key) != expected[key]:
                entry = f"[*{parts}][{number}]" if isinstance(result, dict) else f"{place}[{number}]"
                yield from _of_gradients(seen.get(key), expected[key], text, None, message, entry)
        return
    loss = f"({place} - 3).square().sum()"  # whose gradient is not 0 where the result is
    if isinstance(result, dict | list | tuple):
        loss = f"sum((part - 3).square().sum() for part in {parts} if torch.is_tensor(part))"
    back = f"{loss}.backward()"
    own, right = (side.get("gradients") if isinstance(side, dict) else None for side in (seen, expected))
    if isinstance(own, dict) and isinstance(right, dict):
        differing = [name for name in right if own.get(name) != right[name]]
    else:
        yield Probe(back, kind="error")
        own, right, differing = {}, {}, [*text.names]
    differing.sort(key=lambda name: (own.get(name) is None) == (right.get(name) is None))
    differing.sort(key=lambda name: not _names_it(message, name))
    of_root = {path[1]: name for name in reversed(differing) if (path := _PATH.match(name))}
    for root, name in of_root.items():
        probes = _of_place(name, text, _GRAD, _EACH_GRAD)
        if name in text.leaves:
            probes = [probe.of(text.leaves[name]) for probe in _GRAD]
        elif text.makers.get(root) == "own" and probes:  # it may be a non-leaf
            place = probes[0].shows.removesuffix(".grad is None")
            yield _values(f"torch.autograd.grad({loss}, {place}, allow_unused=True)[0]")
        if root in text.names or name in text.leaves:
            yield from (replace(probe, after=[back]) for probe in probes)
            if not isinstance(result, dict | list | tuple):  # a hook may limit the gradient that arrives
                yield replace(probes[1], after=[f"(1e6 * {place}).sum().backward()"])
    yield Probe(back, kind="error")


def _names_it(message: str, path: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(path)}(?!\w)", message) is not None


def _of_side_effects(case: Case, text: CaseText, message: str) -> Iterator[Probe]:
    """Probes for what the call changed in the caller's objects, unlike the reference's."""
    sides = case.sides
    seen, expected = (side.changes for side in sides)
    after, right = (side.side_effects["after"] for side in sides)
    every = dict.fromkeys([*seen, *expected])

    def rank(change: str) -> tuple[bool, bool]:
        return not _names_it(message, change.rpartition(":")[0]), change in seen and change in expected

    for changed in sorted(every, key=rank):
        path, _, part = changed.rpartition(":")
        is_same = changed in seen and changed in expected and after.get(path) == right.get(path)
        if is_same or is_named(changed, (*case.rules.ignore, *case.rules.optional)):
            continue
        if path == "torch" and part in _OF_MODES:
            is_in_block = text.calls[0].startswith("with ")  # whose end restores the mode
            shows = _OF_MODES[part].shows
            yield Probe("mode", after=[f"    mode = {shows}"]) if is_in_block else _OF_MODES[part]
        else:
            yield from _of_place(path, text, _OF_CHANGE.get(part, ()), _OF_NETWORK.get(part, ()), part)


def _of_place(
    path: str, text: CaseText, probes: Sequence[Probe], of_network: Sequence[Probe], part: str = ""
) -> list[Probe]:
    """Probes of an object of the caller's, by its path; those of the whole network if it is in one."""
    found = _PATH.fullmatch(path)
    if found is None or found[1] not in text.names:
        return []
    place = text.names[found[1]]
    exact = place + re.sub(r"\.(\d+)", r"[\1]", found[2])
    match text.makers[found[1]]:
        case "module":
            return [*(probe.of(exact) for probe in probes), *(probe.of(place) for probe in of_network)]
        case "optimizer":
            return [probe.of(place) for probe in _OF_OPTIMIZER.get(part, ())]
    is_of_network = "." in found[2]  # which is the author's own
    whole = [*of_network, *_OF_OPTIMIZER.get(part, ())] if is_of_network else []
    return [*(probe.of(exact) for probe in probes), *(probe.of(place) for probe in whole)]
