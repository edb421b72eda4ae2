"""Runs a few probes on the reference and on known answers, for an author who wants to see facts.

`try` sends a `print` of its own along with a probe, so that its output comes back as a fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from grader.checks.failed_cell import FailedCell
from grader.course.course import Course
from grader.course.probes import Probe
from grader.course.reference import REFERENCE_LIMITS, reference_cells, stub_cells
from grader.course.rubric import Rubric
from grader.doctor.known_answers import Answer, read_answers
from grader.doctor.probe_file import left_out, read_probes
from grader.doctor.source_text import in_file
from grader.errors import GraderError
from grader.grading.preload import modules_of_answers
from grader.notebooks.reader import Cell
from grader.sandbox.evidence import UNANSWERED, Evidence, Failure, NoFacts, ProbeOutcome
from grader.sandbox.observer import observe
from grader.sandbox.plan import ProbePlan
from grader.sandbox.zygote import Zygote
from grader.text import did_you_mean, inert

REFERENCE, ORACLE, STUB = "reference", "oracle", "stub"

#: Added to what travels of a probe: what it prints comes back beside its facts.
_PRINTING = """

_printed, _silent = [], {name}


def print(*values, sep=" ", end="", file=None, flush=False):
    _printed.append(sep.join(map(str, values)) + end)


def {name}(student):
    facts = attempt(_silent, student)
    return {{"facts": facts, "printed": _printed[:50]}}
"""


@dataclass(frozen=True)
class Seen:
    """What a probe saw of a notebook.

    Attributes:
        outcome: its facts, or why there are none.
        printed: the lines it printed.
        placed: replaces a known answer's cell by its line in the file, in a sentence.
    """

    outcome: ProbeOutcome
    printed: tuple[str, ...] = ()
    placed: Callable[[str], str] = str


@dataclass(frozen=True)
class _Notebook:
    """A notebook to observe: its name, its cells, and the question it answers, None for all."""

    who: str
    cells: Sequence[Cell]
    question: str | None = None
    placed: Callable[[str], str] = str


def run_probes(
    course: Course, stem: str, probes: Sequence[str], answers: Sequence[str] = (), seed: int = 0
) -> Iterator[tuple[Probe, dict[str, Seen]]]:
    """Run probes; only what is filled in of the assignment is read.

    Args:
        course: the course.
        stem: the assignment.
        probes: their names.
        answers: names of known answers; ``stub`` for the stub.
        seed: decides the inputs.

    Yields:
        Each probe with what it saw, by notebook; first is what is expected, of the oracle if there is one.

    Raises:
        GraderError: there is no such assignment, probe or answer; the text says which there are.
        CourseError: a file of the assignment is wrong.
    """
    course.select([stem])
    course = course.only(stem)
    rubric = read_probes(course.assignments[stem], course.check_file(stem), probes)
    wanted = [rubric.probes[name] for name in probes]
    notebooks = [*_answers(course, rubric, answers, {rubric.asks[probe.name] for probe in wanted})]
    with Zygote(preload=modules_of_answers(course, [stem])) as zygote:
        own = _Notebook(REFERENCE, reference_cells(course, stem))
        expected = _look(zygote, rubric, own, wanted, seed, oracle=True)
        with_oracle = [probe for probe in wanted if probe.oracle is not None]
        ordinary = _look(zygote, rubric, own, with_oracle, seed) if with_oracle else {}
        others = [(one.who, _look(zygote, rubric, one, wanted, seed)) for one in notebooks]
    for probe in wanted:
        first = ORACLE if probe.name in ordinary else REFERENCE
        sides = [(first, expected), (REFERENCE, ordinary), *others]
        yield probe, {who: seen[probe.name] for who, seen in sides if probe.name in seen}


def _look(  # noqa: PLR0913 - what is looked at, and how
    zygote: Zygote,
    rubric: Rubric,
    notebook: _Notebook,
    probes: Sequence[Probe],
    seed: int,
    *,
    oracle: bool = False,
) -> dict[str, Seen]:
    """What some probes see of a notebook, by their names."""
    own = [p for p in probes if notebook.question in {None, rubric.asks[p.name]}]
    asked = _printing(rubric.plan(seed, only=notebook.question, oracle=oracle), own)
    evidence = observe(zygote, notebook.cells, asked, REFERENCE_LIMITS)
    functions = {question.id: question.function for question in rubric.questions}
    seen = {p.name: _seen(evidence, p.name, functions[rubric.asks[p.name]]) for p in own}
    return {name: replace(one, placed=notebook.placed) for name, one in seen.items()}


def _printing(asked: ProbePlan, probes: Sequence[Probe]) -> ProbePlan:
    """Some probes only, which say what they print; nothing counts as a stub."""
    names = {probe.name for probe in probes}
    only = {
        function: tuple(
            replace(one, source=one.source + _PRINTING.format(name=one.name))
            for one in all_
            if one.name in names
        )
        for function, all_ in asked.probes.items()
    }
    return ProbePlan(dict.fromkeys(asked.stubs, "pass"), only)


def _seen(evidence: Evidence, probe: str, function: str) -> Seen:
    outcome = evidence.outcome(probe)
    if evidence.names.get(function) == "missing":
        failed = [FailedCell.of(cell).sentence for cell in evidence.cells]
        return Seen(NoFacts(" ".join([UNANSWERED["missing"].format(name=function), *failed])))
    if isinstance(outcome, NoFacts) and outcome.failure is Failure.NOT_REACHED and evidence.fault:
        return Seen(NoFacts(evidence.fault))
    match outcome:
        case {"facts": facts, "printed": [*printed]}:
            lines = "\n".join(map(str, printed)).splitlines()
            return Seen(facts, tuple(lines))
    return Seen(outcome)


def _answers(
    course: Course, rubric: Rubric, names: Sequence[str], questions: set[str]
) -> Iterator[_Notebook]:
    """The notebooks besides the reference, in the order of `names`."""
    path, known = course.answers_file(rubric.stem), dict[str, Answer]()
    if set(names) - {STUB}:  # answers to other questions may be wrong in any way
        asked = [question for question in rubric.questions if question.id in questions]
        functions = {question.id: question.function for question in asked}
        references = {question.id: question.answer for question in asked}
        known = {answer.name: answer for answer in read_answers(path, functions, references)}
    for name in names:
        if name == STUB:
            yield _Notebook(STUB, stub_cells(course, rubric.stem))
        elif name in known:
            answer = known[name]
            placed = partial(in_file, path=path, cells=answer.cells, lines=answer.lines)
            yield _Notebook(name, answer.cells, answer.question, placed)
        else:
            ids = " or ".join(sorted(questions))
            missing = f"{path} has no answer {inert(name)} to {ids}; {did_you_mean(name, {*known, STUB})}"
            raise GraderError(left_out(path, name) or missing)
