"""Sentences about changes of a call's arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from grader.sandbox.values import Tensor

#: The parts of an object that may change, as in ``w:version``. The ``frozen grad`` is the ``.grad`` of what
#: requires no grad, which no backward fills: what is said of ``grad`` is not said of it.
PARTS = (
    *("identity", "value", "shape", "dtype", "storage", "version", "requires_grad", "history", "cut"),
    "is_leaf",
    *("retains_grad", "grad", "frozen grad", "hooks", "attributes", "class", "training", "persistent"),
    *("type", "length", "entries", "grad mode", "global hooks", "default dtype", "recursion limit"),
)


def changed_parts(side_effects: Mapping[str, Any]) -> dict[str, str]:
    """The sentences about all changes, by path and part: ``w:version``."""
    return {f"{path}:{what}": sentence for path, what, sentence in _all_changes(side_effects)}


def _all_changes(side_effects: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for path, then in side_effects["before"].items():
        for what, sentence in _changes_of(path, then, side_effects["after"].get(path, then)):
            yield path, what, sentence


_SAY_ALL = {"attributes", "class", "type", "length", "entries"}
_FLAG = (
    "Avoid `requires_grad_()` and `detach_()` on the caller's tensors. If you change a flag, restore it, "
    "even if an error is raised."
)
_RESTORE = "Leave flags and modes as they are, or restore them, even if an error is raised."


def hint_of(path_and_part: str, hint: str | None) -> tuple[str | None, bool]:
    """The hint about a change, and whether the docstring's fits: that and the check's are about values."""
    path, _, part = path_and_part.rpartition(":")
    if part in {"requires_grad", "cut"}:
        return _FLAG, False
    if path == "torch" or part == "training":
        return _RESTORE, False
    return (None, False) if part in _SAY_ALL else (hint, True)


_CHANGE_NO_RESULT = {"hooks", "attributes", "class", "persistent", "retains_grad", "history", "is_leaf"}


def may_explain_others(path_and_part: str) -> bool:
    """Whether a change can explain other findings: one of a mode, a flag, values or a ``.grad``."""
    return path_and_part.rpartition(":")[2] not in _CHANGE_NO_RESULT


#: A sentence about each mode of ``grader/runtime/torch_state.py`` that a function left changed.
_MODES = {
    "grad mode": "Your function leaves gradients switched {now} for the whole program; they were {then}.",
    "threads": "Your function leaves a thread running: {now} besides the main one, {then} before the call.",
    "global hooks": "Your function leaves a global hook behind, which runs for every module or optimizer.",
    "default dtype": "Your function leaves the default dtype changed: it was {then} and is {now}.",
    "way of printing tensors": "Your function leaves the way in which torch prints tensors changed.",
    "recursion limit": "Your function leaves the recursion limit changed: it was {then} and is {now}.",
}
_ALIAS = " If the caller's code refers to the same .grad under another name, that changes too."
_HELD = "an optimizer or a second name that held the old one still does."
_ANY_MODE = "Your function leaves {name} changed for the whole program: it was {then} and is {now}."


def _changes_of(path: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each part of the object at a path that changed between two records, and a sentence about it."""
    if now["kind"] == "gone":
        yield "identity", f"The caller's {path} is gone."
        return
    if then["kind"] != now["kind"]:
        other = "None" if now.get("value", now) is None else "another object"
        yield "identity", f"The caller's {path} is {other} now."
        return
    match then["kind"]:
        case "modes":
            yield from _modes(then, now)
        case "tensor":
            yield from _tensor(path, then, now)
        case "module" | "optimizer":
            yield from _module(path, then, now)
        case "container":
            yield from _container(path, then, now)
        case "value" | "object" as kind:
            if now[kind] != then[kind]:
                change = (
                    f"was {then[kind]} and is {now[kind]} now" if kind == "value" else "is another object now"
                )
                yield ("value" if kind == "value" else "identity"), f"The caller's {path} {change}."
        case unknown:  # a student's process sent it
            raise ValueError(f"there are no records of the kind {unknown!r}")


def _modes(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in then.items():
        if now[name] != value:
            words = [("on" if v else "off") if isinstance(v, bool) else v for v in (value, now[name])]
            yield name, _MODES.get(name, _ANY_MODE).format(name=name, then=words[0], now=words[1])


def _tensor(path: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    old, new = then["tensor"], now["tensor"]
    if new.identity != old.identity:
        yield "identity", f"The caller's {path} is another object now: {_HELD}"
    yield from _data(path, old, new)
    if old.grad_fn and not new.grad_fn:
        cut = f"The caller's {path} is cut off from its graph"
        yield "cut", f"{cut}: its grad_fn was {old.grad_fn} and is None now."
    elif new.requires_grad != old.requires_grad:
        effect = "" if new.requires_grad else ": it no longer gets a gradient"
        change = f"was {old.requires_grad} and is {new.requires_grad} now{effect}."
        yield "requires_grad", f"requires_grad of the caller's {path} {change}"
    if new.grad_fn and (new.is_leaf, new.grad_fn) != (old.is_leaf, old.grad_fn):
        history = f"the grad_fn {new.grad_fn}: it was changed in place while gradients were recorded."
        yield "history" if new.is_leaf == old.is_leaf else "is_leaf", f"The caller's {path} has {history}"
    if new.retains_grad != old.retains_grad:
        yield (
            "retains_grad",
            f"The caller's {path} still retains its gradient: your function called retain_grad() on it.",
        )
    of_grad = _grad(path, old.grad, new.grad)
    if not of_grad and now["held"] is False:
        held = f"The tensor that was {path}.grad before your call has other values now"
        of_grad = f"{held}: the caller may still hold it."
    if of_grad:
        frozen = not old.requires_grad and not new.requires_grad
        why = f" {path} does not require grad: leave its .grad alone." if frozen else ""
        yield "grad" if old.requires_grad else "frozen grad", f"{of_grad}{why}"
    yield from _hooks(path, then["hooks"], now["hooks"])
    yield from _attributes(path, then["attributes"], now["attributes"])


def _data(path: str, old: Tensor, new: Tensor) -> Iterator[tuple[str, str]]:
    if new.shape != old.shape:
        yield "shape", f"The caller's {path} had the shape {old.shape} and has the shape {new.shape} now."
    if new.dtype != old.dtype:
        yield "dtype", f"The caller's {path} was of {old.dtype} and is of {new.dtype} now."
    if not _same_values(old, new):
        yield "value", f"The values of the caller's {path} were changed."
    if new.storage != old.storage:
        yield (
            "storage",
            f"The caller's {path} has another storage now, and earlier views still show the old one.",
        )
    if new.version != old.version:
        counter = f"the version counter went from {old.version} to {new.version}"
        yield (
            "version",
            f"Autograd counts an in-place change of {path}: {counter}; a backward pass may fail.",
        )


def _same_values(old: Tensor, new: Tensor) -> bool:
    """Whether the elements are the same; NaN equals NaN."""
    if old.value is None or new.value is None:
        return old.value is new.value
    pairs = zip(old.value, new.value, strict=False)
    return len(old.value) == len(new.value) and all(a == b or (a != a and b != b) for a, b in pairs)  # noqa: PLR0124


def _grad(path: str, old: Tensor | None, new: Tensor | None) -> str:
    """How ``.grad`` changed, or nothing; another object of the same values is the same gradient."""
    if old is None and new is not None:
        return f"{path}.grad was None and is filled now: a backward pass reached {path}, or you filled it."
    if old is not None and new is None:
        return f"{path}.grad was filled and is None now: your call cleared it, or replaced {path}."
    if old is not None and new is not None and (old.shape, old.dtype) != (new.shape, new.dtype):
        return f"{path}.grad has another shape or dtype now."
    if old is not None and new is not None and not _same_values(old, new):
        change = (
            f"The values of {path}.grad were changed: a backward pass added to them, or you wrote to them."
        )
        return f"{change}{_ALIAS}"
    return ""


def _hooks(path: str, old: list[int], new: list[int]) -> Iterator[tuple[str, str]]:
    if not set(old) <= set(new):
        yield "hooks", f"Your function removed a hook of the caller's {path}: remove only your own."
    elif len(new) > len(old):
        more = len(new) - len(old)
        yours = "one of your hooks is" if more == 1 else f"{more} of your hooks are"
        yield "hooks", f"After your call, {yours} still registered on the caller's {path}."


def _attributes(path: str, old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    for name in new:
        if name not in old:
            yield "attributes", f"The caller's {path} has a new attribute, {name[:60]}."
    for name in old:
        if name not in new:
            yield "attributes", f"The caller's {path} has lost its attribute {name}."


def _module(path: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Changes of a module, or of an optimizer, which has no mode and no buffers."""
    if now["class"] != then["class"]:
        yield "class", f"The caller's {path} is of another class now."
    if then["kind"] == "module":
        if now["training"] != then["training"]:
            mode, other = ("training", "eval") if then["training"] else ("eval", "training")
            yield "training", f"The caller's {path} was in {mode} mode and is in {other} mode now."
        for name in sorted(set(then["persistent"]) ^ set(now["persistent"])):
            verb = "no longer has" if name in then["persistent"] else "has"
            yield "persistent", f"The state_dict of the caller's {path} {verb} {name} among its buffers now."
    yield from _hooks(path, then["hooks"], now["hooks"])
    yield from _attributes(path, then["attributes"], now["attributes"])


def _container(path: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if now["type"] != then["type"]:
        yield "type", f"The caller's {path} was a {then['type']} and is a {now['type']} now."
    elif now["length"] != then["length"]:
        yield (
            "length",
            f"The number of entries of the caller's {path} was {then['length']} and is {now['length']} now.",
        )
    elif now["entries"] != then["entries"]:
        is_order = sorted(now["entries"]) == sorted(then["entries"])
        other = (
            "The entries {} are in another order now." if is_order else "An entry {} is another object now."
        )
        yield "entries", other.format(f"of the caller's {path}")
