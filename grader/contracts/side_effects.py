"""Sentences about changes of a call's arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from grader.contracts.check import entries
from grader.sandbox.values import Tensor
from grader.text import code, printable

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
_RESTORE = "Restore every mode and setting that you change, even if an error is raised."


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
    "grad mode": (
        "After your call, gradients are {now} for the rest of the program; before it, they were {then}."
    ),
    "threads": (
        "After your call, the number of threads besides the main one is {now}; before it, it was {then}."
    ),
    "global hooks": "Your function leaves a global hook, which runs for every module or optimizer.",
    "default dtype": "Your call changes the default dtype from {then} to {now}.",
    "way of printing tensors": "Your call changes how torch prints tensors.",
    "recursion limit": "Your call changes the recursion limit from {then} to {now}.",
}
_ALIAS = " Any other reference to this tensor shows the new values, too."
_HELD = "an optimizer or a variable that refers to the old object still does."
_ANY_MODE = "Your call changes {name} for the rest of the program: it was {then} and is now {now}."


def _changes_of(path: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each part of the object at a path that changed between two records, and a sentence about it."""
    if now["kind"] == "gone":
        yield "identity", f"After your call, the caller's {code(path)} no longer exists."
        return
    if then["kind"] != now["kind"]:
        other = "None" if now.get("value", now) is None else "another object"
        yield "identity", f"The caller's {code(path)} is now {other}."
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
                    f"was {then[kind]} and is now {now[kind]}" if kind == "value" else "is now another object"
                )
                yield ("value" if kind == "value" else "identity"), f"The caller's {code(path)} {change}."
        case unknown:  # a student's process sent it
            raise ValueError(f"there are no records of the kind {unknown!r}")


def _modes(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in then.items():
        if now[name] != value:
            words = [
                ("enabled" if v else "disabled") if isinstance(v, bool) else v for v in (value, now[name])
            ]
            yield name, _MODES.get(name, _ANY_MODE).format(name=name, then=words[0], now=words[1])


def _tensor(path: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    old, new = then["tensor"], now["tensor"]
    if new.identity != old.identity:
        yield "identity", f"The caller's {code(path)} is now another object: {_HELD}"
    yield from _data(path, old, new)
    if old.grad_fn and not new.grad_fn:
        cut = f"Your call disconnects the caller's {code(path)} from its graph"
        yield "cut", f"{cut}: its `grad_fn` was {old.grad_fn} and is now None."
    elif new.requires_grad != old.requires_grad:
        effect = "" if new.requires_grad else ", so it no longer gets a gradient"
        change = f"from {old.requires_grad} to {new.requires_grad}{effect}."
        yield "requires_grad", f"Your call changes `requires_grad` of the caller's {code(path)} {change}"
    if new.grad_fn and (new.is_leaf, new.grad_fn) != (old.is_leaf, old.grad_fn):
        history = f"has the `grad_fn` {new.grad_fn}: autograd recorded a write to it."
        yield (
            "history" if new.is_leaf == old.is_leaf else "is_leaf",
            f"After your call, the caller's {code(path)} {history}",
        )
    if new.retains_grad != old.retains_grad:
        yield (
            "retains_grad",
            (
                f"The caller's {code(path)} still retains its gradient: your function called "
                "`retain_grad()` on it."
            ),
        )
    of_grad = _grad(path, old.grad, new.grad)
    if not of_grad and now["held"] is False:
        held = f"Your call changes the values of the tensor that was {code(f'{path}.grad')} before"
        of_grad = f"{held}: the caller may still refer to it."
    if of_grad:
        frozen = not old.requires_grad and not new.requires_grad
        why = f" {code(path)} does not require grad, so leave its `.grad` unchanged." if frozen else ""
        yield "grad" if old.requires_grad else "frozen grad", f"{of_grad}{why}"
    yield from _hooks(path, then["hooks"], now["hooks"])
    yield from _attributes(path, then["attributes"], now["attributes"])


def _data(path: str, old: Tensor, new: Tensor) -> Iterator[tuple[str, str]]:
    if new.shape != old.shape:
        yield (
            "shape",
            f"Your call changes the shape of the caller's {code(path)} from {old.shape} to {new.shape}.",
        )
    if new.dtype != old.dtype:
        yield (
            "dtype",
            f"Your call changes the dtype of the caller's {code(path)} from {old.dtype} to {new.dtype}.",
        )
    if not _same_values(old, new):
        yield "value", f"Your call changes the values of the caller's {code(path)}."
    if new.storage != old.storage:
        yield (
            "storage",
            (
                f"After your call, the caller's {code(path)} has another storage; earlier views still show "
                "the old one."
            ),
        )
    if new.version != old.version:
        counter = f"its `_version` was {old.version} and is now {new.version}"
        yield (
            "version",
            f"Your call writes to the caller's {code(path)} ({counter}), so a later `backward()` may fail.",
        )


def _same_values(old: Tensor, new: Tensor) -> bool:
    """Whether the elements are the same; NaN equals NaN."""
    if old.value is None or new.value is None:
        return old.value is new.value
    pairs = zip(old.value, new.value, strict=False)
    return len(old.value) == len(new.value) and all(a == b or (a != a and b != b) for a, b in pairs)  # noqa: PLR0124


def _grad(path: str, old: Tensor | None, new: Tensor | None) -> str:
    """How ``.grad`` changed, or nothing; another object of the same values is the same gradient."""
    grad = code(f"{path}.grad")
    if old is None and new is not None:
        cause = f"a backward pass reached {code(path)}, or your code assigned it"
        return f"{grad} was None before your call and is now a tensor: {cause}."
    if old is not None and new is None:
        cause = f"your code cleared it, or replaced {code(path)}"
        return f"{grad} was a tensor before your call and is now None: {cause}."
    if old is not None and new is not None and (old.shape, old.dtype) != (new.shape, new.dtype):
        return f"Your call changes the shape or the dtype of {grad}."
    if old is not None and new is not None and not _same_values(old, new):
        cause = "a backward pass added to them, or your code wrote to them"
        return f"Your call changes the values of {grad}: {cause}.{_ALIAS}"
    return ""


def _hooks(path: str, old: list[int], new: list[int]) -> Iterator[tuple[str, str]]:
    if not set(old) <= set(new):
        yield (
            "hooks",
            f"Your call removes a hook that the caller registered on {code(path)}. Remove only your own.",
        )
    elif len(new) > len(old):
        more = len(new) - len(old)
        yours = "one of your hooks is" if more == 1 else f"{more} of your hooks are"
        yield "hooks", f"After your call, {yours} still registered on the caller's {code(path)}."


def _attributes(path: str, old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    for name in new:
        if name not in old:
            yield (
                "attributes",
                f"Your call adds an attribute to the caller's {code(path)}: {code(printable(name[:60]))}.",
            )
    for name in old:
        if name not in new:
            yield (
                "attributes",
                f"Your call removes an attribute of the caller's {code(path)}: {code(printable(name))}.",
            )


def _module(path: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Changes of a module, or of an optimizer, which has no mode and no buffers."""
    if now["class"] != then["class"]:
        yield "class", f"Your call changes the class of the caller's {code(path)}."
    if then["kind"] == "module":
        if now["training"] != then["training"]:
            mode, other = ("train", "eval") if then["training"] else ("eval", "train")
            change = f"was in {mode} mode before your call and is now in {other} mode"
            yield "training", f"The caller's {code(path)} {change}."
        for name in sorted(set(then["persistent"]) ^ set(now["persistent"])):
            verb = "no longer includes" if name in then["persistent"] else "now includes"
            yield (
                "persistent",
                f"The `state_dict` of the caller's {code(path)} {verb} the buffer {code(printable(name))}.",
            )
    yield from _hooks(path, then["hooks"], now["hooks"])
    yield from _attributes(path, then["attributes"], now["attributes"])


def _container(path: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if now["type"] != then["type"]:
        yield (
            "type",
            f"Your call changes the type of the caller's {code(path)} from {then['type']} to {now['type']}.",
        )
    elif now["length"] != then["length"]:
        yield (
            "length",
            (
                f"The caller's {code(path)} had {entries(then['length'])} before your call and now has "
                f"{now['length']}."
            ),
        )
    elif now["entries"] != then["entries"]:
        is_order = sorted(now["entries"]) == sorted(then["entries"])
        change = "changes the order of the entries" if is_order else "replaces an entry"
        yield "entries", f"Your call {change} of the caller's {code(path)}."
