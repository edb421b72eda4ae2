"""Outside: the pytest plugin that gives checks what was seen and expected.

``pytest tests/hidden/test_01_leaves.py --submission some.ipynb`` judges that notebook, and without
``--submission`` the reference. ``grade`` runs the same checks over many notebooks in one session.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from grader.cases import names_of
from grader.errors import GraderError
from grader.live import LiveSubject, LiveSubjects
from grader.probe import probes_of

IS_A_BATCH = pytest.StashKey[bool]()
"""Set where whoever runs the checks hands them what was observed, so that nobody need be observed for it."""
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
    """Register the marker of ``@points``, and read what ``--submission`` names."""
    config.addinivalue_line("markers", "points(number): what a hidden check is worth")
    try:
        config.stash[_LIVE] = LiveSubjects(config.getoption("--submission"))
    except GraderError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let go of the worker processes, if any were started."""
    if _LIVE in config.stash:
        config.stash[_LIVE].close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every check of a check file for every subject; in a batch, whoever runs it sees to that."""
    if IS_A_BATCH in metafunc.config.stash:
        return
    if "submission" in metafunc.fixturenames and probes_of(metafunc.module):
        subjects = metafunc.config.stash[_LIVE].of(Path(metafunc.module.__file__ or ""))
        ids = [subject.id for subject in subjects]
        metafunc.parametrize("submission", subjects, ids=ids, scope="session", indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """Say which case a failed check was looking at."""
    try:
        return (yield)
    except AssertionError as error:
        case = names_of(error.__traceback__)
        if case:
            error.add_note(f"in the case {case.removesuffix(': ')}")
        raise


@pytest.fixture(scope="session")
def submission(request: pytest.FixtureRequest) -> LiveSubject | None:
    """The subject that is judged; probes' fixtures ask it for their facts. None in a batch."""
    subject: LiveSubject | None = getattr(request, "param", None)
    return subject
