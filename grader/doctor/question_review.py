"""Outside: what is wrong with a question though its checks judge well: its stub, its answers, its name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from grader.checks.check import Check
from grader.course.assignment import Question
from grader.doctor.known_answers import Answer
from grader.grading.judge import Verdict
from grader.text import did_you_mean

#: Of these errors no stub has to stop, whatever its mistake is about.
_DOES_NOT_RUN = {
    *("NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "NotImplementedError"),
    *("SyntaxError", "IndentationError", "TabError"),
}


def stub_complaints(
    question: Question, checks: Sequence[Check], verdicts: Mapping[str, Verdict]
) -> Iterator[str]:
    """That the stub is an answer, or that it does not even run.

    Args:
        question: the question.
        checks: its hidden checks.
        verdicts: of the stub, by check.
    """
    found = [verdicts[check.id] for check in checks if check.id in verdicts]
    where = question.place or question.id
    if found and all(verdict.outcome == "passed" for verdict in found):
        yield (
            f"{where}: the stub answers the question already: it passes every hidden check."
            " Let it make the mistake that the question is about"
        )
    elif found and {verdict.stopped for verdict in found} <= _DOES_NOT_RUN:
        yield f"{where}: the stub does not run: {found[0].message} Let it run, and be wrong"


def unknown_checks(answer: Answer, checks: Sequence[Check], path: Path) -> Iterator[str]:
    """That a wrong answer names checks in ``fails=`` which its question has not.

    Args:
        answer: the answer.
        checks: those of its question.
        path: the file of answers.
    """
    known = [check.id for check in checks]
    unknown = [name for name in sorted(answer.fails or ()) if name not in known]
    where = f"{path}, line {answer.line}: {answer.name} fails {', '.join(unknown)}, which"
    if len(unknown) == 1:
        yield f"{where} is no check of {answer.question}; {did_you_mean(unknown[0], known)}"
    elif unknown:
        yield f"{where} are no checks of {answer.question}; there is {', '.join(known)}"


def complaints_about_stops(answer: Answer, verdicts: Mapping[str, Verdict], path: Path) -> list[str]:
    """What is wrong with ``stops=`` of a wrong answer: a sentence, or nothing.

    An answer that stops with an exception fails every check without being judged by any: it says nothing
    about them. So its author has to say that it is meant to stop.

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


def shared_functions(functions: Mapping[str, Collection[str]]) -> Iterator[str]:
    """One sentence for each function that more than one assignment asks for.

    Args:
        functions: the names each assignment asks for, by stem.
    """
    names = sorted({name for asked in functions.values() for name in asked})
    for name in names:
        stems = [stem for stem, asked in functions.items() if name in asked]
        if len(stems) > 1:
            yield (
                f"{' and '.join(f'solutions/{stem}.py' for stem in stems)} both ask for {name}, by which a"
                " renamed notebook is recognised: give one of them another name"
            )
