"""Fixtures that several test files share."""

import signal
import subprocess
import sys
from contextlib import nullcontext
from importlib.metadata import version
from types import SimpleNamespace

import pytest
from browser import browser, visit  # noqa: F401 - fixtures
from observing import SECRET
from tiny_class import TinyClass
from warm_runner import Server

from grader.course import pictures
from grader.doctor import examine as doctor
from grader.doctor import mutation_testing, try_answers
from grader.grading import executor
from grader.grading.executor import modules_to_preload
from grader.sandbox.zygote import Zygote
from grader.student import process

# nbformat imports jsonschema, which would compile grammars with this package for a second and a half, for
# formats that no notebook uses.
sys.modules.setdefault("rfc3987_syntax", None)

# Rewriting the asserts of all test files takes five seconds in each process. So the bytecode is cached, even
# if a container forbids bytecode; while tests run, the environment's setting applies again.
FORBIDS_BYTECODE = sys.dont_write_bytecode
sys.dont_write_bytecode = False

# These files start first, in the order of their processor time, so that no core is idle at the end.
SLOW = (
    *("test_attacks", "test_course", "test_sample_class", "test_environments", "test_in_jupyter"),
    *("test_dask_executor", "test_new", "test_release", "test_term_of_40", "test_fuzz", "test_resume"),
    *("test_student_watch", "test_observer", "test_doctor_memory", "test_author_mistakes", "test_doctor"),
    *("test_border", "test_06_views", "test_student_check", "test_contract_checks", "test_build"),
)


# In every run pytest calls the hidden checks of this assignment directly, as an author does; those of the
# other assignments only in the long run. `test_course.py` verifies that no check fails its reference.
TRIED_BY_HAND = "test_06_views"


def pytest_collection_modifyitems(items):
    """Sort test files so that slow ones start first; `make test` runs each file in one process."""
    for item in items:
        if item.path.parent.name == "hidden" and item.path.stem != TRIED_BY_HAND:
            item.add_marker(pytest.mark.long)
    places = {name: place for place, name in enumerate(SLOW)}
    items.sort(key=lambda item: places.get(item.path.stem, len(SLOW)))


def pytest_report_header():
    """The version of torch that the tests run with."""
    return f"torch {version('torch')}"


def pytest_collection_finish():
    """Write bytecode from here on only if the environment allows it."""
    sys.dont_write_bytecode = FORBIDS_BYTECODE


@pytest.fixture(scope="session", autouse=True)
def _listens_to_ctrl_c():
    """Handle Ctrl-C: shells make background jobs ignore it, and programs that tests start inherit that."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def zygote():
    """The only zygote of the test run; its environment contains a secret."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_OF_THE_OUTSIDE", SECRET)
        preload = modules_to_preload(["torch.func.jvp"])
        with Zygote(preload=preload) as started:
            yield started


def share(zygote, patch):
    """Let grading and the doctor use a zygote instead of starting their own, which takes seconds."""
    for module in (doctor, pictures, mutation_testing, try_answers, executor):
        patch.setattr(module, "Zygote", lambda **_: nullcontext(zygote))
    return zygote


@pytest.fixture
def shared_zygote(zygote, monkeypatch):
    """The zygote of the test run, which grading and the doctor use in this test."""
    return share(zygote, monkeypatch)


@pytest.fixture(scope="module")
def zygote_of_all(zygote):
    """The same for all tests and fixtures of a module."""
    with pytest.MonkeyPatch.context() as patch:
        yield share(zygote, patch)


@pytest.fixture(scope="session")
def runner_server():
    """The only process of the test run that is forked for the notebooks of `warm_runners`."""
    started = Server("grader.student.runner_cells")
    yield started
    started.close()


@pytest.fixture(scope="module")
def warm_ipython():
    """Starts Pythons that have imported IPython and torch, in which kernels begin."""
    started = Server("IPython.core.interactiveshell", "torch")
    yield started.popen
    started.close()


@pytest.fixture
def warm_runners(runner_server, monkeypatch):
    """Let `check` and similar commands start with torch imported, for which a student waits."""
    forking = SimpleNamespace(**{**vars(subprocess), "Popen": runner_server.popen})
    monkeypatch.setattr(process, "subprocess", forking)


@pytest.fixture
def klass(tmp_path, monkeypatch, shared_zygote):
    """A tiny course in the current folder, and a class without submissions."""
    klass = TinyClass(tmp_path)
    monkeypatch.chdir(klass.course)
    return klass


@pytest.fixture
def close_the_lab(monkeypatch):
    """A function that makes every later start of a worker fail."""

    def started(*_, **__):
        raise AssertionError("a worker was asked for")

    return lambda: monkeypatch.setattr(Zygote, "worker", started)
