"""Outside: what several test files share."""

import signal
import subprocess
import sys
from contextlib import nullcontext
from importlib.metadata import version
from types import SimpleNamespace

import pytest
from browser import browser, visit  # noqa: F401 - fixtures
from observing import COMPILED, SECRET
from tiny_class import TinyClass
from warm_runner import Server

from grader.course import pictures
from grader.doctor import examine as doctor
from grader.doctor import mutation_testing, try_answers
from grader.grading import executor
from grader.grading.executor import modules_to_preload
from grader.sandbox.zygote import Zygote
from grader.student import process

# jsonschema, which nbformat imports, would make grammars with it for a second and a half: for formats that no
# notebook has.
sys.modules.setdefault("rfc3987_syntax", None)

# Rewriting the asserts of all test files takes five seconds, in each process. So what comes of it is kept,
# also where a container forbids bytecode; while tests run, that is forbidden again.
FORBIDS_BYTECODE = sys.dont_write_bytecode
sys.dont_write_bytecode = False

# They begin first, those of the most processor time before the others, so that no core waits at the end for
# one of them.
SLOW = (
    *("test_attacks", "test_course", "test_sample_class", "test_environments", "test_in_jupyter"),
    *("test_dask_executor", "test_new", "test_release", "test_term_of_40", "test_fuzz", "test_resume"),
    *("test_student_watch", "test_observer", "test_doctor_memory", "test_author_mistakes", "test_doctor"),
    *("test_border", "test_06_views", "test_student_check", "test_contract_checks", "test_build"),
)


# The hidden checks of this assignment are called by pytest itself in every run, as an author has them called,
# those of the others in the long run: that no check fails its reference, `test_course.py` asks of all.
TRIED_BY_HAND = "test_06_views"


def pytest_collection_modifyitems(items):
    """The order in which files begin; `make test` gives each as a whole to a core that is free."""
    for item in items:
        if item.path.parent.name == "hidden" and item.path.stem != TRIED_BY_HAND:
            item.add_marker(pytest.mark.long)
    places = {name: place for place, name in enumerate(SLOW)}
    items.sort(key=lambda item: places.get(item.path.stem, len(SLOW)))


def pytest_report_header():
    """The version of torch that the tests run with."""
    return f"torch {version('torch')}"


def pytest_collection_finish():
    """From here on bytecode is written only where the environment allows it."""
    sys.dont_write_bytecode = FORBIDS_BYTECODE


@pytest.fixture(scope="session", autouse=True)
def _listens_to_ctrl_c():
    """A shell has jobs in the background ignore Ctrl-C, and programs that tests start would inherit that."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def zygote():
    """The one process of the whole test run that workers are forked from; its surroundings hold a secret."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_OF_THE_OUTSIDE", SECRET)
        preload = modules_to_preload(["torch.func.jvp"])
        with Zygote(preload=preload, released_cells=[COMPILED], starter_code=["def f(): ..."]) as started:
            yield started


def share(zygote, patch):
    """Let grading and the doctor use a zygote instead of starting their own, seconds each time."""
    for module in (doctor, pictures, mutation_testing, try_answers, executor):
        patch.setattr(module, "Zygote", lambda **_: nullcontext(zygote))
    return zygote


@pytest.fixture
def shared_zygote(zygote, monkeypatch):
    """The one zygote, which grading and the doctor use in this test."""
    return share(zygote, monkeypatch)


@pytest.fixture(scope="module")
def zygote_of_all(zygote):
    """The same for all tests of a module, and for its fixtures."""
    with pytest.MonkeyPatch.context() as patch:
        yield share(zygote, patch)


@pytest.fixture(scope="session")
def runner_server():
    """The one process of the whole test run that is forked for the notebooks of `warm_runners`."""
    started = Server("grader.student.runner_cells")
    yield started
    started.close()


@pytest.fixture
def warm_runners(runner_server, monkeypatch):
    """`check` and its like have torch at once, where a student waits until it is imported."""
    forking = SimpleNamespace(**{**vars(subprocess), "Popen": runner_server.popen})
    monkeypatch.setattr(process, "subprocess", forking)


@pytest.fixture
def klass(tmp_path, monkeypatch, shared_zygote):
    """A tiny course, which is the current one, and a class of which nobody has handed in yet."""
    klass = TinyClass(tmp_path)
    monkeypatch.chdir(klass.course)
    return klass


@pytest.fixture
def close_the_lab(monkeypatch):
    """A function after whose call no process can be started that runs students' code."""

    def started(*_, **__):
        raise AssertionError("a worker was asked for")

    return lambda: monkeypatch.setattr(Zygote, "worker", started)
