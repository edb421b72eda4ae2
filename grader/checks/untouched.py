"""``assert_untouched``: the sentences about what a student's function must not change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

from grader.checks.changes import changes_of

_ROOT = re.compile(r"[.\[]")
#: The parts of an object that may change, as ``changes_of`` names them.
_PARTS = {
    *("attributes", "class", "dtype", "entries", "grad", "history", "hooks", "identity", "persistent"),
    *("requires_grad", "retains_grad", "shape", "storage", "training", "type", "value", "version"),
}


def assert_untouched(
    kept: Mapping[str, Any],
    *,
    only: Iterable[str] = ("*",),
    but: Iterable[str] = (),
    case: str = "",
    hint: str = "",
) -> None:
    """Fail where something is not as it was before the call that ``untouched`` watched.

    Compared are, of a tensor: identity, shape, dtype, values, memory, version, requires_grad, whether it is a
    leaf, ``.grad``, hooks and attributes; of a module: class, mode, hooks, attributes, which buffers the
    state_dict has, and all it holds; of an optimizer: class, hooks, groups and state; of a container: type,
    length and entries; and the modes of torch.

    Args:
        kept: what ``with untouched(...) as kept`` filled.
        only: what is compared: a path (``"opt"`` with all below it), or a path and a part of it, with ``*``
            as in file names (``"model.*:grad"``, ``"*:version"``).
        but: what of that may change.
        case: when it happened, before the sentence: ``"Under no_grad"``.
        hint: behind the sentence.

    Raises:
        ValueError: a rule names what was not watched, or a part that nothing has.
        AssertionError: something changed; the text is a sentence about the first change.
    """
    for change in changes(kept, only=only, but=but):
        sentence = f"{case}: {change}" if case else change
        raise AssertionError(f"{sentence}\n\n{hint}" if hint else sentence)


def assert_changed(
    kept: Mapping[str, Any], message: str, *, only: Iterable[str] = ("*",), but: Iterable[str] = ()
) -> None:
    """Fail where nothing changed, so that no check passes code that does nothing.

    Args:
        kept: what ``with untouched(...) as kept`` filled.
        message: the diagnosis: "The caller's w still holds its old values."
        only: where something has to change, as for ``assert_untouched``: ``["w:value"]``.
        but: where a change does not count.
    """
    if next(changes(kept, only=only, but=but), None) is None:
        raise AssertionError(message)


@contextmanager
def blaming_changes(
    kept: Mapping[str, Any], *, only: Iterable[str] = ("*",), but: Iterable[str] = ()
) -> Iterator[None]:
    """Replace a check's failure by that of ``assert_untouched``, if that fails: it is the cause."""
    try:
        yield
    except AssertionError:
        assert_untouched(kept, only=only, but=but)
        raise


def changes(
    kept: Mapping[str, Any], *, only: Iterable[str] = ("*",), but: Iterable[str] = ()
) -> Iterator[str]:
    """The sentences of ``assert_untouched``, the gravest change of each path first."""
    only, but = list(only), list(but)
    _require_meant([*only, *but], kept["before"])
    for path, what, sentence in _all_changes(kept):
        if _is_named(path, what, only) and not _is_named(path, what, but):
            yield sentence


def changed_parts(kept: Mapping[str, Any]) -> dict[str, str]:
    """The sentences about all changes, by path and part: ``w:version``."""
    return {f"{path}:{what}": sentence for path, what, sentence in _all_changes(kept)}


def _all_changes(kept: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for path, then in kept["before"].items():
        for what, sentence in changes_of(path, then, kept["after"].get(path, then)):
            yield path, what, sentence


def _require_meant(rules: Iterable[str], before: Mapping[str, Any]) -> None:
    """Raise ValueError for a rule about what was not watched, or a part that nothing has.

    It breaks the check of one submission only, because a student's process says what was watched.
    """
    watched = sorted({_ROOT.split(path, maxsplit=1)[0] for path in before})
    for rule in rules:
        pattern, _, part = rule.partition(":")
        root = _ROOT.split(pattern, maxsplit=1)[0]
        if not any(fnmatchcase(name, root) for name in watched):
            raise ValueError(f"{rule!r}: untouched watched {', '.join(watched)}, and nothing like {root}")
        parts = _PARTS | {name for name in before.get("torch", ()) if root == "torch"}
        if part and not any(fnmatchcase(name, part) for name in parts):
            raise ValueError(f"{rule!r}: what can change has parts such as value or grad, and no {part}")


def _is_named(path: str, what: str, rules: Iterable[str]) -> bool:
    for rule in rules:
        pattern, _, part = rule.partition(":")
        is_below = not part and any(fnmatchcase(path, pattern + below) for below in (".*", "[[]*"))
        if is_below or (fnmatchcase(path, pattern) and fnmatchcase(what, part or "*")):
            return True
    return False
