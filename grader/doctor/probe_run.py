"""Runs a few probes on the reference and on known answers, for an author who wants to see facts.

`try` sends a `print` of its own along with a probe, so that its output comes back as a fact.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from grader.checks.failed_cell import FailedCell
from grader.course.assignment import Assignment
from grader.course.author_file import todos_in
from grader.course.check_file import question_of
from grader.course.course import Course
from grader.course.probes import Probe, pictures_defined, probes_defined
from grader.course.rubric import REFERENCE_LIMITS, Rubric, import_checks
from grader.doctor.known_answers import REFERENCE, answers_of
from grader.errors import CourseError, GraderError
from grader.grading.preload import modules_of_answers
from grader.notebooks.reader import Cell, cells_of
from grader.sandbox.evidence import UNANSWERED, Evidence, Failure, NoFacts, ProbeOutcome
from grader.sandbox.observer import observe
from grader.sandbox.plan import ProbePlan
from grader.sandbox.zygote import Zygote
from grader.text import did_you_mean, terminal_text

ORACLE, STUB = "oracle", "stub"

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
    """A probe's outcome for a notebook, and the lines it printed.

    `placed` replaces a known answer's cell by its line in the file, in a sentence.
    """

    outcome: ProbeOutcome
    printed: tuple[str, ...] = ()
    placed: Callable[[str], str] = str


@dataclass(frozen=True)
class _Notebook:
    """A notebook to observe, and the question it answers; None for all."""

    name: str
    cells: Sequence[Cell]
    question: str | None = None
    placed: Callable[[str], str] = str


def run_probes(
    course: Course, stem: str, probes: Sequence[str], answers: Sequence[str] = (), seed: int = 0
) -> Iterator[tuple[Probe, dict[str, Seen]]]:
    """Run probes of an assignment, by name.

    `answers` are names of known answers, or ``stub``. Each probe has its outcomes by notebook; first is
    the expected one, of the oracle if there is one.

    Raises:
        GraderError: there is no such assignment, probe or answer; the text says which there are.
        CourseError: a file of the assignment is wrong.
    """
    course.select([stem])
    course = course.with_only(stem)
    rubric = _read_probes(course.assignments[stem], course.check_file(stem), probes)
    wanted = [rubric.probes[name] for name in probes]
    notebooks = [*_answers(course, rubric, answers, {rubric.asks[probe.name] for probe in wanted})]
    with Zygote(preload=modules_of_answers(course, [stem])) as zygote:
        reference = _Notebook(REFERENCE, cells_of(course.assignment(stem).reference))
        expected = _look(zygote, rubric, reference, wanted, seed, oracle=True)
        with_oracle = [probe for probe in wanted if probe.oracle is not None]
        ordinary = _look(zygote, rubric, reference, with_oracle, seed) if with_oracle else {}
        others = [(notebook.name, _look(zygote, rubric, notebook, wanted, seed)) for notebook in notebooks]
    for probe in wanted:
        first = ORACLE if probe.name in ordinary else REFERENCE
        sides = [(first, expected), (REFERENCE, ordinary), *others]
        yield probe, {name: seen[probe.name] for name, seen in sides if probe.name in seen}


def _look(  # noqa: PLR0913 - the notebook, its probes, and the options of an observation
    zygote: Zygote,
    rubric: Rubric,
    notebook: _Notebook,
    probes: Sequence[Probe],
    seed: int,
    *,
    oracle: bool = False,
) -> dict[str, Seen]:
    names = {probe.name for probe in probes if notebook.question in {None, rubric.asks[probe.name]}}
    plan = _printing(rubric.plan(seed, only=notebook.question, oracle=oracle), names)
    evidence = observe(zygote, notebook.cells, plan, REFERENCE_LIMITS)
    functions = {question.id: question.function for question in rubric.questions}
    seen = {name: _seen(evidence, name, functions[rubric.asks[name]]) for name in names}
    return {name: replace(outcome, placed=notebook.placed) for name, outcome in seen.items()}


def _printing(plan: ProbePlan, names: Collection[str]) -> ProbePlan:
    """The plan with some probes only, which return what they print; nothing counts as a stub."""
    only = {
        function: tuple(
            replace(probe, source=probe.source + _PRINTING.format(name=probe.name))
            for probe in planned
            if probe.name in names
        )
        for function, planned in plan.probes.items()
    }
    return ProbePlan(dict.fromkeys(plan.stubs, "pass"), only)


def _seen(evidence: Evidence, probe: str, function: str) -> Seen:
    outcome = evidence.outcome(probe)
    if evidence.names.get(function) == "missing":
        failed = [FailedCell.of(cell).sentence for cell in evidence.cells]
        return Seen(NoFacts(" ".join([UNANSWERED["missing"].format(name=function), *failed])))
    if isinstance(outcome, NoFacts) and outcome.failure is Failure.NOT_REACHED and evidence.fault:
        return Seen(NoFacts(evidence.fault))
    match outcome:
        case {"facts": facts, "printed": [*printed]}:
            return Seen(facts, tuple("\n".join(map(str, printed)).splitlines()))
    return Seen(outcome)


def _answers(
    course: Course, rubric: Rubric, names: Sequence[str], questions: set[str]
) -> Iterator[_Notebook]:
    """The notebooks besides the reference, in the order of `names`."""
    path, stem = course.answers_file(rubric.stem), rubric.stem
    read = sorted(questions) if set(names) - {STUB} else []  # other answers may be wrong in any way
    answers = {answer.name: answer for question in read for answer in answers_of(course, stem, question)}
    for name in names:
        if name == STUB:
            yield _Notebook(STUB, cells_of(course.assignment(stem).handed_out))
        elif name in answers:
            answer = answers[name]
            yield _Notebook(name, answer.cells, answer.question, partial(answer.in_file, path=path))
        else:
            ids = " or ".join(sorted(questions))
            written = " that says TODO nowhere" if todos_in(path) else ""
            near = did_you_mean(name, {*answers, STUB})
            raise GraderError(f"{path} has no answer {terminal_text(name)} to {ids}{written}; {near}")


def _read_probes(assignment: Assignment, path: Path, names: Sequence[str]) -> Rubric:
    """A rubric with some probes and pictures only; checks and answers may be missing.

    Raises:
        GraderError: there is no such probe or picture; the text says which there are.
        CourseError: the file cannot be read, or a probe breaks a rule.
    """
    if not path.is_file():
        raise CourseError(f"{path} is missing: every assignment has its probes there")
    module = import_checks(path)
    defined = {**probes_defined(module), **pictures_defined(module)}
    for name in names:
        if name not in defined:
            raise GraderError(
                f"{path} has no probe or picture {terminal_text(name)}; {did_you_mean(name, defined)}"
            )
    probes = {name: defined[name] for name in names}
    questions, handed_out = assignment.questions, assignment.demonstrations
    asks = {name: question_of(probe, questions, handed_out) for name, probe in probes.items()}
    return Rubric(assignment.stem, path, questions, (), probes, asks)
