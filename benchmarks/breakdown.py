"""Where the processor time of a solved notebook goes, and which contracts cost most.

Workers are measured from outside, by the kernel's count of each process before and after a request.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from classroom import COURSE
from measure import MeasureError, counted, parent
from report import Section, tell

from grader.contracts.cases import MEMORY
from grader.course.contract import Contract
from grader.course.course import observe_reference
from grader.course.worker_code import WorkerCode
from grader.grading.executor import modules_of_answers
from grader.grading.judge import judge
from grader.grading.run import Options, grade
from grader.notebooks.reader import cells_of
from grader.sandbox.evidence import Answer
from grader.sandbox.observer import observe
from grader.sandbox.plan import TimeLimits
from grader.sandbox.zygote import WorkerProcess, Zygote

MOST_MILLISECONDS, DEAREST = 10.0, 10
_PLENTY = TimeLimits(60, 60, 600)
_OF_CELLS = ("begin", "cell", "survey")
PARTS = WORKER, CELLS, CONTRACTS, WIRE, DECODE, JUDGE, REST = (
    *("worker", "cells", "contracts"),
    *("wire", "decode", "judge", "files and the rest"),
)


@dataclass(frozen=True)
class ContractCost:
    """What a contract costs a notebook: its worker's milliseconds, and the bytes of its answer."""

    name: str
    milliseconds: float
    size: int
    cases: int  # 0 for a picture
    why: str


@dataclass(frozen=True)
class Breakdown:
    """Milliseconds of a notebook by part, and its contracts, the dearest first."""

    parts: Mapping[str, float]
    contracts: Sequence[ContractCost]


@dataclass
class Spent:
    """Processor seconds: of workers by request (``cell``, ``observe glu``), and of this side by part."""

    inside: Counter[str] = field(default_factory=Counter)
    outside: Counter[str] = field(default_factory=Counter)


class Meter:
    """A zygote whose workers' requests are measured."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote, self._spent = zygote, Spent()

    def anew(self) -> Spent:
        """What is spent from now on."""
        self._spent = Spent()
        return self._spent

    @contextmanager
    def worker(self) -> Iterator[WorkerProcess]:
        with self._zygote.worker() as worker:
            worker.wire.ask("end", None, _PLENTY.cell)  # it has entered the sandbox when it answers
            worker.wire = _MeteredWire(worker, self._spent)  # type: ignore[assignment]
            yield worker

    def counted(self) -> float:
        """Processor seconds of the zygote and of all workers until now."""
        with self._zygote.worker() as worker:  # when it forks one, it waits for those that have ended
            return counted(parent(worker.pid))


class _MeteredWire:
    """A worker's wire, which notes what each request costs on both sides."""

    def __init__(self, worker: WorkerProcess, spent: Spent) -> None:
        self._worker, self._wire, self._spent = worker, worker.wire, spent

    def ask(self, operation: str, arguments: Any, seconds: float) -> str:
        name = f"observe {arguments['name']}" if operation == "observe" else operation
        before = self._worker.cpu_times().computed
        with _counting(self._spent.outside, WIRE):
            answer = self._wire.ask(operation, arguments, seconds)
        self._spent.inside[name] += self._worker.cpu_times().computed - before
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wire, name)


@contextmanager
def _counting(counter: Counter[str], part: str) -> Iterator[None]:
    begun = time.process_time()
    yield
    counter[part] += time.process_time() - begun


def breakdown(folder: Path, stems: Sequence[str], more: int) -> dict[str, Breakdown]:
    """Measure the solved notebook of each assignment, `more` times.

    Args:
        folder: where the throughput has left classes of ``1 + more`` notebooks, and their results.
    """
    found = {}
    for stem in stems:
        tell(f"breakdown: {stem}")
        found[stem] = _breakdown(stem, more, folder / f"{stem}-{1 + more}", folder / "results" / stem)
    tell("")
    return found


def _breakdown(stem: str, times: int, submissions: Path, results: Path) -> Breakdown:
    assignment, rubric = COURSE.assignment(stem), COURSE.rubric(stem)
    cells, plan = cells_of(assignment.reference), rubric.plan(1)
    with Zygote(preload=modules_of_answers(COURSE, [stem])) as zygote:
        expected, meter = observe_reference(zygote, COURSE, stem, 1), Meter(zygote)
        judge(rubric, observe(meter, cells, plan, _PLENTY), expected)  # which warms up
        spent, before = meter.anew(), meter.counted()
        for _ in range(times):
            seen = observe(meter, cells, plan, _PLENTY)
            with _counting(spent.outside, DECODE):
                for answer in seen.answers.values():
                    Answer.parse(answer.text)
            with _counting(spent.outside, JUDGE):
                verdicts = judge(rubric, seen, expected)
            if any(verdict.outcome != "passed" for verdict in verdicts.values()):
                raise MeasureError(f"the reference of {stem} does not pass its checks")
        everything = (meter.counted() - before) / times * 1000
    inside = {name: seconds / times * 1000 for name, seconds in spent.inside.items()}
    parts = {part: seconds / times * 1000 for part, seconds in spent.outside.items()}
    _, few, all_of_them = (_judged_again(submissions, results, number) for number in (1, 1, 1 + times))
    parts[REST] = (all_of_them - few) / times * 1000 - parts[DECODE] - parts[JUDGE]
    parts[WORKER] = everything - sum(inside.values())
    parts[CELLS] = sum(inside.pop(name, 0.0) for name in _OF_CELLS)
    parts[CONTRACTS] = sum(inside.values())
    contracts = [
        _cost(code, inside[f"observe {name}"], len(seen.answers[name].text.encode()))
        for name, code in (rubric.contracts | rubric.pictures).items()
    ]
    return Breakdown(parts, sorted(contracts, key=lambda contract: -contract.milliseconds))


def _judged_again(submissions: Path, results: Path, number: int) -> float:
    """Seconds of this process for so many notebooks of a class that have evidence, and no results."""
    for student in sorted((results / "submissions").iterdir())[:number]:
        shutil.rmtree(student)
    spent: Counter[str] = Counter()
    with _counting(spent, REST):
        grade(COURSE, submissions, results, Options(), lambda *_: None)
    return spent[REST]


def _cost(code: WorkerCode, milliseconds: float, size: int) -> ContractCost:
    if not isinstance(code, Contract):
        return ContractCost(code.name, milliseconds, size, 0, "a picture")
    plan, rows = code.plan, code.rows
    counts = {
        "with measured memory": sum(MEMORY in row for row in rows),
        "large": sum(row.get("all.sizes") == "large" for row in rows),
        "of two calls": sum("call.turn" in row for row in rows),
    }
    reasons = [f"{count} {what}" for what, count in counts.items() if count]
    reasons += ["a loss of each entry"] if plan["gradients"] == "each" else []
    reasons += [word for word in ("then", "plain") if plan[word]]
    reasons += [f"records {' '.join(plan['record'])}"] if plan["record"] else []
    return ContractCost(code.name, milliseconds, size, len(rows), ", ".join(reasons))


def sections(found: Mapping[str, Breakdown]) -> list[Section]:
    """The parts of each assignment, and its dearest contracts."""
    parts = {f"`{stem}`": [each.parts[part] for part in PARTS] for stem, each in found.items()}
    parts[f"the mean of all {len(found)}"] = [fmean(column) for column in zip(*parts.values(), strict=True)]
    where = [
        (name, *(f"{value:.1f}" for value in values), f"{sum(values):.1f}") for name, values in parts.items()
    ]
    dearest = [_row(stem, cost) for stem, each in found.items() for cost in each.contracts[:DEAREST]]
    return [
        Section("Where it goes", _WHERE, ("ms a notebook", *PARTS, "all"), where),
        Section("The dearest contracts", _DEAREST, _HEAD, dearest, above_limit(found), words=(0, 1, 6)),
    ]


def _row(stem: str, cost: ContractCost) -> tuple[str, ...]:
    cases = (str(cost.cases), f"{cost.milliseconds / cost.cases:.2f}") if cost.cases else ("", "")
    return (
        f"`{stem}`",
        cost.name,
        f"{cost.milliseconds:.1f}",
        *cases,
        f"{cost.size / 1000:.1f}",
        cost.why,
    )


def above_limit(found: Mapping[str, Breakdown]) -> str:
    """Which contracts cost more than they may, by assignment."""
    above = {
        stem: [contract.name for contract in each.contracts if contract.milliseconds > MOST_MILLISECONDS]
        for stem, each in found.items()
    }
    told = "; ".join(f"`{stem}`: {', '.join(names)}" for stem, names in above.items() if names)
    number = sum(map(len, above.values()))
    return f"Contracts that cost more than {MOST_MILLISECONDS:.0f} ms: {number}. {told}"


_HEAD = ("", "contract", "ms", "cases", "ms a case", "kB", "what is in it")
_WHERE = """\
Milliseconds of processor time of one solved notebook, observed and judged one after the other. The kernel
counted the zygote and its workers: the worker's fork, its way into the sandbox and its end; the cells; the
contracts and pictures. Counted on the other side: sending requests and reading answers, decoding, judging.
Files and the rest is what `grade` takes beyond decoding and judging for a notebook whose evidence is
there."""
_DEAREST = f"""\
The {DEAREST} dearest contracts of each assignment: milliseconds in the worker, the cases, and the
size of the answer. Of the cases, those in which memory is measured, those with large tensors, and those that
call twice; then the contract's arguments that make it do more in each case."""
