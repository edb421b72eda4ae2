"""Outside: what the public check of a question says of answers whose verdict is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from grader.doctor_memory import Memory, fingerprint
from grader.facts import Raised, decode_raised
from grader.known_answers import Answer
from grader.notebook import cells_of
from grader.observer import observe
from grader.question import Question
from grader.questionnaire import Limits, Questionnaire
from grader.zygote import Zygote

_TESTS = re.compile(r"^def (test_\w+)", re.MULTILINE)

#: What a student is told: by the call of a check that fails, the first line of why; empty where all pass.
Told = dict[str, str]


@dataclass(frozen=True)
class PublicTrial:
    """A question and its public check.

    Attributes:
        question: one that has a public check.
        limits: of a notebook in which the check is run.
        jobs: how many workers at a time.
        zygote: gives the process that workers are forked from.
        memory: what earlier trials found.
    """

    question: Question
    limits: Limits
    jobs: int
    zygote: Callable[[], Zygote]
    memory: Memory

    def told(
        self, notebooks: Mapping[str, Sequence[str]], *, together: Sequence[str] = ()
    ) -> dict[str, Told]:
        """What is told of each notebook, by name; only what has changed since it was tried is tried.

        Args:
            notebooks: the sources of the cells, by name.
            together: names of notebooks that should pass, and so can share a worker.
        """
        keys = {name: fingerprint("public", self._check(), sources) for name, sources in notebooks.items()}
        known = {name: self.memory.recall(key) for name, key in keys.items()}
        found: dict[str, Told] = {name: told for name, told in known.items() if told is not None}
        missing = [name for name in notebooks if name not in found]
        shared = [name for name in missing if name in together]
        tried: dict[str, tuple[Told, bool]] = {}
        if shared and self._all_pass([notebooks[name] for name in shared]):
            tried = {name: ({}, True) for name in shared}
        alone = [name for name in missing if name not in tried]
        with ThreadPoolExecutor(self.jobs) as pool:
            tried.update(zip(alone, pool.map(lambda name: self._told(notebooks[name]), alone), strict=True))
        for name, (told, is_certain) in tried.items():
            found[name] = told
            if is_certain:
                self.memory.remember(keys[name], told)
        return found

    def _all_pass(self, notebooks: Sequence[Sequence[str]]) -> bool:
        """Whether notebooks pass in one worker.

        Where something fails, each is tried in a worker of its own: one answer may have broken what the next
        one needs, and that is not the next one's fault.
        """
        failed, _ = self._failed([cell for sources in notebooks for cell in [*sources, *self._check()]])
        return not failed

    def _told(self, sources: Sequence[str]) -> tuple[Told, bool]:
        """What is told of one notebook, and whether another look would find the same."""
        check = self._check()
        failed, is_certain = self._failed([*sources, *check])
        calls = enumerate(check[1:], start=len(sources) + 2)
        return {call: failed[number] for number, call in calls if number in failed}, is_certain

    def _check(self) -> list[str]:
        """The check's cell, and a cell for each of its tests."""
        source, function = self.question.public_check or "", self.question.function
        return [source, *(f"{name}({function})" for name in _TESTS.findall(source))]

    def _failed(self, sources: Sequence[str]) -> tuple[dict[int, str], bool]:
        """The cells that fail, and why; all where nothing could be observed. And whether that is certain."""
        cells = cells_of(sources)
        evidence = observe(self.zygote(), cells, Questionnaire({}, {}), self.limits)
        if evidence.fault is not None:
            return dict.fromkeys((cell.number for cell in cells), evidence.fault), False
        failed = {c["cell"]: c["fault"] or _first_line(decode_raised(c["raised"])) for c in evidence.cells}
        return failed, not evidence.starved


def public_complaints(
    question: Question,
    told: Mapping[str, Told],
    answers: Sequence[Answer],
    *,
    reference: str,
    stub: str | None,
) -> Iterator[str]:
    """One sentence for each notebook of which the public check says what it should not.

    Args:
        question: the question.
        told: what is told of each notebook, by name.
        answers: the known answers to the question.
        reference: the name of the reference among the notebooks.
        stub: the name of the stub; None where it is known to be an answer, and so to pass.
    """
    if question.public_check is None:
        yield f"{question.id} has no public check: students would be told nothing"
        return
    if stub is not None and not told[stub]:
        yield f"{question.place or question.id}: the stub passes its public check"
    for call, said in told[reference].items():
        yield f"{question.id}: the reference fails the public check {call}: {said}"
    for answer in answers:
        who, passes = f"{question.id}, {answer.name} (line {answer.line})", not told[answer.name]
        if answer.fails is None:
            yield from (
                f"{who} is right, but fails the public check {call}: {said}"
                for call, said in told[answer.name].items()
            )
        elif passes and not answer.public:
            yield (
                f"{who} is wrong, and passes the public check: mend the check, or write public=True,"
                " as --accept does, if students need not be told"
            )
        elif answer.public and not passes:
            yield f"{who} fails the public check: remove public=True, as --accept does"


def _first_line(error: Raised) -> str:
    said = error.text.partition("\n")[0]
    return said if error.type == "AssertionError" else f"{error.type}: {said}"
