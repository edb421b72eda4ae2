"""A run that is killed, stopped or out of disk loses nothing: the next one completes it."""

import errno
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from resuming import Class, Witness, descendants, differences, results, wait_until

STOPS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.fixture(scope="module")
def klass(tmp_path_factory):
    return Class(tmp_path_factory.mktemp("class"))


@pytest.fixture
def out(klass):
    return klass.new_out()


@pytest.fixture(scope="module")
def whole(klass, zygote_of_all):
    out = klass.new_out()
    ended = klass.finish(out)
    assert ended.exit_code == 0
    assert "Graded: 13 of 13 submissions\nThis run: 13 new\n" in ended.stdout
    return results(out)


def kill(process):
    with Witness(process) as witness:
        process.kill()
        process.wait()
        assert witness.sees_all_go()


@pytest.mark.long
def test_a_killed_run_is_completed_by_the_next(klass, out, whole):
    """Killed in the middle of observing, of writing, at its end: it gives what an undisturbed run gives."""
    for place in ("evidence/*/*.json", "feedback/*/*.md", "gradebook.csv"):
        with klass.running(out) as process:
            assert wait_until(lambda place=place: any(out.glob(place)), process)
            kill(process)
    assert klass.finish(out).exit_code == 0
    assert not differences(out, whole)


def test_what_began_early_ends_with_a_run_that_cannot_begin(klass, tmp_path):
    """The import of torch begins while the folders are read: where these are wrong, it ends at once, too."""
    out = tmp_path / "new"
    with klass.running(out, options=["--student", "nobody"]) as process:
        assert wait_until(lambda: descendants(process.pid), process)
        with Witness(process) as witness:
            assert witness.pidfds
            process.send_signal(signal.SIGCONT)
            assert "nobody is not a student of this class" in process.communicate(timeout=30)[1]
            assert witness.sees_all_go(1)
    assert process.returncode == 2
    assert not out.exists()


@pytest.mark.parametrize(("number", "status"), [pytest.param(*STOPS[0], marks=pytest.mark.long), STOPS[1]])
def test_a_stopped_run_ends_at_once_and_says_how_to_go_on(klass, out, whole, number, status):
    """Ctrl-C or SIGTERM, for the whole group, while a cell loops: a sentence, and no process is left."""
    with klass.running(out) as process:
        assert wait_until(lambda: any(out.glob("submissions/*/*.json")), process)
        with Witness(process) as witness:
            os.killpg(process.pid, number)
            begun = time.monotonic()
            process.send_signal(signal.SIGCONT)
            told, complaint = process.communicate(timeout=10)
            assert time.monotonic() - begun < 2
            assert witness.sees_all_go()
    assert (process.returncode, told) == (status, "")
    stopped = r"\ngrader: stopped after \d+ of 13 notebooks; run the same command to continue\.\n\Z"
    assert re.search(stopped, complaint), complaint
    assert "it took" not in complaint
    assert klass.finish(out).exit_code == 0
    assert not differences(out, whole)


def catches(process, number):
    """Whether a process has a handler of its own for a signal, by the kernel's word."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    caught = re.search(r"SigCgt:\s*(\w+)", status)
    return bool(caught and int(caught[1], 16) >> (number - 1) & 1)


@pytest.mark.parametrize(
    ("number", "status", "later"),
    [
        pytest.param(*stop, later, marks=pytest.mark.long if later in seldom else [])
        for stop, seldom in zip(STOPS, ((0.1, 0.4, 0.8), (0, 0.2)), strict=True)
        for later in (0, 0.1, 0.2, 0.4, 0.8)
    ],
)
def test_a_run_stopped_at_its_start_is_quiet(klass, out, number, status, later):
    """From the first moments on, while modules are imported and the zygote starts, there is no traceback."""
    with klass.running(out) as process:
        assert wait_until(lambda: catches(process, signal.SIGTERM), process)
        time.sleep(later)
        os.killpg(process.pid, number)
        told, complaint = process.communicate(timeout=10)
    assert (process.returncode, told) == (status, "")
    assert complaint.count("grader: stopped") == complaint.count("grader: ") == 1
    assert "Traceback" not in complaint


def test_a_run_in_the_background_ignores_what_it_is_told_to_ignore(klass, out):
    """A shell has the jobs of a script ignore Ctrl-C, and so it stays; SIGTERM ends them."""
    with klass.running(out, ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]) as process:
        assert wait_until(lambda: catches(process, signal.SIGTERM), process)
        os.killpg(process.pid, signal.SIGINT)
        assert not catches(process, signal.SIGINT)
        process.terminate()
        assert process.wait(10) == 143


@pytest.mark.long
def test_without_a_sandbox_nobody_is_left_either(klass, out):
    """All that a person sees of a run is killed at once, while an unconfined worker loops: it goes too."""
    with klass.running(out, options=["--no-sandbox"]) as process:
        assert wait_until(lambda: any(out.glob("evidence/*/*.json")), process)
        with Witness(process) as witness:
            assert len(witness.pidfds) >= 2
            os.killpg(process.pid, signal.SIGKILL)
            assert witness.sees_all_go()


def test_a_zygote_that_is_killed_ends_the_run_in_a_sentence(klass, out, whole):
    with klass.running(out) as process:
        assert wait_until(lambda: any(out.glob("evidence/*/*.json")), process)
        os.kill(descendants(process.pid)[0], signal.SIGKILL)
        told, complaint = process.communicate(timeout=10)
    assert (process.returncode, told) == (1, "")
    assert complaint.count("grader: ") == 1
    assert "The same command continues" in complaint
    assert klass.finish(out).exit_code == 0
    assert not differences(out, whole)


@pytest.fixture(scope="module")
def quiet_class(tmp_path_factory):
    return Class(tmp_path_factory.mktemp("quiet"), loop=False)


@pytest.fixture(scope="module")
def whole_and_quiet(quiet_class, zygote_of_all):
    out = quiet_class.new_out()
    assert quiet_class.finish(out).exit_code == 0
    return results(out)


def only_whole_files(out, whole):
    """Whether all that is there is as it will be, but for the notes of a run that goes on."""
    return all(content == whole[file] for file, content in results(out).items() if file != "run.json")


@pytest.mark.parametrize("room", [0, 20, 52, *(pytest.param(n, marks=pytest.mark.long) for n in (3, 40))])
def test_what_cannot_be_written_whole_is_not_there(quiet_class, whole_and_quiet, monkeypatch, room):
    """A disk takes some files and half of the next: one sentence, whole files; the next run goes on."""
    out, write, left = quiet_class.new_out(), Path.write_bytes, list(range(room))

    def write_half(path, content):
        if out not in path.parents or not content:  # an empty file is the trial of the folder
            return write(path, content)
        if left:
            left.pop()
            return write(path, content)
        write(path, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", write_half)
        ended = quiet_class.finish(out)
    assert (ended.exit_code, ended.stdout) == (1, "")
    full = r"(\d+ .*\n)*grader: \S+ cannot be written \(No space left on device\): make room .*\n"
    assert re.fullmatch(full, ended.stderr), ended.stderr
    assert "finished" in json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert only_whole_files(out, whole_and_quiet)
    assert quiet_class.finish(out).exit_code == 0
    assert not differences(out, whole_and_quiet)
