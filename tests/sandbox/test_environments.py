"""Whole grading runs in the surroundings a grader meets: each gives the same points, or refuses.

Every run is `python -m grader grade` in a process of its own, as an instructor would start it.
"""

import csv
import json
import os
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from tiny_course import HALF, RIGHT, write_course, write_notebook

from grader.sandbox.worker import access, syscalls

pytestmark = pytest.mark.skipif(syscalls.machine() is None, reason="grading is confined on 64-bit Linux only")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up being root")
needs_x86 = pytest.mark.skipif(syscalls.machine() != "x86_64", reason="the profile has the numbers of x86_64")

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
ORDINARY_USER = "12345"
USUAL = "landlock+seccomp" if access.landlock_version() else "sealed seccomp"
SEALED = "from grader.sandbox.worker import access as part; part.landlock_version = lambda: 0"
UNFILTERED = "from grader.sandbox.worker import seccomp as part; part.available = lambda: False"

# What notebooks do besides what is asked of them.
PLOTTING = """\
import csv, json, pathlib, string
import numpy as np
import numpy.testing
import matplotlib.pyplot as plt
from matplotlib import pyplot
from tqdm import tqdm
from tqdm.auto import trange
import torch
from torch.autograd import forward_ad
from torch.utils.data import DataLoader, TensorDataset

for batch in tqdm(DataLoader(TensorDataset(torch.randn(4, 2)), batch_size=2)):
    print(batch)
with forward_ad.dual_level():
    print(forward_ad.make_dual(torch.ones(2), torch.ones(2)))
np.testing.assert_allclose(np.linalg.norm([3.0, 4.0]), 5.0)
plt.figure(figsize=(4, 3))
plt.plot([1, 2, 3], label="loss")
plt.title("loss")
plt.legend()
plt.show()
"""

# Starts the command line after a part of the worker was changed, as a test may.
DRIVER = """\
import sys
from grader.sandbox import zygote
zygote.BOOT = zygote.BOOT.replace("zygote.main()", sys.argv.pop(1) + "; zygote.main()")
from grader.cli import main
main(prog_name="grader")
"""

# Shows the folder $2 as everybody may enter it, to one command alone; $1 is an empty folder.
OPEN_TO_ALL = """\
mount -t tmpfs -o mode=755 none "$1"
mkdir -m 755 "$1/upper" "$1/work"
mount -t overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" none "$2"
shift 2
exec "$@"
"""


@dataclass
class Run:
    """What a run left behind: exit status, what it said, the gradebook's rows, each result's protection."""

    status: int
    said: str
    gradebook: list[dict[str, str]]
    protections: set[str]
    out: Path

    def feedback(self, student):
        """What a student reads."""
        return (self.out / "feedback" / student / "01_tiny.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def place():
    """A folder that every user can reach and write to, with a small course and a class in it."""
    with tempfile.TemporaryDirectory(prefix="environments-") as name:
        folder = Path(name)
        write_course(folder / "course")
        write_notebook(folder / "class" / "ada" / "01_tiny.ipynb", [PLOTTING, *RIGHT])
        write_notebook(folder / "class" / "lea" / "01_tiny.ipynb", ["import wave", *HALF])
        folder.chmod(0o777)  # another user writes the results
        yield folder


def run(place, name, *options, before=(), driver=DRIVER, change="pass", seconds=120):
    """Grade the class into the folder `name`, with a command before the grader's, or a changed worker."""
    out = place / name
    command = [*before, sys.executable, "-c", driver, change, "grade", place / "class", "--out", out]
    done = subprocess.run(
        [*map(str, command), *options],
        cwd=place / "course",
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    rows, protections = [], set()
    if (out / "gradebook.csv").exists():
        with (out / "gradebook.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    for result in out.glob("submissions/*/*.json"):
        protections.add(json.loads(result.read_text(encoding="utf-8"))["provenance"]["protection"])
    return Run(done.returncode, done.stdout + done.stderr, rows, protections, out)


@pytest.fixture(scope="module")
def usual(place):
    """The class graded as this test run's user, with nothing taken away."""
    return run(place, "usual")


def must_equal(seen, usual, protection=USUAL):
    assert seen.status == 0, seen.said
    assert seen.gradebook == usual.gradebook
    assert seen.protections == {protection}


def must_refuse(seen, *words):
    """Nothing was graded, and one sentence says why."""
    assert seen.status == 3, seen.said
    assert seen.said.startswith("grader: ")
    assert seen.said.count("\n") == 1
    assert all(word in seen.said for word in words), seen.said
    assert (seen.gradebook, seen.protections) == ([], set())


def test_the_usual_surroundings(usual):
    """Here the right notebook, which also plots, earns everything, and the half right one a part."""
    assert usual.status == 0, usual.said
    assert [(row["student"], row["score"]) for row in usual.gradebook] == [("ada", "6"), ("lea", "1.5")]
    assert usual.protections == {USUAL}
    assert "Error" not in usual.feedback("ada")


# Without Landlock


@pytest.mark.long
def test_without_landlock_the_points_are_the_same(place, usual):
    """An ordinary notebook does not notice that nothing can be opened, and a refused import is named."""
    seen = run(place, "sealed", change=SEALED)
    must_equal(seen, usual, "sealed seccomp")
    assert seen.feedback("ada") == usual.feedback("ada")
    assert "No module named 'wave'" in seen.feedback("lea")
    assert "wave" not in usual.feedback("lea")


# Another user


def ordinary_user(place):
    """The command that makes another user of whoever comes after it, and lets that user read Python."""
    private = [
        folder
        for start in (Path(sys.base_prefix), Path(sys.prefix), ROOT)
        for folder in (start, *start.parents)
        if not folder.stat().st_mode & stat.S_IXOTH
    ]
    become = ["setpriv", "--reuid", ORDINARY_USER, "--regid", ORDINARY_USER, "--clear-groups"]
    if not private:
        return become
    if subprocess.run(["unshare", "--mount", "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip(f"Python lies below {private[0]}, which only root may enter, and nothing can be mounted")
    empty = place / "mounted"
    empty.mkdir()
    return ["unshare", "--mount", "sh", "-ec", OPEN_TO_ALL, "sh", str(empty), str(private[-1]), *become]


@needs_root
def test_an_ordinary_user_gives_the_same_points(place, usual):
    seen = run(place, "ordinary", before=ordinary_user(place))
    must_equal(seen, usual)
    assert {path.stat().st_uid for path in seen.out.rglob("*")} == {int(ORDINARY_USER)}


# Containers


@needs_root
@needs_x86
@pytest.mark.parametrize("option", [[], pytest.param(["--no-new-privs"], marks=pytest.mark.long)])
def test_a_container_with_dockers_default_profile_gives_the_same_points(place, usual, option):
    """What Docker takes from its containers is not needed, with and without no_new_privs."""
    container = [sys.executable, str(Path(__file__).parents[1] / "container.py"), *option]
    must_equal(run(place, f"docker{len(option)}", before=container), usual)


@needs_root
def test_root_that_may_not_change_its_user_is_refused(place):
    """A container without CAP_SETUID cannot give a worker fewer rights than the grader's: it says so."""
    seen = run(place, "bound", before=["setpriv", "--bounding-set", "-setuid,-setgid"])
    must_refuse(seen, "root", "unprivileged user")


@pytest.mark.long
def test_a_container_with_one_user_is_refused(place):
    """Where root is the only user there is, no worker can become another: it says so."""
    alone = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*alone, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("user namespaces cannot be made here")
    must_refuse(run(place, "alone", before=alone), "root", "unprivileged user")


# No protection at all


@pytest.mark.long
def test_without_filters_nothing_is_graded(place):
    must_refuse(run(place, "unfiltered", change=UNFILTERED), "seccomp", "--no-sandbox")


@pytest.mark.long
def test_without_filters_on_request(place, usual):
    """Told --no-sandbox, the points are the same, and results, report, feedback and terminal say so."""
    seen = run(place, "unprotected", "--no-sandbox", change=UNFILTERED)
    must_equal(seen, usual, "none")
    assert "Sandbox: none" in seen.said
    for page in ("report.html", "feedback/ada/01_tiny.html", "feedback/lea/01_tiny.md"):
        assert "without a sandbox" in (seen.out / page).read_text(encoding="utf-8"), page
    assert json.loads((seen.out / "run.json").read_text(encoding="utf-8"))["protection"] == "none"


# Takes away what other systems do not have, before anything of the grader is imported.
FOREIGN = """\
import os, select, signal, socket, subprocess, sys, sysconfig, platform
import click, jupytext, pytest, rich.console, rich.progress  # they look at the system themselves
sys.platform = sys.argv.pop(1)
for module in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[module] = None
for module, names in {
    os: ("pidfd_open", "setresuid", "sched_getaffinity", "O_NOFOLLOW", "O_NONBLOCK", "fork"),
    signal: ("pidfd_send_signal", "SIGKILL", "SIGALRM"),
    socket: ("AF_UNIX", "SOCK_SEQPACKET", "send_fds", "recv_fds"),
    select: ("poll",),
}.items():
    for name in names:
        delattr(module, name)
from grader.cli import main
main(prog_name="grader")
"""


@pytest.mark.parametrize(
    ("system", "options"),
    [
        ("win32", ["--no-sandbox"]),
        *(
            pytest.param(system, options, marks=pytest.mark.long)
            for system, options in (("darwin", []), ("darwin", ["--no-sandbox"]), ("win32", []))
        ),
    ],
)
def test_another_system_is_refused(place, system, options):
    """On macOS and Windows there is one sentence instead of a missing name, and it says what to do."""
    refused = run(place, f"{system}{len(options)}", *options, driver=FOREIGN, change=system, seconds=60)
    must_refuse(refused, "Linux", "container")
    assert not list(refused.out.glob("submissions/*/*.json"))
