"""Sentences about a result as a whole: which version counts, when it was submitted, what was adjusted."""

from __future__ import annotations

from collections.abc import Iterator

from grader.results.model import Adjustment, Late, Missing, Result
from grader.scores import counted_points, format_points
from grader.text import format_time, some

_MOST_NAMED = 12  # other versions


def about_lateness_and_adjustments(result: Result) -> list[str]:
    """Sentences for an excuse, which version counts, its deadline, how late it is, and each adjustment."""
    sentences = [about_excuse(result.excuse)] if result.excuse else []
    sentences += about_version(result)
    if result.extended:
        sentences.append(f"The deadline was extended to {format_time(result.extended)}.")
    if result.late:
        sentences.append(f"{_about_lateness(result.late)}, {_about_penalty(result, result.late)}.")
    return sentences + [_about_points(result, given) for given in result.adjustments if not given.excused]


def about_version(result: Result) -> list[str]:
    """Sentences for which version counts, when it was submitted, and which others hold answers."""
    return [*_about_version(result)] if result.assignment else []


def about_others(result: Result) -> list[str]:
    """A sentence for the superseded versions, and one for each ignored file; the first of very many."""
    others = some(result.superseded, _MOST_NAMED) if result.assignment else []
    sentences = [f"Superseded: {', '.join(others)}."] if others else []
    return sentences + some(
        (f"Ignored: {each.path} ({each.reason.removesuffix('.')})." for each in result.ignored), _MOST_NAMED
    )


def _about_version(result: Result) -> Iterator[str]:
    if result.missing:
        yield _about_missing(result.missing)
    if result.handed_in:
        yield f"This version, {result.notebook}, was submitted on {format_time(result.handed_in)}."
    elif result.superseded or result.ignored:
        yield f"{result.notebook} is the version that counts."
    if result.seen:
        yield (
            "That is the time of its commit, set by the student's computer; it was first found in the"
            f" repository on {format_time(result.seen)}."
        )
    if result.copy:
        yield f"It {result.copy}: a copy made by a tool. It counts because nothing else is there."
    if result.with_answers:
        named = ", ".join(some(result.with_answers, _MOST_NAMED))
        yield f"Versions that don't count but contain answers: {named}."


def about_excuse(excuse: Adjustment) -> str:
    """A sentence for a student who is excused."""
    return f"Excused: {excuse.comment}" if excuse.comment else "Excused."


def _about_missing(missing: Missing) -> str:
    since = format_time(missing.since)
    if missing.why == "unread":
        return f"The repository could not be read since {since}; this is the last version collected from it."
    return f"The repository has not contained this notebook since {since}; its result stays."


def _about_lateness(late: Late) -> str:
    """The beginning of a sentence."""
    if late.due is None:
        return "The system marked it as late"
    return f"It was due on {format_time(late.due)} and is {late.text}"


def _about_penalty(result: Result, late: Late) -> str:
    if not late.penalty:
        return "which costs nothing"
    if result.penalty < late.penalty:
        points = f"{format_points(result.penalty)} of {counted_points(late.penalty)}"
        return f"which costs {points}, all that was earned"
    return f"which costs {counted_points(result.penalty)}"


def _about_points(result: Result, given: Adjustment) -> str:
    done = "added to" if given.points >= 0 else "subtracted from"
    points, wanted = abs(result.adjusted_by(given)), abs(given.points)
    least = "the maximum is reached" if given.points >= 0 else "the score cannot fall below 0"
    limit = f" (of {format_points(wanted)}: {least})" if points != wanted else ""
    reason = f": {given.comment}" if given.comment else "."
    return f"Adjustment: {counted_points(points)} {done} {given.question or 'the assignment'}{limit}{reason}"
