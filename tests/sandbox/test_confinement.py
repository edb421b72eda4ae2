"""What the sandbox holds back and what it lets through, tried in forked children of fresh processes."""

import contextlib
import fcntl
import importlib
import os
import pathlib
import resource
import select
import shutil
import signal
import sys
import sysconfig
import tempfile
import threading
import time
from dataclasses import replace

import pytest
from sandboxed import order_to_call, run_in_sandbox, run_preflight, start_zygote

from grader.sandbox.worker import access, seccomp, syscalls
from grader.sandbox.worker.access import readable_paths
from grader.sandbox.worker.confinement import Sandbox, SandboxError

pytestmark = pytest.mark.skipif(syscalls.machine() is None, reason="the sandbox needs 64-bit Linux")
needs_landlock = pytest.mark.skipif(
    access.landlock_version() == 0, reason="this kernel or container has no Landlock"
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
BOTH = pytest.mark.parametrize("with_landlock", [pytest.param(True, marks=needs_landlock), False])
ORDINARY_USER = 12345
NOBODY = "65534"
FIRST_OWN_USER = 0x70000000


@pytest.fixture
def place():
    """A folder that every user can reach (pytest's own belong to one user)."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sandbox-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


# The preflight


@BOTH
def test_the_preflight_finds_nothing(place, with_landlock):
    assert run_preflight(place, landlock=with_landlock) == []


@needs_root
@BOTH
def test_the_preflight_finds_nothing_for_an_ordinary_user(place, with_landlock):
    """The sandbox needs no privileges, and protects a grader of the same user."""
    library = place / "library"
    library.mkdir()
    # Where Python lies below /root, this user could not read its library even without a sandbox.
    shutil.copy(pathlib.Path(sysconfig.get_path("stdlib"), "colorsys.py"), library)
    assert run_preflight(place, landlock=with_landlock, uid=ORDINARY_USER, extra=[str(library)]) == []


@needs_landlock
@pytest.mark.parametrize("version", range(1, min(access.landlock_version(), 7) + 1))
def test_older_versions_of_landlock_hold(place, version):
    """What an older Landlock does not cover, the filter does."""
    assert run_preflight(place, landlock_version=version) == []


@needs_root
def test_the_preflight_notices_a_missing_sandbox(place):
    """Each attack succeeds where there is nothing to stop it, so none is vacuous."""
    through = run_preflight(place, sandbox=False)
    assert {"read a file of the project", "fork", "start a program", "remain root", "raise a limit"} < {
        *through
    }
    assert len(through) >= 25


# Files


def import_lazily(place):
    names = ("colorsys", "_lsprof")
    before = [name in sys.modules for name in names]
    return [*before, *(importlib.import_module(name).__name__ for name in names)]


@needs_landlock
def test_a_module_can_be_imported_lazily(place):
    """Python's library stays readable, its compiled modules too."""
    assert run_in_sandbox(import_lazily, place).answer == [False, False, "colorsys", "_lsprof"]


def test_a_sealed_import_says_what_is_missing(place):
    """Where nothing can be opened, a module that was not loaded before is simply not found."""
    outcome = run_in_sandbox(import_lazily, place, landlock=False)
    assert (outcome.protection, outcome.raised) == ("sealed seccomp", "ModuleNotFoundError")


def use_the_devices(place):
    null = pathlib.Path("/dev/null")
    with pathlib.Path("/dev/urandom").open("rb") as noise:
        return [null.write_text("away"), null.read_text(), len(noise.read(4))]


@needs_landlock
def test_devices_every_program_expects_are_there(place):
    """/dev/null can be read and written, /dev/urandom read."""
    assert run_in_sandbox(use_the_devices, place).answer == [4, "", 4]


def change_files(place):
    folder = pathlib.Path(place, "library")
    file = folder / "module.py"
    attempts = {
        "read": file.read_text,
        "write": lambda: os.open(file, os.O_WRONLY),
        "append": lambda: os.open(file, os.O_WRONLY | os.O_APPEND),
        "truncate": lambda: os.open(file, os.O_RDONLY | os.O_TRUNC),
        "truncate oddly": lambda: os.open(file, os.O_ACCMODE | os.O_TRUNC),
        "open oddly": lambda: os.open(file, os.O_ACCMODE),
        "create": lambda: os.open(folder / "new", os.O_WRONLY | os.O_CREAT),
        "hidden": lambda: os.open(folder, os.O_RDWR | os.O_TMPFILE),
        "mkdir": (folder / "new").mkdir,
        "unlink": file.unlink,
        "rename": lambda: file.rename(folder / "new"),
        "symlink": lambda: (folder / "new").symlink_to(file),
        "hardlink": lambda: (folder / "new").hardlink_to(file),
        "chmod": lambda: file.chmod(0o777),
        "utime": lambda: os.utime(file),
        "resize": lambda: os.truncate(file, 0),
    }
    allowed = []
    for name, attempt in attempts.items():
        with contextlib.suppress(PermissionError):
            attempt()
            allowed.append(name)
    return allowed


@needs_landlock
@pytest.mark.parametrize("version", [1, access.landlock_version()])
def test_what_is_readable_cannot_be_changed(place, version):
    """A readable file that its owner left open to everybody keeps its content, name and mode."""
    library = place / "library"
    library.mkdir()
    library.chmod(0o777)
    (library / "module.py").write_text("answer = 1")
    (library / "module.py").chmod(0o666)
    outcome = run_in_sandbox(change_files, place, extra=[str(library)], landlock_version=version)
    assert outcome.answer == ["read"]
    assert [(file.name, file.read_text()) for file in library.iterdir()] == [("module.py", "answer = 1")]


def test_readable_paths_show_no_project():
    """Installed packages are named, the folders above them and this project are not."""
    paths = [pathlib.Path(path) for path in readable_paths()]
    project = pathlib.Path(__file__).resolve().parents[2]
    assert pathlib.Path(sysconfig.get_path("purelib")) in paths
    assert all(path.exists() for path in paths)
    for private in (project, project / "tests", pathlib.Path(sys.prefix), pathlib.Path.home()):
        assert not any(private.is_relative_to(path) for path in paths), private


# Root


@pytest.fixture
def private_home(place):
    """A library below a folder that only root may enter, as Python below /root is."""
    library = place / "home" / "library"
    library.mkdir(parents=True)
    (library / "private_answers.py").write_text("ANSWER = 42")
    library.parent.chmod(0o700)
    return library


def import_from_home(place):
    sys.path.insert(0, place + "/home/library")
    return importlib.import_module("private_answers").ANSWER


@needs_root
@needs_landlock
@pytest.mark.parametrize(("without_read_search", "kept"), [(False, 1 << 2), (True, 1 << 1)])
def test_root_keeps_one_capability_for_a_private_home(place, private_home, without_read_search, kept):
    """Nobody can import from below a 0700 folder, by CAP_DAC_READ_SEARCH or what a container's root has."""
    outcome = run_in_sandbox(
        import_from_home, place, extra=[str(private_home)], without_read_search=without_read_search
    )
    assert outcome.answer == 42
    assert {int(outcome.process[name], 16) for name in ("CapPrm", "CapEff")} == {kept}
    assert {int(outcome.process[name], 16) for name in ("CapInh", "CapAmb")} == {0}


def nothing(place):
    return None


@needs_root
def test_sealed_root_keeps_no_capability(place, private_home):
    """Where nothing can be opened anyway no capability is worth keeping."""
    process = run_in_sandbox(nothing, place, extra=[str(private_home)], landlock=False).process
    assert {int(process[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {0}


@needs_root
@BOTH
def test_root_becomes_a_user_of_its_own(place, with_landlock):
    """All four uids and gids belong to this process alone, no group is left, and nothing can be gained."""
    process = run_in_sandbox(nothing, place, landlock=with_landlock, groups=[4, 27]).process
    own = str(FIRST_OWN_USER + int(process["Pid"]))
    assert set(process["Uid"].split()) == set(process["Gid"].split()) == {own}
    assert process["Groups"] == ""
    assert (process["NoNewPrivs"], process["Seccomp"]) == ("1", "2")


@needs_root
def test_root_becomes_nobody_where_there_are_few_users(place):
    """A container that has some thousand users only still has nobody, whom its workers then share."""
    process = run_in_sandbox(nothing, place, few_users=True).process
    assert set(process["Uid"].split()) == set(process["Gid"].split()) == {NOBODY}


def start_threads(place, *pipe):
    threading.stack_size(1 << 16)
    started = 0
    with contextlib.suppress(RuntimeError):
        while started < 500:
            threading.Thread(target=time.sleep, args=[60], daemon=True).start()
            started += 1
    for end in pipe:
        os.write(end, b"full")
        time.sleep(60)
    return started


@needs_root
def test_threads_are_counted_for_each_worker(place):
    """Limits on threads are a worker's own: one that holds all it can get takes nothing from the next."""
    reading, writing = os.pipe()
    with start_zygote(order_to_call(start_threads, place), keep=(writing,)) as zygote:
        os.close(writing)
        assert os.read(reading, 4) == b"full"
        assert run_in_sandbox(start_threads, place).answer == 127
        zygote.kill()
    os.close(reading)


def test_a_worker_goes_first_when_memory_runs_out(place):
    assert run_in_sandbox(nothing, place).oom_score_adj == 1000


@needs_root
@BOTH
def test_an_ordinary_user_stays_closed_to_debuggers(place, with_landlock):
    """Memory of a sandboxed child belongs to root, so that no process of the same user can look into it."""
    process = run_in_sandbox(nothing, place, landlock=with_landlock, uid=ORDINARY_USER).process
    assert process["Uid"].split() == [str(ORDINARY_USER)] * 4
    assert (process["owner"], process["NoNewPrivs"], process["Seccomp"]) == ("0", "1", "2")


# Descriptors and limits


def open_descriptors(place):
    found = []
    for descriptor in range(1024):
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_GETFD)
            found.append(descriptor)
    return found


@pytest.mark.parametrize("options", [{}, {"landlock": False}, {"sandbox": False}])
def test_no_descriptor_is_inherited(place, options):
    """Only what the caller keeps is open, the ruleset's descriptor included, with and without a sandbox."""
    outcome = run_in_sandbox(open_descriptors, place, **options)
    assert outcome.answer == sorted(outcome.kept)


def spin(place):
    while True:
        pass


def spin_on(place):
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    while True:
        pass


@pytest.mark.parametrize(("function", "death"), [(spin, signal.SIGXCPU), (spin_on, signal.SIGKILL)])
def test_endless_computing_is_killed(place, function, death):
    """The processor limit ends a loop, a second later also one that ignores the signal."""
    assert run_in_sandbox(function, place, cpu_seconds=1).signal == death


def read_and_raise_limits(place):
    names = ("CORE", "FSIZE", "MEMLOCK", "MSGQUEUE", "NOFILE", "NPROC", "CPU")
    limits = {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name))[0] for name in names}
    try:
        resource.setrlimit(resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU))
    except ValueError as error:
        return {**limits, "setting": str(error)}


def test_limits_are_set_and_stay(place):
    """Every limit is in force, and not even the same one can be set again."""
    limits = run_in_sandbox(read_and_raise_limits, place, cpu_seconds=7).answer
    assert limits.pop("setting") == "not allowed to raise maximum limit"
    zero = dict.fromkeys(("CORE", "FSIZE", "MEMLOCK", "MSGQUEUE"), 0)
    assert limits == zero | {"NOFILE": 64, "NPROC": 128 if os.geteuid() == 0 else 8192, "CPU": 7}


def say_so_and_sleep(place, pipe):
    os.write(pipe, b"in")
    time.sleep(60)


def test_a_child_dies_with_its_zygote(place):
    reading, writing = os.pipe()
    with start_zygote(order_to_call(say_so_and_sleep, place), keep=(writing,)) as zygote:
        os.close(writing)
        assert os.read(reading, 2) == b"in"
        zygote.kill()
    assert select.select([reading], [], [], 20)[0]
    assert os.read(reading, 1) == b""
    os.close(reading)


# Processes, signals, network


def live_an_ordinary_life(place):
    done = []
    signal.signal(signal.SIGALRM, lambda *_: done.append("alarm"))
    signal.signal(signal.SIGUSR1, lambda *_: done.append("own signal"))
    thread = threading.Thread(target=done.append, args=["thread"])
    thread.start()
    thread.join()
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    while "alarm" not in done:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.raise_signal(signal.SIGUSR1)
    signal.alarm(5)
    return [*done, signal.alarm(0), time.thread_time() >= 0, os.uname().sysname]


@BOTH
def test_what_a_notebook_is_made_of_works(place, with_landlock):
    """Threads, timers, signals to oneself, clocks and sleeping are everyday life."""
    outcome = run_in_sandbox(live_an_ordinary_life, place, landlock=with_landlock)
    assert outcome.answer == ["thread", "alarm", "own signal", "own signal", 5, True, "Linux"]


# Where no sandbox is to be had


def prepare(**options):
    return Sandbox.prepare(readable=[], cpu_seconds=1, memory_bytes=None, **options)


def test_another_system_is_an_error(monkeypatch):
    """On macOS or a strange processor the sandbox says what it needs, and nothing is confined by half."""
    monkeypatch.setattr(syscalls, "machine", lambda: None)
    with pytest.raises(SandboxError, match="needs 64-bit Linux on x86_64 or aarch64"):
        prepare()
    assert prepare(sandbox=False).protection == "none"


def test_a_kernel_without_filters_is_an_error(monkeypatch):
    """Landlock alone would leave fork and sockets open."""
    monkeypatch.setattr(seccomp, "available", lambda: False)
    with pytest.raises(SandboxError, match="seccomp"):
        prepare()


def test_a_kernel_without_landlock_is_sealed(monkeypatch):
    monkeypatch.setattr(access, "landlock_version", lambda: 0)
    assert prepare().protection == "sealed seccomp"


@needs_landlock
def test_a_readable_path_that_is_missing_is_named():
    with pytest.raises(SandboxError, match="/no/such/library"):
        Sandbox.prepare(readable=["/no/such/library"], cpu_seconds=1, memory_bytes=None)


def test_a_worker_whose_zygote_has_ended_ends_too():
    """A worker that is an orphan before it can ask to die with its zygote does not go on alone."""
    sandbox = replace(prepare(sandbox=False), _zygote=0)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            sandbox.enter(keep=(0, 1, 2))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
