"""On a student's machine: where values stand in JSON, so that one is replaced and nothing else moves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

_DECODER = json.JSONDecoder()
_SPACE = " \t\n\r"


@dataclass(frozen=True)
class Span:
    """Where a value begins and ends in a text."""

    begin: int
    end: int


def whole(text: str) -> Span:
    """Where the one value of a text stands."""
    begin = _skip(text, 0)
    return Span(begin, _DECODER.raw_decode(text, begin)[1])


def members(text: str, span: Span) -> dict[str, Span]:
    """Where the values of an object stand, by name; of two of one name the last, as JSON is read."""
    found: dict[str, Span] = {}
    for place in _elements(text, span):
        name, end = scanstring(text, place + 1)
        value = _value(text, _skip(text, _skip(text, end) + 1))
        found[name] = value
    return found


def items(text: str, span: Span) -> list[Span]:
    """Where the values of a list stand."""
    return [_value(text, place) for place in _elements(text, span)]


def replaced(text: str, span: Span, value: Any) -> str:
    """The text with another value in a place, laid out as what stood there."""
    return (
        text[: span.begin]
        + laid_out(value, text[span.begin : span.end], _margin(text, span))
        + text[span.end :]
    )


def inserted(text: str, list_span: Span, place: int, value: Any) -> str:
    """The text with one more value in a list, laid out as its neighbours.

    Args:
        text: the JSON.
        list_span: where the list stands.
        place: how many values are to stand before the new one.
        value: the new one.
    """
    found = items(text, list_span)
    if not found:
        return text[: list_span.begin] + json.dumps([value], ensure_ascii=False) + text[list_span.end :]
    model = found[min(place, len(found) - 1)]
    new = laid_out(value, text[model.begin : model.end], _margin(text, model))
    if place < len(found):
        gap = text[found[0].end : found[1].begin] if len(found) > 1 else ", "
        return text[: model.begin] + new + gap + text[model.begin :]
    gap = text[found[-2].end : model.begin] if len(found) > 1 else ", "
    return text[: model.end] + gap + new + text[model.end :]


def laid_out(value: Any, model: str, margin: str) -> str:
    """JSON of a value, over several lines where the model is.

    Args:
        value: what to write.
        model: JSON that shows how deep lines are indented.
        margin: what stands before the line in which the value begins.
    """
    _, line_end, rest = model.partition("\n")
    if not line_end:
        return json.dumps(value, ensure_ascii=False)
    first = rest[: len(rest) - len(rest.lstrip(" \t"))]
    step = first.removeprefix(margin) or " "
    newline = "\r\n" if "\r\n" in model else "\n"
    return json.dumps(value, ensure_ascii=False, indent=step).replace("\n", f"{newline}{margin}")


def _elements(text: str, span: Span) -> Iterator[int]:
    """Where the values of a list, or the names of an object, begin."""
    at = _skip(text, span.begin + 1)
    is_object = text[span.begin] == "{"
    while at < span.end - 1:
        yield at
        if is_object:
            at = _skip(text, _skip(text, scanstring(text, at + 1)[1]) + 1)
        at = _skip(text, _value(text, at).end)
        at = _skip(text, at + 1)  # past the comma


def _value(text: str, begin: int) -> Span:
    return Span(begin, _DECODER.raw_decode(text, begin)[1])


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _margin(text: str, span: Span) -> str:
    """The white space before the line in which a value begins."""
    line = text[text.rfind("\n", 0, span.begin) + 1 : span.begin]
    return line[: len(line) - len(line.lstrip(" \t"))]
