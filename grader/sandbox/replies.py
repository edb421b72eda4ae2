"""A worker's replies and notices, checked field by field before anything of them is used.

A reply that breaks the schema raises ``MalformedError``.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, islice
from typing import Any, TypeVar

from grader.sandbox.decoding import decode, decode_raised, require

#: What a worker noticed (a word of `NOTICED`), and the cell it happened in, or None.
Notice = tuple[str, int | None]
_Noticed = TypeVar("_Noticed", bound=str | Notice)
#: What a survey says of a function.
STATUSES = {"answered", "untouched", "missing"}
NOTICED = {
    *("code objects", "ctypes", "frames", "gc", "imports at run time", "kernels of torch", "patched"),
    "settrace",
}
_MAX_UNITED = 100  # kept of each kind that a notebook's workers noticed: a reader needs no more
_MAX_TRACES = 20 * len(NOTICED)  # a worker reports twenty cells for each
_WRITTEN_BY_OTHERS: Notice = ("raw descriptors", None)


def parse_answer(answer: Any) -> dict[str, Any]:
    """A worker's answer to a probe, in the form that evidence stores."""
    require(type(answer) is dict and set(answer) - {"none"} == {"raised", "facts", "changed", "patched"})
    require(all(map(is_words, (answer["changed"], answer["patched"], answer.get("none", [])))))
    none = {"none": answer["none"]} if answer.get("none") else {}
    if answer["raised"] is not None:
        decode_raised(answer["raised"])
        return {"raised": answer["raised"], **none}
    decode(answer["facts"])
    return {"facts": answer["facts"], **none}


def parse_cell_error(answer: Any) -> Any:
    """A worker's answer about a cell: None or an error's fields."""
    require(type(answer) is dict and set(answer) == {"raised"})
    if answer["raised"] is not None:
        decode_raised(answer["raised"])
    return answer["raised"]


def parse_survey(answer: Any, functions: set[str]) -> tuple[dict[str, str], list[str]]:
    """A worker's survey: the status of each function, and what was patched."""
    require(type(answer) is dict and set(answer) == {"names", "patched"})
    names = answer["names"]
    require(type(names) is dict and set(names) == functions)
    require(all(type(status) is str and status in STATUSES for status in names.values()))
    require(is_words(answer["patched"]))
    return names, answer["patched"]


def united(before: Iterable[_Noticed], more: Iterable[_Noticed]) -> list[_Noticed]:
    """What several workers of a notebook noticed, sorted, without repetition, the first of each kind."""
    everything = sorted({*before, *more}, key=str)
    kinds = groupby(everything, lambda noticed: noticed[0] if isinstance(noticed, tuple) else "")
    return [noticed for _, alike in kinds for noticed in islice(alike, _MAX_UNITED)]


def parse_notices(notices: bytes, *, closed: bool) -> set[Notice]:
    """What a worker noticed.

    A line that is no notice, too many lines, and a pipe that was closed are the notebook's doing, which is a
    notice as well. So nothing that a notebook writes there hides what comes later.
    """
    *lines, rest = notices.decode("ascii", "replace").split("\n")
    traces = {_notice(line) for line in lines[:_MAX_TRACES]}
    return traces | ({_WRITTEN_BY_OTHERS} if rest or closed or len(lines) > _MAX_TRACES else set())


def _notice(line: str) -> Notice:
    what, _, number = line.partition("\t")
    if what not in NOTICED or not (number == "" or (number.isdecimal() and len(number) < 6)):
        return _WRITTEN_BY_OTHERS
    return what, int(number) if number else None


def is_words(value: Any) -> bool:
    """Whether it is a list of short texts."""
    return type(value) is list and len(value) <= 10_000 and all(map(_is_word, value))


def _is_word(value: Any) -> bool:
    return type(value) is str and len(value) <= 500
