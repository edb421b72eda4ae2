"""Outside: whether a wrong answer stops as its decorator says.

An answer that stops with an exception fails every check without being judged by any: it says nothing about
them. So its author has to say that it is meant to stop.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from grader.judge import Verdict
from grader.known_answers import Answer


def complaints_about_stops(answer: Answer, verdicts: Mapping[str, Verdict], path: Path) -> list[str]:
    """What is wrong with ``stops=`` of a wrong answer: a sentence, or nothing.

    Args:
        answer: the answer; an accepted one that stops is complained about elsewhere.
        verdicts: those on this answer, by check of its own question.
        path: the file of answers.
    """
    stopped = {check: verdict for check, verdict in verdicts.items() if verdict.stopped is not None}
    kinds = sorted({str(verdict.stopped) for verdict in stopped.values()})
    if answer.fails is None or kinds == ([answer.stops] if answer.stops else []):
        return []
    who = f"{path}, line {answer.line}: {answer.name}"
    if not stopped:
        return [f'{who} says stops="{answer.stops}", and does not stop: remove that']
    first = next(iter(stopped.values())).message
    told = f"{who} stops with {' and '.join(kinds)}, so {', '.join(stopped)} cannot judge it: {first}"
    if answer.stops:
        return [f'{told} Its decorator says stops="{answer.stops}"']
    return [f'{told} If it is meant to stop, write stops="{kinds[0]}" beside its fails; else mend it']
