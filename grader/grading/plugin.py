"""The pytest plugin that gives checks what was seen and expected.

``pytest tests/hidden/test_01_leaves.py --submission some.ipynb`` judges that notebook, and without
``--submission`` the reference. ``grade`` runs the same checks over many notebooks in one session.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

from grader.checks.cases import names_of
from grader.course.cause import available_facts
from grader.course.names import MASTER
from grader.course.probes import probes_defined
from grader.course.rubric import import_checks
from grader.course.unfinished import blanks_of, is_whole
from grader.errors import CourseError, GraderError
from grader.grading.broken_probe import broken_probes
from grader.grading.live import LiveSubject, LiveSubjects

IS_A_BATCH = pytest.StashKey[bool]()
"""Set where whoever runs the checks hands them what was observed, so that nobody need be observed for it."""
_LIVE = pytest.StashKey[LiveSubjects]()
_LEFT_OUT = pytest.StashKey[list[str]]()


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
    """Register the marker of ``@points``, and read what ``--submission`` names."""
    config.addinivalue_line("markers", "points(number): what a hidden check is worth")
    config.stash[_LEFT_OUT] = []
    try:
        config.stash[_LIVE] = LiveSubjects(config.getoption("--submission"))
    except GraderError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let go of the worker processes, if any were started."""
    if _LIVE in config.stash:
        config.stash[_LIVE].close()


class _PartlyBlank(pytest.Module):
    """A check file with blanks; collected is what has none."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Import it without its blanks, before pytest would with them."""
        try:
            import_checks(self.path)
        except CourseError as error:
            raise self.CollectError(str(error)) from None
        return super().collect()


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Of a check file that is being written, collect what is filled in, and say that there is more."""
    root, stem = module_path.parent.parent.parent, module_path.stem.removeprefix("test_")
    if not (root / MASTER.format(stem)).is_file() or is_whole(module_path):
        return None
    blanks = blanks_of(root, stem)
    parent.config.stash[_LEFT_OUT].append(f"{stem} still has {len(blanks)} blanks, left out: {blanks[0]}")
    module: pytest.Module = _PartlyBlank.from_parent(parent, path=module_path)
    return module


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Where the blanks are of what was left out."""
    return config.stash[_LEFT_OUT]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every check of a check file for every subject; in a batch, whoever runs it sees to that."""
    if IS_A_BATCH in metafunc.config.stash:
        return
    if "submission" in metafunc.fixturenames and probes_defined(metafunc.module):
        try:
            subjects = metafunc.config.stash[_LIVE].of(Path(metafunc.module.__file__ or ""))
            _ = [subject.course.rubric(subject.stem) for subject in subjects]
        except GraderError as error:  # a file breaks a rule: told once, and not by a traceback for each check
            raise pytest.Collector.CollectError(str(error)) from None
        ids = [subject.id for subject in subjects]
        metafunc.parametrize("submission", subjects, ids=ids, scope="session", indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Say which case a failed check was looking at, and of one that breaks, what there is instead."""
    try:
        return (yield)
    except AssertionError as error:
        case = names_of(error.__traceback__)
        if case:
            error.add_note(f"in the case {case.removesuffix(': ')}")
        raise
    except CourseError as error:
        raise pytest.fail.Exception(_told_of_probes(pyfuncitem) or str(error), pytrace=False) from None
    except Exception as error:
        there = available_facts(error, pyfuncitem.path.parent)
        if there:
            error.add_note(there)
        raise


def _told_of_probes(check: pytest.Function) -> str:
    """Why probes that a check takes have no facts of the reference, with their lines."""
    subject = check.funcargs.get("submission")
    if not isinstance(subject, LiveSubject):
        return ""
    probes = subject.course.rubric(subject.stem).probes
    reference = subject.processes.reference(subject.course, subject.stem)
    return "\n".join(broken_probes(probes, reference, [name for name in probes if name in check.funcargs]))


@pytest.fixture(scope="session")
def submission(request: pytest.FixtureRequest) -> LiveSubject | None:
    """The subject that is judged; probes' fixtures ask it for their facts. None in a batch."""
    subject: LiveSubject | None = getattr(request, "param", None)
    return subject
