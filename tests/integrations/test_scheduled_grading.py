"""The example of a nightly workflow: its steps are run here, over repositories made up for the purpose."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from base64 import b64encode, urlsafe_b64decode
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tiny_course import HALF, RIGHT, write_course, write_notebook
from workflow import read_workflow, run_steps

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "docs" / "examples" / "grade.yml"
PAGE = ROOT / "docs" / "grading-on-github.md"
TOKENS = {"github.token": "token-of-the-course", "secrets.STUDENTS_TOKEN": "token-of-the-students"}
BRANCH = "autograd-feedback"
BRING_BACK = "Bring back the results of the nights before"
CLONE = "Clone the students' repositories"
#: What a student of the tiny course reads who has not everything right.
HALVED = "This is not twice as much."


@pytest.fixture(scope="module")
def workflow():
    return read_workflow(WORKFLOW)


class Hub:
    """A folder of bare repositories in the place of GitHub, and a runner that grades them."""

    def __init__(self, folder):
        self.remotes, self.folder, self.nights = folder / "remotes", folder, 0
        self.environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),  # the grader beside these tests, wherever another is installed
            "HOME": str(folder / "home"),
            "GIT_AUTHOR_NAME": "somebody",
            "GIT_AUTHOR_EMAIL": "somebody@localhost",
            "GIT_COMMITTER_NAME": "somebody",
            "GIT_COMMITTER_EMAIL": "somebody@localhost",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        (folder / "home").mkdir()
        smudge = f'[filter "lfs"]\n\tsmudge = touch {folder}/smudged; cat\n\tclean = cat\n\trequired = true\n'
        (folder / "home" / ".gitconfig").write_text(smudge, encoding="utf-8")

    def git(self, *arguments, folder=None, given=""):
        command = ["git", *map(str, arguments)]
        where = folder or self.folder
        return subprocess.run(
            command, cwd=where, env=self.environment, check=True, capture_output=True, text=True, input=given
        ).stdout

    def remote(self, name):
        return self.remotes / f"{name}.git"

    def push(self, name, write):
        """Let somebody write into a clone of a repository, which need not be there, and push everything."""
        if not self.remote(name).is_dir():
            self.git("init", "--quiet", "--bare", "--initial-branch", "main", self.remote(name))
        clone = self.folder / "desk" / name
        if not clone.is_dir():
            self.git("clone", "--quiet", self.remote(name), clone)
        write(clone)
        self.git("add", "--all", "--force", folder=clone)
        self.git("commit", "--quiet", "--allow-empty", "--message", "work", folder=clone)
        self.git("push", "--quiet", "origin", "HEAD", folder=clone)
        return clone

    def files(self, name, branch):
        """The files of a branch, as {path: text}; empty where there is no such branch."""
        heads = self.git("for-each-ref", "--format=%(refname:short)", "refs/heads", folder=self.remote(name))
        if branch not in heads.split():
            return {}
        paths = self.git("ls-tree", "-r", "--name-only", "-z", branch, folder=self.remote(name)).split("\0")
        return {
            path: self.git("show", f"{branch}:{path}", folder=self.remote(name)) for path in paths if path
        }

    def head(self, name, branch):
        return self.git("rev-parse", branch, folder=self.remote(name)).strip()

    def night(self, workflow):
        """What a runner does once: a new machine, a checkout, then every step that is a command."""
        self.nights += 1
        runner = self.folder / f"runner{self.nights}"
        workspace, temporary = runner / "work", runner / "temp"
        temporary.mkdir(parents=True)
        self.git("clone", "--quiet", self.remote("teacher/course"), workspace)
        _set_up(workspace)
        surroundings = {
            **self.environment,
            "RUNNER_TEMP": str(temporary),
            "GITHUB_STEP_SUMMARY": str(runner / "summary.md"),
            "GITHUB_SERVER_URL": f"file://{self.remotes}",
            "GITHUB_REPOSITORY": "teacher/course",
        }
        values = {**TOKENS, "github.server_url": f"file://{self.remotes}"}
        return runner, *run_steps(workflow, "grade", workspace, surroundings, values)


def _set_up(workspace):
    """Stand in for an installation: `.venv/bin/python` is the one that runs these tests."""
    python = workspace / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    (workspace / ".venv" / ".ready").touch()


@pytest.fixture
def hub(tmp_path):
    """A course, its class of five, and what strangers keep in their repositories."""
    hub = Hub(tmp_path)

    def course(folder):
        write_course(folder)
        for name in ("Makefile", "pyproject.toml", "constraints.txt"):
            shutil.copy(ROOT / name, folder / name)
        (folder / "roster.csv").write_text("student\nada\nben\ncleo\ndora\ngil\n", encoding="utf-8")

    def hostile(folder):
        write_notebook(folder / "01_tiny.ipynb", HALF)
        (folder / "results").symlink_to("/etc")
        (folder / "away.txt").symlink_to("/etc/passwd")
        (folder / "Makefile").write_text("grade:\n\ttouch /tmp/owned\n", encoding="utf-8")
        (folder / "conftest.py").write_text("raise SystemExit\n", encoding="utf-8")
        (folder / ".gitattributes").write_text("*.ipynb filter=lfs\n", encoding="utf-8")
        (folder / ".gitmodules").write_text(
            f'[submodule "x"]\n\tpath = x\n\turl = {hub.remote("teacher/course")}\n', encoding="utf-8"
        )

    hub.push("teacher/course", course)
    hub.push("my-course/autograd-ada", lambda folder: write_notebook(folder / "01_tiny.ipynb", RIGHT))
    hub.push("my-course/autograd-ben", hostile)
    hub.git("init", "--quiet", "--bare", hub.remote("my-course/autograd-cleo"))  # nothing in it
    for name in ("eve", "gil"):
        hub.push(f"my-course/autograd-{name}", lambda folder: write_notebook(folder / "01_tiny.ipynb", RIGHT))
    return hub


@pytest.mark.long
def test_two_nights(hub, workflow):
    """The class is graded from clones, each student gets their own pages, and results are kept.

    So are those of a student whose repository is gone the next night.
    """
    runner, printed, status = hub.night(workflow)
    assert status == 0, printed
    kept = hub.files("teacher/course", "results")
    assert gradebook_of(kept) == {
        "ada": ("6", "graded", ""),
        "ben": ("1.5", "graded", ""),
        "cleo": ("0", "absent", ""),
        "dora": ("0", "absent", "unread"),
        "gil": ("6", "graded", ""),
    }
    assert "results/run.json" in kept
    assert {path.split("/")[0] for path in kept} == {"results", "roster.csv", "submissions"}
    summary = (runner / "summary.md").read_text(encoding="utf-8").splitlines()
    assert summary[1 : summary.index("## Graded")] == ["* autograd-dora"]
    assert any(line == "    Graded: 3 of 3 submissions" for line in summary)
    _each_got_their_own(hub)
    _nothing_was_followed(runner)
    assert not (hub.folder / "smudged").exists()
    first = {name: hub.head(f"my-course/autograd-{name}", BRANCH) for name in ("ada", "ben")}

    clone = hub.folder / "desk" / "my-course/autograd-ben"
    hub.push("my-course/autograd-ben", lambda folder: write_notebook(folder / "01_tiny.ipynb", RIGHT))
    hub.git("push", "--quiet", "--force", "origin", f"HEAD:refs/heads/{BRANCH}", folder=clone)
    hub.remote("my-course/autograd-gil").rename(hub.folder / "gone.git")
    _, printed, status = hub.night(workflow)
    assert status == 0, printed
    assert "This run: 1 graded again, 1 judged again\n" in printed["Grade"], printed["Grade"]
    assert gradebook_of(hub.files("teacher/course", "results"))["gil"] == ("6", "graded", "unread")
    assert hub.head("my-course/autograd-ada", BRANCH) == first["ada"]
    pages = hub.files("my-course/autograd-ben", BRANCH)
    assert set(pages) == {"01_tiny.html", "01_tiny.md", "README.md"}
    assert "| [01_tiny](01_tiny.md) | 6 of 6 |" in pages["README.md"]
    assert HALVED not in pages["01_tiny.md"]
    _no_token_was_kept(hub)


def gradebook_of(kept):
    """By student, the score, the status, and why the notebook is missing."""
    rows = csv.DictReader(kept["results/gradebook.csv"].splitlines())
    return {row["student"]: (row["score"], row["status"], row["missing"].partition(" ")[0]) for row in rows}


def _each_got_their_own(hub):
    ada, ben = (hub.files(f"my-course/autograd-{name}", BRANCH) for name in ("ada", "ben"))
    assert set(ada) == {"01_tiny.html", "01_tiny.md", "README.md"}
    assert HALVED not in ada["01_tiny.md"]
    assert HALVED in ben["01_tiny.md"]
    for nobody in ("cleo", "eve"):
        assert hub.files(f"my-course/autograd-{nobody}", BRANCH) == {}
    branches = hub.git("branch", "--format=%(refname:short)", folder=hub.remote("teacher/course"))
    assert set(branches.split()) == {"main", "results"}


def _nothing_was_followed(runner):
    """A clone holds its notebooks and nothing else, and none of its files came to where `make` runs."""
    clone = runner / "temp" / "clones" / "autograd-ben"
    assert {path.name for path in clone.iterdir()} == {".git", "01_tiny.ipynb"}
    assert not (runner / "work" / "conftest.py").exists()
    assert not Path("/tmp/owned").exists()


def _no_token_was_kept(hub):
    for path in hub.folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            assert not any(token.encode() in content for token in TOKENS.values()), path


class Door(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def serving(handler):
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_token_that_expired_stops_the_night(hub, workflow):
    shutil.rmtree(hub.remotes / "my-course")
    _, printed, status = hub.night(workflow)
    assert status == 1
    assert "is STUDENTS_TOKEN still valid?" in printed[CLONE]
    assert "Grade" not in printed
    assert hub.files("teacher/course", "results") == {}


@pytest.mark.parametrize("roster", ["student\nada\n../ben\n", "student\n-ada\n", "student\nada ben\n", None])
def test_a_name_that_is_no_account_stops_the_night(hub, workflow, roster):
    def spoilt(folder):
        (folder / "roster.csv").unlink()
        if roster is not None:
            (folder / "roster.csv").write_text(roster, encoding="utf-8")

    hub.push("teacher/course", spoilt)
    _, printed, status = hub.night(workflow)
    assert status == 1
    assert "not account names" in printed["Read the roster"]


def _run_alone(workflow, step, hub, server=""):
    server = server or f"file://{hub.remotes}"
    only = [one for one in workflow["jobs"]["grade"]["steps"] if one.get("name") == step]
    alone = {"jobs": {"grade": {"env": workflow["jobs"]["grade"]["env"], "steps": only}}}
    surroundings = {
        **hub.environment,
        "RUNNER_TEMP": str(hub.folder),
        "GITHUB_STEP_SUMMARY": str(hub.folder / "summary.md"),
        "GITHUB_SERVER_URL": server,
        "GITHUB_REPOSITORY": "teacher/course",
    }
    printed, status = run_steps(
        alone, "grade", hub.folder, surroundings, {**TOKENS, "github.server_url": server}
    )
    return printed[step], status


def bomb(hub, name, blob, entries, depth):
    """A repository of a few hundred bytes for each level, which holds the same notebook very many times."""
    remote = hub.remote(name)
    hub.git("init", "--quiet", "--bare", "--initial-branch", "main", remote)
    below = "100644 blob " + hub.git("hash-object", "-w", blob, folder=remote).strip()
    for _ in range(depth):
        listing = "".join(f"{below}\t{entry}.ipynb\n" for entry in range(entries))
        made = hub.git("mktree", folder=remote, given=listing)
        below = "040000 tree " + made.strip()
    commit = hub.git("commit-tree", "-m", "work", below.split()[-1], folder=remote).strip()
    hub.git("update-ref", "refs/heads/main", commit, folder=remote)


def test_what_students_commit_costs_nobody_else(hub, workflow):
    """Few bytes that stand for very many files, or large ones, cost their student; links are no links."""
    names = "".join(f"autograd-{name}\n" for name in ("ada", "ben", "cleo", "dora", "eve", "flo"))
    (hub.folder / "repositories").write_text(names, encoding="utf-8")
    (hub.folder / "large").write_bytes(bytes(2**20))
    bomb(hub, "my-course/autograd-dora", hub.remote("my-course/autograd-ada") / "HEAD", entries=10, depth=9)
    bomb(hub, "my-course/autograd-flo", hub.folder / "large", entries=300, depth=1)
    hub.push("my-course/autograd-eve", lambda folder: (folder / "LINK.IPYNB").symlink_to("/etc/passwd"))
    printed, status = _run_alone(workflow, CLONE, hub)
    assert status == 0, printed
    not_cloned = (hub.folder / "not-cloned").read_text(encoding="utf-8")
    assert sorted(not_cloned.split()) == ["autograd-dora", "autograd-flo"]
    assert printed.count("too many or too large files") == 2
    assert "::warning::" not in printed
    clones = {path.name: path for path in (hub.folder / "clones").iterdir()}
    assert set(clones) == {f"autograd-{name}" for name in ("ada", "ben", "cleo", "eve")}
    link = clones["autograd-eve"] / "LINK.IPYNB"
    assert not link.is_symlink()
    assert link.read_text(encoding="utf-8") == "/etc/passwd"


def test_feedback_that_cannot_be_sent_costs_its_student_alone(hub, workflow):
    names = ["ada", "ben", "cleo", "dora", "eve"]
    (hub.folder / "repositories").write_text("".join(f"autograd-{name}\n" for name in names))
    (hub.folder / "not-cloned").write_text("autograd-eve\n")
    pages = {"ada": ".x.md", "ben": "-::x.md", "cleo": ".git", "dora": "01_tiny.md", "eve": "01_tiny.md"}
    for student, name in pages.items():
        (hub.folder / "pages" / f"autograd-{student}").mkdir(parents=True)
        (hub.folder / "pages" / f"autograd-{student}" / name).write_text(student, encoding="utf-8")
    printed, status = _run_alone(workflow, "Give feedback", hub)
    assert status == 1
    told = [line for line in printed.splitlines() if line.startswith("::warning::")]
    lost = ("autograd-cleo", "autograd-dora")
    assert told == [f"::warning::the feedback for {name} could not be sent" for name in lost]
    assert printed.index("::stop-commands::") < printed.index(told[0])
    for student in ("ada", "ben"):
        assert hub.files(f"my-course/autograd-{student}", BRANCH) == {pages[student]: student}
    assert hub.files("my-course/autograd-eve", BRANCH) == {}  # nobody can say tonight what it holds


def test_a_prefix_of_no_repository_is_told(hub, workflow):
    """It may be a typo, or nobody has accepted yet: a warning names it, and the night goes on."""
    names = "autograd-ada\nautograde-ada\n"
    (hub.folder / "repositories").write_text(names, encoding="utf-8")
    workflow["jobs"]["grade"]["env"]["PREFIXES"] = "autograd- autograde-"
    printed, status = _run_alone(workflow, CLONE, hub)
    workflow["jobs"]["grade"]["env"]["PREFIXES"] = "autograd-"
    assert status == 0
    assert "::warning::no repository that begins with autograde- could be cloned" in printed
    assert printed.count("::warning::") == 1


def _without_end(hub):
    """Let `timeout` write its limit down and end as for a command that hangs; returns the limits."""
    (hub.folder / "bin").mkdir()
    stub = hub.folder / "bin" / "timeout"
    stub.write_text('#!/bin/sh\necho "$*" >> "$HOME/limits"\nexit 124\n', encoding="utf-8")
    stub.chmod(0o755)
    hub.environment["PATH"] = f"{stub.parent}{os.pathsep}{hub.environment['PATH']}"
    return hub.folder / "home" / "limits"


@pytest.mark.parametrize(
    ("step", "minutes", "told"),
    [
        (CLONE, "CLONE_MINUTES", "::error::no repository could be cloned"),
        ("Give feedback", "SEND_MINUTES", "::warning::the feedback for a-s149 could not be sent"),
    ],
)
def test_a_class_whose_repositories_all_hang_takes_no_longer_than_is_allowed(
    hub, workflow, step, minutes, told
):
    """150 students with a repository for each of three prefixes: each is tried, in the time of the step."""
    names = [f"{prefix}-s{number:03}" for prefix in "abc" for number in range(150)]
    (hub.folder / "repositories").write_text("".join(f"{name}\n" for name in names))
    if step == "Give feedback":
        (hub.folder / "not-cloned").touch()
        for name in names:
            (hub.folder / "pages" / name).mkdir(parents=True)
    limits = _without_end(hub)
    printed, status = _run_alone(workflow, step, hub)
    assert status == 1
    assert told in printed
    seconds = [int(line.split()[2]) for line in limits.read_text(encoding="utf-8").splitlines()]
    assert len(seconds) == len(names)
    job = workflow["jobs"]["grade"]
    assert min(seconds) >= 20
    assert sum(seconds) <= 60 * int(job["env"][minutes]) * int(job["env"]["AT_A_TIME"])


def test_there_is_time_left_to_set_up_and_to_keep_the_results(workflow):
    """The steps that wait for others, or for students' code, use at most nine tenths of the job's time."""
    job = workflow["jobs"]["grade"]
    used = sum(int(text) for name, text in job["env"].items() if name.endswith("_MINUTES"))
    assert used <= 0.9 * job["timeout-minutes"]


def test_grading_that_takes_too_long_keeps_what_is_graded(hub, workflow):
    limits = _without_end(hub)
    printed, status = _run_alone(workflow, "Grade", hub)
    assert status == 0
    assert "::warning::grading was stopped after 75 minutes" in printed
    assert "75m make grade" in limits.read_text(encoding="utf-8")


def openssl(*arguments, **options):
    command = ["openssl", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def test_the_token_of_an_app_needs_no_action_that_receives_its_key(tmp_path):
    """The script signs by itself, asks for the least permission, and shows neither the key nor the token."""
    key, asked = openssl("genrsa", "2048"), []

    class Api(Door):
        def do_GET(self):
            asked.append((self.path, self.headers["Authorization"], None))
            self.answer({"id": 7})

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.path, self.headers["Authorization"], json.loads(body)))
            self.answer({"token": "ghs_secret"})

        def answer(self, value):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(value).encode())

    with serving(Api) as address:
        environment = {
            "PATH": os.environ["PATH"],
            "ORGANISATION": "my-course",
            "APP_CLIENT_ID": "Iv1.abc",
            "APP_PRIVATE_KEY": key,
            "GITHUB_API_URL": address,
            "GITHUB_OUTPUT": str(tmp_path / "output"),
        }
        script = WORKFLOW.parent / "app-token.sh"
        ran = subprocess.run(["bash", script], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "output").read_text(encoding="utf-8") == "token=ghs_secret\n"
    assert ran.stdout == "::add-mask::ghs_secret\n"
    (got, first, _), (posted, second, body) = asked
    assert (got, posted) == ("/orgs/my-course/installation", "/app/installations/7/access_tokens")
    assert first == second
    assert body == {"permissions": {"contents": "write"}}
    signed, _, signature = first.removeprefix("Bearer ").rpartition(".")
    claims = json.loads(urlsafe_b64decode(signed.partition(".")[2] + "=="))
    assert claims["iss"] == "Iv1.abc"
    assert 0 < claims["exp"] - claims["iat"] <= 600
    (tmp_path / "public").write_text(openssl("rsa", "-pubout", input=key), encoding="utf-8")
    (tmp_path / "signature").write_bytes(urlsafe_b64decode(signature + "=="))
    verify = ["dgst", "-sha256", "-verify", "public", "-signature", "signature"]
    openssl(*verify, cwd=tmp_path, input=signed)


def test_results_that_cannot_be_had_stop_the_night(hub, workflow):
    shutil.rmtree(hub.remote("teacher/course") / "objects")
    printed, status = _run_alone(workflow, BRING_BACK, hub)
    assert status == 1
    assert "cannot be read" in printed


def test_git_gives_the_token_to_the_server_that_asks(hub, workflow):
    given = []

    class Asking(Door):
        def do_GET(self):
            given.append(self.headers["Authorization"])
            self.send_response(404 if given[-1] else 401)
            self.send_header("WWW-Authenticate", 'Basic realm="here"')
            self.end_headers()

    with serving(Asking) as address:
        printed, status = _run_alone(workflow, BRING_BACK, hub, address)
    assert status == 1
    expected = b64encode(f"x-access-token:{TOKENS['github.token']}".encode()).decode()
    assert given[:2] == [None, f"Basic {expected}"]
    assert TOKENS["github.token"] not in printed
    _no_token_was_kept(hub)


def test_it_may_do_no_more_than_it_has_to(workflow):
    """It runs by the clock and by hand, may write to its own repository, and few steps see a secret."""
    assert set(workflow["on"]) == {"schedule", "workflow_dispatch"}
    assert workflow["concurrency"] == {"group": "grade", "cancel-in-progress": False}
    (job,) = workflow["jobs"].values()
    assert workflow["permissions"] == {}
    assert job["permissions"] == {"contents": "write"}
    assert not any("secrets." in value or "github.token" in value for value in job["env"].values())
    seeing = [step["name"] for step in job["steps"] if "secrets." in str(step.get("env"))]
    assert seeing == [CLONE, "Give feedback"]
    with_token = [step for step in job["steps"] if "TOKEN" in step.get("env", {})]
    assert [step["name"] for step in with_token if re.search(r"python|make", step["run"])] == []
    assert all("${{" not in step.get("run", "") for step in job["steps"])


def test_its_actions_are_pinned(workflow):
    """An action is named by its commit, which nobody can move, and leaves no token behind."""
    (job,) = workflow["jobs"].values()
    used = [step for step in job["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"]) for step in used)
    assert used[0]["with"]["persist-credentials"] is False


#: GitHub's runners lose Node 20 on 16 September 2026: the first major version of each action on Node 24.
ON_NODE_24 = {"cache": 5, "checkout": 5, "download-artifact": 7, "setup-python": 6, "upload-artifact": 6}


def test_every_action_runs_on_node_24():
    """Our workflow, that of a release and the example name no version that runners cannot start."""
    templates = ROOT / "grader" / "templates" / "release"
    ours = ROOT / ".github" / "workflows"
    workflows = [path for folder in (ours, templates, WORKFLOW.parent) for path in folder.glob("*.yml")]
    assert len(workflows) >= 3
    for path in workflows:
        for step in re.findall(r"uses:.*", path.read_text(encoding="utf-8")):
            version = r"(?:v(\d+)|[0-9a-f]{40}  # v(\d+)\.\d+\.\d+)"
            named = re.fullmatch(rf"uses: actions/([a-z-]+)(?:/[a-z]+)?@{version}", step)
            assert named, f"{path}: of which version is this? {step}"
            action, major = named[1], int(named[2] or named[3])
            assert action in ON_NODE_24, f"{path}: since which version does {action} run on Node 24?"
            assert major >= ON_NODE_24[action], f"{path}: {step} needs Node 20"


def test_the_page_names_what_the_workflow_uses(workflow):
    page = PAGE.read_text(encoding="utf-8")
    words = "ORGANISATION PREFIXES FEEDBACK_BRANCH STUDENTS_TOKEN `results` roster.csv grade.yml"
    assert [word for word in words.split() if word not in page] == []
