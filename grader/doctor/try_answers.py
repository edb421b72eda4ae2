"""Observes the reference and known answers in a few contracts and pictures, and shows an author the result.

`try` sends its own `print` with a contract, so that the output is part of the observation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from grader.contracts.blame import case_to_report
from grader.contracts.cases import beside_each_other
from grader.contracts.finding import FailedCheckError, diagnosis_and_hint
from grader.course.assignment import Assignment
from grader.course.author_file import todos_in
from grader.course.contract import Contract, contracts_defined
from grader.course.course import Course
from grader.course.rubric import REFERENCE_LIMITS, Rubric, checks_of, import_checks, question_of
from grader.course.worker_code import WorkerCode, pictures_defined
from grader.doctor.known_answers import REFERENCE, answers_of
from grader.errors import CourseError, GraderError
from grader.grading.broken_reference import error_inside, place_inside
from grader.grading.executor import modules_of_answers
from grader.grading.judge import explained, failed_cases
from grader.graphs.diagram import diagram_of, operation
from grader.graphs.model import Graph, Named, read_graph
from grader.graphs.picture import summary
from grader.notebooks.reader import Cell, cells_of
from grader.reports.observations import only_changes, side_by_side
from grader.sandbox.evidence import (
    UNANSWERED,
    Evidence,
    FailedCell,
    Failure,
    NotObserved,
    RequestOutcome,
    RequestRaised,
)
from grader.sandbox.observer import observe
from grader.sandbox.plan import ObservationPlan
from grader.sandbox.values import Raised
from grader.sandbox.zygote import Zygote
from grader.text import did_you_mean, printable, terminal_text

STUB = "stub"

#: Added to the code that is sent, so that it also returns its output.
_PRINTING = """

_printed, _silent = [], {name}


def print(*values, sep=" ", end="", file=None, flush=False):
    _printed.append(sep.join(map(str, values)) + end)


def {name}(student):
    returned = attempt(_silent, student)
    return {{"returned": returned, "printed": _printed[:50]}}
"""


@dataclass(frozen=True)
class Seen:
    """The outcome of a contract or a picture for a notebook, and the lines it printed.

    `placed` replaces a known answer's cell by its line in the file, in a sentence.
    """

    outcome: RequestOutcome
    printed: tuple[str, ...] = ()
    placed: Callable[[str], str] = str


@dataclass(frozen=True)
class _Notebook:
    """A notebook to observe, and the question it answers; None for all."""

    name: str
    cells: Sequence[Cell]
    question: str | None = None
    placed: Callable[[str], str] = str


def observed(
    course: Course, stem: str, names: Sequence[str], answers: Sequence[str] = (), seed: int = 0
) -> tuple[Rubric, dict[str, dict[str, Seen]]]:
    """Observe the reference and other answers in contracts and pictures of an assignment, by name.

    `answers` are names of known answers, or ``"stub"`` for the starter code.

    Returns:
        The rubric of these contracts; and by name the outcomes by notebook, first the reference's.

    Raises:
        GraderError: there is no such assignment, contract or answer; the text says which there are.
        CourseError: a file of the assignment is wrong.
    """
    course.select([stem])
    course = course.with_only(stem)
    rubric = _read_contracts(course.assignments[stem], course.check_file(stem), names)
    asks = {**rubric.asks, **rubric.shows}
    notebooks = [*_answers(course, rubric, answers, {asks[name] for name in names})]
    with Zygote(preload=modules_of_answers(course, [stem])) as zygote:
        reference = _Notebook(REFERENCE, cells_of(course.assignment(stem).reference))
        expected = _look(zygote, rubric, reference, seed)
        others = [(notebook.name, _look(zygote, rubric, notebook, seed)) for notebook in notebooks]
    sides = [(REFERENCE, expected), *others]
    return rubric, {name: {side: seen[name] for side, seen in sides if name in seen} for name in names}


def _look(zygote: Zygote, rubric: Rubric, notebook: _Notebook, seed: int) -> dict[str, Seen]:
    plan = rubric.plan(seed, only=notebook.question)
    asks = {**rubric.asks, **rubric.shows}
    requests = {
        function: tuple(
            replace(r, source=r.source + _PRINTING.format(name=r.name), picture=False) for r in of_function
        )
        for function, of_function in plan.requests.items()
    }
    # With other starter code in the plan, the starter code is observed like an answer.
    plan = ObservationPlan(dict.fromkeys(plan.starter_code, "pass"), requests)
    evidence = observe(zygote, notebook.cells, plan, REFERENCE_LIMITS)
    functions = {question.id: question.function for question in rubric.questions}
    seen = {
        name: _seen(evidence, name, functions[question])
        for name, question in asks.items()
        if notebook.question in {None, question}
    }
    return {name: replace(outcome, placed=notebook.placed) for name, outcome in seen.items()}


def _seen(evidence: Evidence, name: str, function: str) -> Seen:
    outcome = evidence.outcome(name)
    if evidence.names.get(function) == "missing":
        failed = [FailedCell.of(cell).sentence for cell in evidence.cells]
        return Seen(NotObserved(" ".join([UNANSWERED["missing"].format(name=function), *failed])))
    if isinstance(outcome, NotObserved) and outcome.failure is Failure.NOT_REACHED and evidence.fault:
        return Seen(NotObserved(evidence.fault))
    match outcome:
        case {"returned": returned, "printed": [*printed]}:
            return Seen(returned, tuple("\n".join(map(str, printed)).splitlines()))
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
            yield _Notebook(STUB, cells_of(course.assignment(stem).released_cells))
        elif name in answers:
            answer = answers[name]
            yield _Notebook(name, answer.cells, answer.question, partial(answer.in_file, path=path))
        else:
            ids = " or ".join(sorted(questions))
            written = " that says TODO nowhere" if todos_in(path) else ""
            near = did_you_mean(name, {*answers, STUB})
            raise GraderError(f"{path} has no answer {terminal_text(name)} to {ids}{written}; {near}")


def _read_contracts(assignment: Assignment, path: Path, names: Sequence[str]) -> Rubric:
    """A rubric with some contracts, their checks, and pictures; checks and answers may be missing.

    Raises:
        GraderError: there is no such contract or picture; the text says which there are.
        CourseError: the file cannot be read, or a contract breaks a rule.
    """
    if not path.is_file():
        raise CourseError(f"{path} is missing: every assignment has its contracts there")
    module = import_checks(path)
    contracts, pictures = contracts_defined(module), pictures_defined(module)
    for name in names:
        if name not in {**contracts, **pictures}:
            near = did_you_mean(name, {**contracts, **pictures})
            raise GraderError(f"{path} has no contract or picture {terminal_text(name)}; {near}")
    contracts = {name: contracts[name] for name in names if name in contracts}
    pictures = {name: pictures[name] for name in names if name in pictures}
    questions, others = assignment.questions, assignment.demonstrations
    asks = {name: question_of(contract, questions, others) for name, contract in contracts.items()}
    shows = {name: question_of(picture, questions, others) for name, picture in pictures.items()}
    checks = checks_of(module, contracts, asks, path)
    return Rubric(assignment.stem, path, questions, tuple(checks), contracts, asks, pictures, shows)


# --- as lines for a terminal


def lines_of(rubric: Rubric, name: str, seen: Mapping[str, Seen], case: int | None = None) -> Iterator[str]:
    """The output of a contract, reasons why notebooks were not observed, and the observations of the others.

    In `seen`, by notebook, the first is the expected outcome. For a contract, the lines show the observations
    of a `case` or, without one, its cases and those that each notebook fails.

    Raises:
        GraderError: there is no such case.
    """
    code: WorkerCode = rubric.contracts.get(name) or rubric.pictures[name]
    if case is not None and not isinstance(code, Contract):
        raise GraderError(f"--case has no effect for {code.name}, which is not a contract: remove --case")
    printed = {notebook: of_notebook.printed for notebook, of_notebook in seen.items()}
    if len(set(printed.values())) == 1:  # lines that are equal for all notebooks stand once
        printed = {"": next(iter(printed.values()))}
    for notebook, lines in printed.items():
        who = f"{notebook} " if notebook else ""
        yield from (printable(f"{code.name}    {who}prints  {line}") for line in lines)
    outcomes: dict[str, Any] = {}
    for notebook, of_notebook in seen.items():
        match of_notebook.outcome:
            case NotObserved(reason):
                why = f"has no observations: {reason}"
            case RequestRaised(error) | (Raised() as error):
                why = f"stops: {place_inside(code, error)} raised {error_inside(error)}"
            case outcome:
                outcomes[notebook] = outcome
                continue
        yield printable(f"{code.name}    {notebook} {of_notebook.placed(why)}")
    if REFERENCE not in outcomes:  # there is nothing to compare with
        return
    if isinstance(code, Contract):
        of_cases = _cases_of(rubric, code, outcomes) if case is None else _one_case(code, outcomes, case)
        yield from map(printable, of_cases)
    else:
        yield from map(printable, picture_lines(code.name, outcomes))


def _cases_of(rubric: Rubric, contract: Contract, outcomes: Mapping[str, Any]) -> Iterator[str]:
    """The cases of a contract, and those that each notebook fails, with the findings."""
    cases = contract.declared
    yield f"{contract.name}    {len(cases)} cases"
    yield from (f"{number:>6}  {case.name}" for number, case in enumerate(cases))
    expected, *others = outcomes.values()
    for notebook, seen in zip([*outcomes][1:], others, strict=True):
        contracted = contract.observation(seen, expected)
        try:
            found = failed_cases(rubric, contracted)
        except (CourseError, FailedCheckError) as error:
            yield f"{contract.name}    {notebook}: {error}"
            continue
        which = f", first of all case {case_to_report(contracted.cases, found)}" if found else ""
        yield f"{contract.name}    {notebook} fails {len(found)} of {len(cases)} cases{which}"
        for number, failed in found.items():
            yield f"{number:>6}  {diagnosis_and_hint(str(explained(failed)))[0]}"


def _one_case(contract: Contract, outcomes: Mapping[str, Any], number: int) -> Iterator[str]:
    """The observations of a case side by side."""
    cases = contract.declared
    if not 0 <= number < len(cases):
        raise GraderError(
            f"{contract.name} has no case {number}: its cases have the numbers 0 to {len(cases) - 1}"
        )
    yield f"{contract.name}    case {number}: {cases[number].name}"
    of_case = {
        notebook: seen[number]
        for notebook, seen in outcomes.items()
        if isinstance(seen, list) and number < len(seen) and isinstance(seen[number], dict)
    }
    whole = {notebook: only_changes(seen) for notebook, seen in beside_each_other(of_case).items()}
    yield from side_by_side(contract.name, whole)


def picture_lines(name: str, outcomes: Mapping[str, Any]) -> Iterator[str]:
    """The sentence below each picture, whether all pictures are alike, and the named tensors.

    In `outcomes`, by notebook, the others are compared with the first.
    """
    read = {notebook: read_graph(outcome) for notebook, outcome in outcomes.items()}
    graphs = {notebook: graph for notebook, graph in read.items() if graph is not None}
    for notebook in read.keys() - graphs.keys():
        yield f"{name}    {notebook} has no picture: its result is not that of graph(...)"
    diagrams = {notebook: diagram_of(graph) for notebook, graph in graphs.items()}
    for number, (notebook, graph) in enumerate(graphs.items()):
        verdict = "   equal" if diagrams[notebook] == next(iter(diagrams.values())) else "   differs"
        yield f"{name}    {notebook}: {summary(graph)}{verdict if number else ''}"
    if graphs:
        tensors = {
            notebook: {tensor.name: ", ".join(_properties(graph, tensor)) for tensor in graph.tensors}
            for notebook, graph in graphs.items()
        }
        yield from side_by_side(name, tensors)


def _properties(graph: Graph, tensor: Named) -> Iterator[str]:
    """The properties of a tensor that a picture shows."""
    yield tensor.shape
    made_by = None if tensor.made_by is None else operation(graph.nodes[tensor.made_by].op)
    yield "leaf" if tensor.leaf else f"made by {made_by or 'a node that is not shown'}"
    yield "requires grad" if tensor.requires_grad else "requires no grad"
    yield "an inference tensor" if tensor.version is None else f"version {tensor.version}"
    if tensor.grad:
        yield "has a .grad"
    if tensor.same is not None:
        yield f"the object of {graph.tensors[tensor.same].name}"
