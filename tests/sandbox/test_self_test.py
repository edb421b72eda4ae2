"""What `doctor --sandbox` prints about the sandbox of this machine, and of other machines."""

from contextlib import nullcontext

import pytest
from click.testing import CliRunner

from grader.cli import main
from grader.errors import SandboxError
from grader.sandbox import self_test
from grader.sandbox.worker import access

LIMITS = {"memory_bytes": 1 << 30, "cpu_seconds": 60, "descriptors": 64, "tasks": 128}
SANDBOX = {"landlock": 7, "user": "another", "uid": 0, "kept": None, **LIMITS}
FOUND = {"attacks": {"fork": True, "open a socket": False}, "controls": {"import": False}, "trouble": None}


def report(name="landlock+seccomp", **sandbox):
    """The report about a sandbox that differs from a good one."""
    layers = {**SANDBOX, **sandbox}
    return self_test.report({"protection": name, "torch": "2.13.0", "layers": layers, "findings": FOUND})


@pytest.fixture
def doctor(monkeypatch):
    """Runs `doctor --sandbox` with something else in the zygote's place."""

    def run(start):
        monkeypatch.setattr(self_test, "Zygote", start)
        return CliRunner().invoke(main, ["doctor", "--sandbox"])

    return run


def test_this_machines_sandbox_holds(zygote, doctor):
    """Every attack is named and stopped, and everything that must work does."""
    done = doctor(lambda: nullcontext(zygote))
    assert done.exit_code == 0, done.output
    assert "The sandbox holds." in done.output
    assert f"protection: {zygote.sandbox.name}" in done.output
    assert done.output.count(": stopped") == len(zygote.sandbox.hello["findings"]["attacks"]) >= 25
    assert done.output.count(": works") == len(zygote.sandbox.hello["findings"]["controls"]) >= 2
    assert not {"GOT THROUGH", "BROKEN"} & set(done.output.split(": "))


def test_the_report_tells_the_limits_in_force(zygote):
    """The numbers are those the zygote told, and the kernel's."""
    told = zygote.sandbox.hello["layers"]
    assert told["landlock"] == access.landlock_version()
    assert told["descriptors"] == 64
    assert told["memory_bytes"] > 512 << 20


def test_a_refusal_is_the_one_of_grade(doctor):
    """Where no sandbox is to be had, the exit status is 3 and the sentence is the one `grade` says."""

    def refuse():
        raise SandboxError("grading needs Linux, and this is something else")

    done = doctor(refuse)
    assert done.exit_code == 3
    assert "grader: grading needs Linux, and this is something else." in done.output
    assert "protection: none" in done.output


def test_what_got_through_is_told_by_name(doctor):
    """Each attack and each control has its own outcome, the bad ones in capitals."""
    hello = {"protection": "landlock+seccomp", "torch": "2.13.0", "layers": SANDBOX, "findings": FOUND}

    def refuse():
        raise SandboxError("the sandbox does not hold: open a socket, import", hello)

    done = doctor(refuse)
    assert done.exit_code == 3
    for outcome in ("fork: stopped", "open a socket: GOT THROUGH", "import: BROKEN"):
        assert outcome in done.output
    assert "not in force" in done.output


def test_what_is_missing_is_explained():
    """Without Landlock or root, in a small container, below a private home: what it means stands there."""
    whole = report()
    assert "version 7" in whole
    assert "runs as a separate user" in whole
    assert "none is kept" in whole
    assert "grader/grading/executor.py" in report("sealed seccomp", landlock=0)
    assert "workers run as you (uid 1000)" in report(user="same", uid=1000)
    assert "run as the user nobody" in report(user="nobody")
    assert "workers keep CAP_DAC_READ_SEARCH" in report(kept="CAP_DAC_READ_SEARCH")
