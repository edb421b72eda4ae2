"""The pytest plugin that gives checks the observed and the expected outcomes.

``pytest tests/hidden/test_01_leaves.py --submission some.ipynb`` judges that notebook, and without
``--submission`` the reference. ``grade`` calls the same checks over what it observed of a class (`judge.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from grader.contracts.cases import Case, ContractObservation
from grader.contracts.check import MARKERS, cases_of
from grader.contracts.finding import FailedCheckError
from grader.course.cause import available_observations
from grader.course.contract import contracts_defined
from grader.course.course import Course, observe_reference
from grader.errors import CourseError, GraderError
from grader.grading.broken_reference import broken_contracts
from grader.grading.executor import modules_to_preload
from grader.notebooks.reader import Cell, cells_of, read_notebook
from grader.sandbox.evidence import UNANSWERED, Evidence, NotObserved
from grader.sandbox.observer import observe
from grader.sandbox.zygote import Zygote

_SEED = 0  # a check run by hand is run again and again by its author: the same inputs every time


@dataclass
class LiveSubject:
    """A notebook, or the reference, observed when a check first needs an observation of it."""

    id: str
    cells: Sequence[Cell]
    stem: str
    course: Course
    processes: LiveSubjects

    def case(self, contract: str, number: int) -> Case:
        """A case of a contract, with the observations of this notebook and of the reference.

        Raises:
            pytest.fail.Exception: nothing was observed of one of them; the text has no traceback.
        """
        expected = self.processes.reference(self.course, self.stem)
        try:
            return self._observation(contract, expected).cases[number]
        except FailedCheckError as nothing:
            raise pytest.fail.Exception(str(nothing), pytrace=False) from None
        except CourseError as error:
            contracts = self.course.rubric(self.stem).contracts
            broken = "\n".join(broken_contracts(contracts, expected, [contract]))
            raise pytest.fail.Exception(broken or str(error), pytrace=False) from None

    def _observation(self, contract: str, expected: Evidence) -> ContractObservation:
        rubric = self.course.rubric(self.stem)
        function = next(q.function for q in rubric.questions if q.id == rubric.asks[contract])
        status = self._evidence.names.get(function, "missing")
        seen = self._evidence.outcome(contract)
        if status != "answered":
            seen = NotObserved(UNANSWERED[status].format(name=function))
        return rubric.contracts[contract].observation(seen, expected.outcome(contract))

    @cached_property
    def _evidence(self) -> Evidence:
        plan = self.course.rubric(self.stem).plan(_SEED)
        return observe(self.processes.zygote, self.cells, plan, self.course.settings.limits)


class LiveSubjects:
    """The subjects of a session, which are the reference without ``--submission``, and their zygote.

    Raises:
        NotebookError: a notebook cannot be read.
    """

    def __init__(self, notebooks: Sequence[Path]) -> None:
        self._notebooks = [(path, read_notebook(path)) for path in notebooks]
        self._stack = ExitStack()
        self._references: dict[Path, Evidence] = {}
        self._subjects: dict[Path, list[LiveSubject]] = {}

    def of(self, check_file: Path) -> list[LiveSubject]:
        """The subjects of a check file, which is read once, however many checks it has."""
        if check_file not in self._subjects:
            self._subjects[check_file] = self._read(check_file)
        return self._subjects[check_file]

    def _read(self, check_file: Path) -> list[LiveSubject]:
        stem = check_file.stem.removeprefix("test_")
        course = Course.find(check_file.parent).with_only(stem)
        if not self._notebooks:
            cells = cells_of(course.assignment(stem).reference)
            return [LiveSubject("reference", cells, stem, course, self)]
        return [LiveSubject(path.stem, read.cells, stem, course, self) for path, read in self._notebooks]

    def reference(self, course: Course, stem: str) -> Evidence:
        """The reference's evidence, observed once."""
        key = course.check_file(stem)
        if key not in self._references:
            self._references[key] = observe_reference(self.zygote, course, stem, _SEED)
        return self._references[key]

    @cached_property
    def zygote(self) -> Zygote:
        """The zygote, started when a check first needs an observation."""
        preload = modules_to_preload(
            cell.source for _, notebook in self._notebooks for cell in notebook.cells
        )
        return self._stack.enter_context(Zygote(preload=preload))

    def close(self) -> None:
        """End the zygote, if it was started."""
        self._stack.close()


_LIVE = pytest.StashKey[LiveSubjects]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--submission NOTEBOOK``."""
    parser.addoption(
        "--submission",
        action="append",
        default=[],
        type=Path,
        metavar="NOTEBOOK",
        help="judge this notebook (may be repeated); without it the hidden checks judge the reference",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of ``@points``, and read the notebook of ``--submission``."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    try:
        config.stash[_LIVE] = LiveSubjects(config.getoption("--submission"))
    except GraderError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the worker processes, if any were started."""
    if _LIVE in config.stash:
        config.stash[_LIVE].close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every check of a check file for every subject, in every case of its contract."""
    if "submission" in metafunc.fixturenames and contracts_defined(metafunc.module):
        try:
            subjects = metafunc.config.stash[_LIVE].of(Path(metafunc.module.__file__ or ""))
            _ = [subject.course.rubric(subject.stem) for subject in subjects]
        except GraderError as error:  # a file breaks a rule: said once, and not by a traceback for each check
            raise pytest.Collector.CollectError(str(error)) from None
        ids = [subject.id for subject in subjects]
        metafunc.parametrize("submission", subjects, ids=ids, scope="session", indirect=True)
        for name, contract in contracts_defined(metafunc.module).items():
            if name in metafunc.fixturenames:
                patterns = cases_of(metafunc.function)
                numbers = {
                    case.name: n for n, case in enumerate(contract.declared) if case.is_about(patterns)
                }
                metafunc.parametrize(name, numbers.values(), ids=numbers, scope="session", indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Add the available observations to the error of a broken check."""
    try:
        return (yield)
    except AssertionError:
        raise
    except Exception as error:
        available = available_observations(error, pyfuncitem.path.parent)
        if available:
            error.add_note(available)
        raise


@pytest.fixture(scope="session")
def submission(request: pytest.FixtureRequest) -> LiveSubject:
    """The subject that is judged; contracts' fixtures ask it for their observations."""
    subject: LiveSubject = request.param
    return subject
