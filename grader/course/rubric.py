"""A rubric: the hidden checks and probes of an assignment, read from its check file."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FunctionType, ModuleType

from grader.checks.check import MAX_HINT, Check, points_of, title_and_hint
from grader.course.assignment import Question
from grader.course.author_file import todos_in, written_definitions
from grader.course.cause import cause_of
from grader.course.check_file import question_of, read_check_file
from grader.course.probes import PictureProbe, Probe, pictures_defined, probes_defined
from grader.errors import CourseError
from grader.sandbox.plan import PlannedProbe, ProbePlan, TimeLimits
from grader.scores import total
from grader.text import did_you_mean

REFERENCE_LIMITS = TimeLimits(cell=60, question=120, notebook=600)
_MOVES = 2  # a single one could move a number hardly at all, by chance


@dataclass(frozen=True)
class Rubric:
    """The content of a check file.

    Attributes:
        path: the check file.
        asks: the id of each probe's question.
        shows: the id of each picture's question.
        handed_out: the code cells that students get besides stubs.
        unwritten: the ids of questions of which a check, a probe or a picture says TODO.
    """

    stem: str
    path: Path
    questions: tuple[Question, ...]
    checks: tuple[Check, ...]
    probes: dict[str, Probe]
    asks: dict[str, str]
    pictures: dict[str, PictureProbe] = field(default_factory=dict)
    shows: dict[str, str] = field(default_factory=dict)
    handed_out: tuple[str, ...] = ()
    unwritten: frozenset[str] = frozenset()

    def checks_of(self, question: str) -> list[Check]:
        """The checks of a question, by its id."""
        return [check for check in self.checks if check.question == question]

    def with_only(self, questions: Collection[str]) -> Rubric:
        """The rubric of some questions only, by their ids."""
        asks = {name: question for name, question in self.asks.items() if question in questions}
        shows = {name: question for name, question in self.shows.items() if question in questions}
        return replace(
            self,
            questions=tuple(question for question in self.questions if question.id in questions),
            checks=tuple(check for check in self.checks if check.question in questions),
            probes={name: self.probes[name] for name in asks},
            asks=asks,
            pictures={name: self.pictures[name] for name in shows},
            shows=shows,
        )

    def max_score(self, question: str) -> float:
        """The sum of the points of a question's checks."""
        return total(check.points for check in self.checks_of(question))

    def plan(self, seed: int, *, only: str | None = None, oracle: bool = False) -> ProbePlan:
        """The probes of a notebook, on the inputs of a seed.

        Args:
            only: the id of a question, to leave out the probes of the others.
            oracle: True for what is expected: an oracle may replace the reference's answer, and how far its
                facts move is observed, too.
        """
        questions = [question for question in self.questions if only in {None, question.id}]
        functions = {question.id: question.function for question in questions}
        planned: dict[str, list[PlannedProbe]] = {question.function: [] for question in questions}
        questions_of = {**self.asks, **self.shows}
        for probe in [*self.probes.values(), *self.pictures.values()]:
            function = functions.get(questions_of[probe.name])
            if function is not None:
                planned[function].append(self._planned(probe, function, seed, oracle=oracle))
        return ProbePlan(
            stubs={question.function: question.stub for question in questions},
            probes={function: tuple(probes) for function, probes in planned.items()},
            handed_out=() if only else self.handed_out,  # a notebook for a question has only its cells
            moves=_MOVES if oracle else 0,
        )

    def _planned(self, probe: Probe, function: str, seed: int, *, oracle: bool) -> PlannedProbe:
        """A probe with its seed; one with an oracle runs in a worker of its own."""
        replaced = oracle and probe.oracle is not None
        return PlannedProbe(
            name=probe.name,
            source=probe.bundle(oracle=replaced),
            seed=probe.seed(seed, self.stem),
            seconds=probe.seconds,
            alone=probe.alone or replaced,
            oracle=(function, probe.oracle.name) if replaced and probe.oracle else None,
            picture=isinstance(probe, PictureProbe),
        )


def read_rubric(path: Path, questions: tuple[Question, ...], handed_out: tuple[str, ...] = ()) -> Rubric:
    """Read the check file of an assignment.

    Raises:
        CourseError: the file is missing, does not import, or breaks a rule of checks and probes.
    """
    if not path.is_file():
        raise CourseError(f"{path} is missing: every assignment has its hidden checks there")
    tree = read_check_file(path)
    module = import_checks(path)
    probes, pictures = probes_defined(module), pictures_defined(module)
    asks = {name: question_of(probe, questions, handed_out) for name, probe in probes.items()}
    shows = {name: question_of(picture, questions, handed_out) for name, picture in pictures.items()}
    tests = [f for name, f in vars(module).items() if name.startswith("test_") and inspect.isfunction(f)]
    checks = tuple(_check(test, asks, path) for test in tests)
    stem = path.stem.removeprefix("test_")
    rubric = Rubric(stem, path, questions, checks, probes, asks, pictures, shows, handed_out)
    if not todos_in(path):  # else a probe or a question may still wait for its check
        _require_use(rubric)
        return rubric
    written = {getattr(node, "name", "") for node in written_definitions(path, tree.body)}
    return replace(rubric, unwritten=frozenset(_unwritten(rubric, written)))


def _unwritten(rubric: Rubric, written: set[str]) -> Iterator[str]:
    """The ids of the questions with a check, or a part of a probe or a picture, that is not written."""
    yield from (check.question for check in rubric.checks if check.id not in written)
    of_question = {**rubric.asks, **rubric.shows}
    for probe in [*rubric.probes.values(), *rubric.pictures.values()]:
        parts = (part.name for part in probe.parts(oracle=True) if part.path == str(rubric.path))
        if not written.issuperset(parts):
            yield of_question[probe.name]


def _require_use(rubric: Rubric) -> None:
    """Refuse probes that no check judges, and questions without checks."""
    path, probes, checks = rubric.path, rubric.probes, rubric.checks
    unused = [name for name in probes if not any(name in check.probes for check in checks)]
    if unused:
        where = probes[unused[0]].source.where
        raise CourseError(f"{where}: no check judges the probe {unused[0]}; remove it or use it")
    for question in rubric.questions:
        if not any(check.question == question.id for check in checks):
            raise CourseError(f"{path}: question {question.id} ({question.function}) has no check")


def import_checks(path: Path) -> ModuleType:
    """Import a check file as pytest would, with its folder on the path, so that both share one module.

    Raises:
        CourseError: it raises an error, which its author has to mend.
    """
    folder = str(path.parent)
    sys.path[:] = [folder, *(entry for entry in sys.path if entry != folder)]
    for name in (path.stem, "inside"):  # another course's files of the same names
        loaded = sys.modules.get(name)
        if loaded is not None and Path(loaded.__file__ or "").parent != path.parent:
            del sys.modules[name]
    try:
        return importlib.import_module(path.stem)  # noqa: TID251 - the course's own check file
    except Exception as error:
        cause = str(cause_of(error, path.parent))
        names_file = cause.startswith(folder)
        raise CourseError(cause if names_file else f"{path} cannot be imported: {cause}") from error


def _check(test: FunctionType, asks: dict[str, str], path: Path) -> Check:
    used = tuple(inspect.signature(test).parameters)
    unknown = [name for name in used if name not in asks]
    where = f"{path}, line {test.__code__.co_firstlineno}: {test.__name__}"
    if unknown or not used:
        what = f"{unknown[0]}; {did_you_mean(unknown[0], asks)}" if unknown else "no probe"
        raise CourseError(f"{where} takes {what}; take probes of this file")
    questions = {asks[name] for name in used}
    if len(questions) > 1:
        raise CourseError(f"{where} judges probes of several questions; split it")
    title, hint = title_and_hint(test)
    if hint and len(hint) > MAX_HINT:
        raise CourseError(f"{where} has a hint of {len(hint)} characters; students read {MAX_HINT}")
    return Check(test.__name__, title, hint, points_of(test), questions.pop(), used)
