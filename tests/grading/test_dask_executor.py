"""Grading on a Dask cluster gives the same results, whichever of its machines is lost."""

import gc
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from dask_cluster import DaskCluster, children_of
from distributed.utils import LoopRunner
from observing import QUICK, request
from patience import time_limit
from tiny_course import HALF, RIGHT, write_course, write_notebook

from grader.cli import main
from grader.course.course import Course
from grader.errors import BrokenRunError, GraderError
from grader.grading import dask_executor
from grader.grading.dask_executor import DaskExecutor, ZygotePlugin
from grader.grading.run import Options, grade
from grader.notebooks.reader import Cell
from grader.sandbox.evidence import Evidence, NotObserved
from grader.sandbox.plan import ObservationPlan
from grader.sandbox.zygote import ActiveSandbox, ZygoteGoneError

SETTINGS = {"preload": [], "sandbox": True, "cpu_seconds": 90}
ANOTHER_GRADER = "from grader.grading import dask_executor\ndask_executor.__version__ = '0.9'\n"
NO_GRADER = "import sys\nsys.modules['grader'] = None\n"
NO_SANDBOX = """
from grader.grading import dask_executor
from grader.errors import SandboxError

def refuse(**_):
    raise SandboxError("students' code cannot be confined here: no seccomp")

dask_executor.Zygote = refuse
"""
#: A zygote that is no process.
NO_ZYGOTE = """
import os
import re
from grader.grading import dask_executor
from grader.sandbox.evidence import Evidence
from grader.sandbox.zygote import ActiveSandbox, ZygoteGoneError

class Zygote:
    sandbox = ActiveSandbox("none", "0")

    def __init__(self, **_):
        pass

    def close(self):
        pass

dask_executor.Zygote = Zygote
"""
MORTAL = f"{NO_ZYGOTE}\ndask_executor.observe = lambda *_: os.kill(os.getpid(), 9)\n"
FRAGILE = f"""{NO_ZYGOTE}
faults = [True, True, False, True, True, True]

def observe(*_):
    if faults.pop(0):
        raise ZygoteGoneError("it has ended")
    return Evidence()

dask_executor.observe = observe
"""
HOSTILE = [*RIGHT, "import os\ndef double(x):\n    os._exit(0)", "os._exit(0)"]
CROWD = 12  # notebooks, so that many are under way at any time
SLOW = [*RIGHT, "import time\ntime.sleep(0.3)"]


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    """A scheduler and two workers for this file."""
    with DaskCluster(tmp_path_factory.mktemp("dask")) as started:
        started.worker("one")
        started.worker("two")
        yield started


@pytest.fixture(scope="module")
def unused(tmp_path_factory):
    """A scheduler without workers, to which nobody has sent a notebook."""
    with DaskCluster(tmp_path_factory.mktemp("unused")) as started:
        yield started


@pytest.fixture
def course(tmp_path, monkeypatch):
    monkeypatch.chdir(write_course(tmp_path / "course"))
    return Course.find()


@pytest.fixture
def submissions(tmp_path):
    folder = tmp_path / "submissions"
    for student, sources in {"ada": RIGHT, "ben": HALF, "mallory": HOSTILE}.items():
        write_notebook(folder / student / "01_tiny.ipynb", sources)
    write_notebook(folder / "zoe" / "01_tiny.ipynb", []).write_text("{", encoding="utf-8")
    return folder


@pytest.fixture
def crowd(tmp_path):
    """Notebooks that take a while, so that many are under way when something happens."""
    for number in range(CROWD):
        write_notebook(tmp_path / "crowd" / f"student {number:02}" / "01_tiny.ipynb", SLOW)
    return tmp_path / "crowd"


def run(submissions, out, *options):
    return CliRunner().invoke(main, ["grade", str(submissions), "--out", str(out), *options])


def results(out):
    found = {}
    for path in sorted((out / "submissions").rglob("*.json")):
        found[path.parent.name] = json.loads(path.read_text(encoding="utf-8"))
        del found[path.parent.name]["provenance"]["graded_at"]
    return found


def observed(executor, source="def first():\n    return 1", **options):
    asked = ObservationPlan(
        {"first": "def first():\n    ..."}, {"first": (request("first", "student.first()"),)}
    )
    return executor.observe([Cell(1, source)], asked, replace(QUICK, **options)).outcome("first")


def command(course, submissions, out, *options):
    """Grade in a process of its own, where nothing may be heard of Dask, with a seed known before."""
    if not out.exists():
        out.mkdir()
        (out / "run.json").write_text('{"seed": 4711}', encoding="utf-8")
    line = [sys.executable, "-W", "error", "-m", "grader", "grade", submissions, "--out", out, *options]
    ended = subprocess.run(line, cwd=course.root, capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert re.fullmatch(r"(\d+ .* graded.*\n)+", ended.stderr), ended.stderr
    return results(out)


def test_a_cluster_gives_the_results_of_this_machine(dask, course, submissions, tmp_path):
    """Right, half right, hostile and unreadable notebooks; and a second time, when there is nothing to do."""
    here, there = tmp_path / "here", tmp_path / "there"
    expected = command(course, submissions, here)
    assert [result["status"] for result in expected.values()] == ["graded", "graded", "graded", "error"]
    assert [result["score"] for result in expected.values()] == [6.0, 1.5, 4.0, 0]
    for _ in range(2):
        assert command(course, submissions, there, "--scheduler", dask.address) == expected
        assert (here / "gradebook.csv").read_bytes() == (there / "gradebook.csv").read_bytes()
    left = {path.name for name in ("one", "two") for path in (dask.folder / name).rglob("*")}
    assert left <= {"dask-scratch-space"}  # no worker writes results


def test_a_killed_worker_costs_nobody_anything(dask, course, crowd, tmp_path):
    """SIGKILL for a worker that observes: every notebook has its one result, as if nothing had been."""
    victim = dask.worker("victim", threads=4)
    seen = []

    def kill_one(standing):
        if standing.done == 3 and victim.returncode is None:
            seen.extend(children_of(victim.pid))  # its zygote
            dask.stop(victim, signal.SIGKILL)

    options = Options(scheduler=dask.address)
    grade(course, crowd, tmp_path / "results", options, kill_one)
    assert seen
    assert [result["score"] for result in results(tmp_path / "results").values()] == [6.0] * CROWD


def test_who_is_not_there_is_named(submissions, course, tmp_path, monkeypatch):
    """No scheduler at an address, no address at all, no Dask installed: a sentence each, exit status 2."""
    monkeypatch.setattr(dask_executor, "_CONNECT_SECONDS", 1)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
    sentences = {
        nobody: f"no Dask scheduler answers at {nobody}: start one",
        "tcp://": "'tcp://' is not the address of a Dask scheduler: write one such as tcp://host:8786",
        "a scheduler": "'a scheduler' is not the address",
        "tcp://127.0.0.1:65536": "is not the address",
        "tls://127.0.0.1:1": "wants a certificate (there is none)",
        "pigeon://host:1": "is not the address",
    }
    for address, sentence in sentences.items():
        ended = run(submissions, tmp_path / "out", "--scheduler", address)
        assert ended.exit_code == 2, address
        assert sentence in ended.stderr
        assert len(ended.stderr.splitlines()) == 1
    monkeypatch.delitem(sys.modules, "grader.grading.dask_executor")
    monkeypatch.setitem(sys.modules, "distributed", None)
    ended = run(submissions, tmp_path / "out", "--scheduler", nobody)
    assert (ended.exit_code, "pip install '.[cluster]'" in ended.stderr) == (2, True)


def test_who_found_no_scheduler_is_in_nobodys_way(unused, monkeypatch):
    """The garbage collector may come upon a client that failed while another one starts."""

    def start_after_a_collection(runner):
        gc.collect()
        really_start(runner)

    really_start = LoopRunner._start_unlocked
    monkeypatch.setattr(LoopRunner, "_start_unlocked", start_after_a_collection)
    with pytest.raises(GraderError, match="wants a certificate"):
        dask_executor._connect("tls://127.0.0.1:1")
    with time_limit(30):
        dask_executor._connect(unused.address).close()


def test_a_scheduler_without_workers_is_not_waited_for(unused, monkeypatch):
    monkeypatch.setattr(dask_executor, "_WORKERS_SECONDS", 0.2)
    sentence = r"no Dask worker is connected to .*dask worker tcp://"
    with time_limit(30), pytest.raises(GraderError, match=sentence) as error:
        DaskExecutor(unused.address, SETTINGS).__enter__()
    assert error.value.exit_status == 2


@contextmanager
def odd_worker(cluster, preload):
    """A Dask worker that is unlike the others, and gone after the block."""
    worker = cluster.worker("odd", preload=preload)
    try:
        yield worker
    finally:
        cluster.stop(worker)


def test_a_worker_unlike_the_others_is_refused(dask):
    with odd_worker(dask, ANOTHER_GRADER) as odd:
        said = f"grader is 1.0.0 on this machine, but 0.9 on {odd.address}: install the same"
        with pytest.raises(GraderError, match=said), DaskExecutor(dask.address, SETTINGS):
            pass


def test_a_worker_without_grader_is_refused(unused):
    with odd_worker(unused, NO_GRADER) as odd:
        said = f"the Dask worker {odd.address} has no grader, or another one than 1.0.0"
        with pytest.raises(GraderError, match=said), DaskExecutor(unused.address, SETTINGS):
            pass


def test_a_worker_without_a_sandbox_gets_no_notebook(dask, submissions, course, tmp_path):
    with odd_worker(dask, NO_SANDBOX) as odd:
        ended = run(submissions, tmp_path / "out", "--scheduler", dask.address)
    assert ended.exit_code == 3
    assert f"on the Dask worker {odd.address}, students' code" in ended.stderr
    assert not (tmp_path / "out" / "submissions").exists()


@pytest.mark.long
def test_a_scheduler_that_goes_ends_the_run(dask, course, crowd, tmp_path):
    """In the middle of a run: a sentence soon, not a hang; the same command goes on, on another cluster."""
    arguments = course, crowd, tmp_path / "results"
    (tmp_path / "dask").mkdir()
    with DaskCluster(tmp_path / "dask") as other:
        other.worker("only")

        def stop(standing):
            if standing.done == 3:
                other.stop(other.scheduler, signal.SIGKILL)

        with time_limit(60), pytest.raises(BrokenRunError, match=r"has gone.* same command continues"):
            grade(*arguments, Options(scheduler=other.address), stop)
    grade(*arguments, Options(scheduler=dask.address), lambda _: None)
    assert [result["score"] for result in results(tmp_path / "results").values()] == [6.0] * CROWD


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_who_stops_leaves_no_work_behind(dask, course, crowd, tmp_path, number):
    """Ctrl-C or SIGKILL for the one who grades: Dask forgets what was under way; the command goes on."""
    line = [sys.executable, "-m", "grader", "grade", crowd, "--out", tmp_path / "out"]
    process = subprocess.Popen([*line, "--scheduler", dask.address], cwd=course.root, stderr=subprocess.PIPE)
    with process, time_limit(60):
        while not list((tmp_path / "out").glob("evidence/*/*")) and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(number)
        told = process.stderr.read().decode()
    assert process.returncode in {130, -signal.SIGKILL}, told
    with DaskExecutor(dask.address, SETTINGS) as executor, time_limit(30):
        while any(executor._client.processing().values()):
            time.sleep(0.02)
    graded = command(course, crowd, tmp_path / "out", "--scheduler", dask.address)
    assert [result["score"] for result in graded.values()] == [6.0] * CROWD


@pytest.mark.long
def test_a_run_without_workers_comes_to_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(dask_executor, "_HOPE_SECONDS", 1.0)
    monkeypatch.setattr(dask_executor, "_LOOK_SECONDS", 0.2)
    with DaskCluster(tmp_path) as lonely, time_limit(60):
        only = lonely.worker("only")
        with DaskExecutor(lonely.address, SETTINGS) as executor:
            assert observed(executor) == 1
            lonely.stop(only, signal.SIGKILL)
            with pytest.raises(BrokenRunError, match=r"all Dask workers have left .*dask worker tcp://"):
                observed(executor)


@pytest.mark.long
def test_a_notebook_no_worker_survives_ends_the_run(tmp_path):
    """A worker that comes back every time is lost every time: Dask gives up, and the sentence says so."""
    with DaskCluster(tmp_path) as doomed, time_limit(120):
        doomed.worker("phoenix", preload=MORTAL, nanny=True)
        with (
            DaskExecutor(doomed.address, SETTINGS) as executor,
            pytest.raises(BrokenRunError, match="one Dask worker after the other was lost"),
        ):
            observed(executor)


class FakeZygote:
    """A zygote that knows how many there are."""

    living = 0

    def __init__(self, **_):
        FakeZygote.living += 1
        self.sandbox = ActiveSandbox("none", "0")

    def close(self):
        FakeZygote.living -= 1


@pytest.fixture
def plugins(monkeypatch):
    """Makes plugins as on a Dask worker; their zygotes end as soon as nobody uses them."""
    monkeypatch.setattr(FakeZygote, "living", 0)
    monkeypatch.setattr(dask_executor, "Zygote", FakeZygote)
    monkeypatch.setattr(dask_executor, "_IDLE_SECONDS", 0.0)

    def make(expected=None, **settings):
        plugin = ZygotePlugin(settings, dask_executor.installed() if expected is None else expected)
        plugin.setup(SimpleNamespace(address="here"))
        return plugin

    return make


def test_a_zygote_without_work_ends(plugins):
    """It serves all who come with the same settings, and ends when nobody has come for a while."""
    plugin, other = plugins(cpu_seconds=1), plugins(cpu_seconds=2)
    assert (plugin.name == plugins(cpu_seconds=1).name, plugin.name == other.name) == (True, False)
    living = []

    def note_the_living():
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join()
        living.append(FakeZygote.living)

    def work(zygote):
        with plugin._borrowed() as same, other._borrowed() as another:
            assert (zygote is same, zygote is another) == (True, False)
        note_the_living()
        return {}

    plugin.answer(work)
    note_the_living()
    assert living == [1, 0]


def test_a_zygote_that_broke_is_replaced(plugins):
    """The system may kill one for its memory: Dask asks again, and another zygote observes the notebook."""
    plugin, used = plugins(), []

    def breaking(zygote):
        used.append(zygote)
        if len(used) <= 2:
            raise ZygoteGoneError("it has ended")
        return {"evidence": {}}

    for _ in range(2):
        with pytest.raises(BrokenRunError, match=r"on the Dask worker here, it has ended"):
            plugin.answer(breaking)
    assert "evidence" in json.loads(plugin.answer(breaking))
    assert len({id(zygote) for zygote in used}) == 3


def test_a_notebook_whose_zygote_ends_is_asked_for_again(tmp_path):
    """Twice, by Dask; then the run ends with the sentence of the error that it was."""
    with DaskCluster(tmp_path) as cluster:
        cluster.worker("fragile", preload=FRAGILE)
        with DaskExecutor(cluster.address, SETTINGS) as executor:
            assert isinstance(observed(executor), NotObserved)
            with pytest.raises(BrokenRunError, match=r"on the Dask worker tcp://.*, it has ended"):
                observed(executor)


def test_a_worker_unlike_the_others_runs_no_notebook(plugins):
    """Also one that joins later: the plugin knows what has to be installed."""
    with pytest.raises(GraderError, match=r"on the Dask worker here, grader is 0.9 on the others, but 1.0"):
        plugins(expected=["grader 0.9", *dask_executor.installed()[1:]]).answer(pytest.fail)


def test_evidence_of_another_machine_is_looked_at(monkeypatch):
    """What is not of the form of evidence is its notebook's fault, and ends nobody's run."""
    evidence = Evidence(names={"f": "answered"})
    assert received(evidence.to_json(), monkeypatch) == evidence
    refused = received(evidence.to_json().replace("answered", "excellent"), monkeypatch)
    assert "sent something that is not an answer, so it was not used" in refused.fault
    with pytest.raises(BrokenRunError, match="sent no evidence"):
        received(None, monkeypatch)


def received(sent, monkeypatch):
    """What a cluster makes of the evidence that a Dask worker sent."""
    executor = DaskExecutor("tcp://nobody:1", SETTINGS)
    executor._sandbox = ActiveSandbox("none", "0")
    executor._plugin = executor._client = Mock()
    answer = {"worker": "one", "protection": ["none", "0"], "evidence": sent}
    monkeypatch.setattr(DaskExecutor, "_result", lambda *_: json.dumps(answer).encode())
    return executor.observe([], ObservationPlan({}, {}), QUICK)


def test_who_grades_alone_needs_no_dask():
    """Without --scheduler nothing of Dask is imported; it costs half a second."""
    code = "import sys, grader.grading.run; sys.exit(bool({'dask', 'distributed'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
