"""Classroom 50: what is written for it passes its rules, and whatever a student pushes gets a Release.

Its rules stand here in our own words, each with the file of ``foundation50/classroom50`` that it is from.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from factories import made, store
from tiny_course import HALF, RIGHT, built, write_course, write_notebook

from grader.cli import main
from grader.errors import GraderError
from grader.integrations.classroom50 import slug_of
from grader.integrations.release import autograder

CLASSROOM, SLUG = "spring-autograd", "01-tiny"
#: What runner.py sets for an autograder, and autograde-runner.yaml for runner.py.
RUNNER = {
    "CLASSROOM": CLASSROOM,
    "ASSIGNMENT": SLUG,
    "SUBMISSION_TAG": "submit/2026-11-21T03-00-00Z-a1b2c3d",
    "PAGES_BASE_URL": "https://org.example/classroom50",
    "USERNAME": "ada",
    "OWNER": "ada",
    "ASSIGNMENT_TYPE": "individual",
    "COMMIT_URL": "https://github.com/org/repo/commit/a1b2c3d",
    "RELEASE_URL": "https://github.com/org/repo/releases/tag/submit%2F1",
    "REVIEW_URL": "https://github.com/org/repo/compare/1...2",
}


# --- their rules


def is_count(value):
    """An integer that is not negative, and no boolean: runner.py and collect_scores.py, validate_result."""
    return type(value) is int and value >= 0


def require_record(record):
    """What runner.py and collect_scores.py (validate_result) ask of a result, and the schemas of a record.

    These are schemas/result-v1.schema.json and scores-v1.schema.json, whose `datetime` is stricter.
    """
    assert record["schema"] == "classroom50/result/v1"
    assert record["submission"].startswith("submit/")
    for field in ("classroom", "owner", "commit", "release", "review"):
        assert isinstance(record[field], str) and record[field], field
    assert record["assignment_type"] in {"individual", "group", "team"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", record["datetime"])
    for scored in (record, *record["tests"]):
        assert is_count(scored["score"]) and is_count(scored["max-score"])
        assert scored["score"] <= scored["max-score"]
    for test in record["tests"]:
        assert isinstance(test["test-name"], str) and test["test-name"]
        assert type(test["passed"]) is bool


def require_result(result, owner):
    """What a student's `result.json` is: validate_result, and result-v1, which allows no other field."""
    require_record(result)
    fields = "schema classroom assignment assignment_type owner submission commit release review datetime"
    assert {*result} <= {*fields.split(), "score", "max-score", "tests", "graded_at", "submitted_by"}
    assert (result["classroom"], result["assignment"]) == (CLASSROOM, SLUG)
    assert result["owner"].lower() == owner


def require_runtime(runtime):
    """Its only keys, and what a version looks like: cli/gh-teacher/internal/assignment/runtime.go."""
    assert {*runtime} <= {"runs-on", "container", "python", "node", "java", "go", "rust", "apt"}
    assert re.fullmatch(r"[A-Za-z0-9._+-]{1,32}", runtime["python"])


def require_slug(slug):
    """The pattern of autograde-runner.yaml and schemas/assignments-v1.schema.json."""
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{1,38}", slug)


def require_scores(scores):
    """schemas/scores-v1.schema.json; collect_scores.py (normalize_assignments) refuses any other file."""
    assert {*scores} == {"schema", "assignments"} and scores["schema"] == "classroom50/scores/v1"
    for slug, bucket in scores["assignments"].items():
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{1,99}", slug)
        assert {"type", "entries"} <= {*bucket} <= {"type", "entries", "collected_at"}
        owners = [entry["owner"].lower() for entry in bucket["entries"]]
        assert len(owners) == len({*owners}) and all(owners)
        for entry in bucket["entries"]:
            assert type(entry.get("override", False)) is bool and entry["submissions"]
            for record in entry["submissions"]:
                require_record(record)
                assert "assignment" not in record


def shown(scores, slug):
    """By owner, the score on the teacher's page: of the submission with the latest time.

    web/src/domain/assignments/scoreOverride.ts says so, and dates its overrides after all others for it.
    """
    rows = {}
    for entry in scores["assignments"][slug]["entries"]:
        latest = max(entry["submissions"], key=lambda record: record["datetime"])
        rows[entry["owner"]] = (latest["score"], latest["max-score"])
    return rows


def cleared(entry):
    """What stays when a teacher clears an override: scoreOverride.ts knows one by how its tag begins."""
    return [one for one in entry["submissions"] if not one["submission"].startswith("submit/manual-")]


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """The bundles of the tiny course, and a folder in which their wheel is as if it were installed."""
    root = write_course(tmp_path_factory.mktemp("c50") / "course")
    (root / "course.toml").write_text("[points.01_tiny]\nq1 = 2.5\n", encoding="utf-8")
    built(root)
    out, site = root.parent / "out", root.parent / "site"
    before = Path.cwd()
    os.chdir(root)
    try:
        done = CliRunner().invoke(main, ["release", "--classroom50", "--out", str(out)])
    finally:
        os.chdir(before)
    assert done.exit_code == 0, done.output
    (wheel,) = out.glob(f"autograders/{SLUG}/*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    return out, site


def test_a_bundle_is_laid_out_as_theirs(released):
    """Names fit, Python is said, a folder is small enough to be fetched and holds no hidden check."""
    out, _ = released
    assert json.loads((out / "slugs.json").read_text()) == {"01_tiny": SLUG}
    require_slug(SLUG)
    runtime = json.loads((out / "runtime.json").read_text())
    require_runtime(runtime)
    assert runtime["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    bundle = out / "autograders" / SLUG
    assert (bundle / "autograder.py").is_file()  # runner.py, resolve_entrypoint
    packed = io.BytesIO()  # as publish-pages.yaml does it
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(bundle, SLUG)
    assert len(packed.getvalue()) < 10 << 20  # runner.py, MAX_FETCH_BYTES
    described = (bundle / "bundle.json").read_text(encoding="utf-8")
    assert "double" not in described and "requires_grad" not in described
    (wheel,) = bundle.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if "hidden" in name or "solutions" in name]


def push(released, folder, files):
    """A push to Ada's repository, graded as runner.py does it (run_entrypoint)."""
    out, site = released
    folder.mkdir()
    for name, write in files.items():
        write(folder / name)
    taken = folder.parent / "runtime" / SLUG
    shutil.copytree(out / "autograders" / SLUG, taken)
    command, environment = [sys.executable, taken / "autograder.py"], RUNNER | {"PYTHONPATH": str(site)}
    return subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def runner(released, tmp_path, monkeypatch):
    """An empty repository in which `autograder.main()` runs in this process."""
    out, site = released
    for name, value in {**RUNNER, "PYTHONPATH": str(site)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(autograder, "_HERE", out / "autograders" / SLUG)
    return tmp_path


PUSHES = {
    "right": ({"01_tiny.ipynb": lambda path: write_notebook(path, RIGHT)}, 13),
    "wrong": (
        {
            "01_tiny.ipynb": lambda path: write_notebook(path, [*HALF, "import os\nos._exit(3)"]),
            # Neither a module nor a package in the checkout can pose as the grader, or as json.
            "grader.py": lambda path: path.write_text("raise SystemExit(7)"),
            "json.py": lambda path: path.write_text("raise SystemExit(7)"),
        },
        5,
    ),
    "broken": ({"01_tiny.ipynb": lambda path: path.write_text("{")}, 0),
    "missing": ({"README.md": lambda path: path.write_text("Hello.")}, 0),
}


@pytest.mark.parametrize(("files", "score"), PUSHES.values(), ids=PUSHES)
def test_whatever_is_pushed_gets_a_result(files, score, released, tmp_path):
    folder = tmp_path / "repository"
    done = push(released, folder, files)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((folder / "result.json").read_text())
    require_result(result, "ada")
    assert (result["score"], result["max-score"]) == (score, 13)
    names = [test["test-name"] for test in result["tests"]]
    assert names == ["q1 · Double (2.5 points)", "q2 · A leaf (4 points)"]
    told = (folder / "release-body.md").read_text(encoding="utf-8")
    assert "Public checks" in told
    if score == 0:  # the advice names a file that a student's repository has
        assert "copy .handout/01_tiny.ipynb" in told
    assert (folder / "README.md").exists() == ("README.md" in files)


def test_a_push_that_does_not_end_gets_a_result_too(runner, monkeypatch):
    """Where there is no time left for the checks, no question has points, and the student reads why."""
    monkeypatch.setattr(autograder, "_SECONDS", 0)
    write_notebook(runner / "01_tiny.ipynb", ["while True: pass"])
    assert autograder.main() == 0
    result = json.loads((runner / "result.json").read_text())
    require_result(result, "ada")
    assert result["score"] == 0
    assert "did not come to an end" in (runner / "release-body.md").read_text()


def test_a_machine_without_pytorch_gets_no_result(runner, monkeypatch, capsys):
    """That is no fault of the student's: the autograder ends with 1, so that the push is graded again."""
    monkeypatch.setattr(autograder, "find_spec", lambda _: None)
    asked = []

    def run(command, **_):
        asked.append([str(part) for part in command[2:]])
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(autograder.venv, "create", lambda *_, **__: None)
    monkeypatch.setattr(autograder.subprocess, "run", run)
    assert autograder.main() == 1
    assert "::error::PyTorch and the grader could not be installed" in capsys.readouterr().out
    small, any_build = asked
    assert "--index-url" in small and small[-1].startswith("torch==")
    assert "--index-url" not in any_build and small[-1] in any_build and any_build[-1].endswith(".whl")
    assert not (runner / "result.json").exists()
    monkeypatch.delenv("OWNER")
    assert autograder.main() == 1
    assert "OWNER not set" in capsys.readouterr().out


def test_bundles_and_a_student_repository_do_not_mix(released, monkeypatch):
    """A release of the other kind would remove what students were given."""
    out, _ = released
    (wheel,) = out.glob("autograders/*/*.whl")
    monkeypatch.setattr("grader.integrations.release.build_wheel", lambda *_: wheel)
    monkeypatch.chdir(out.parent / "course")
    refused = CliRunner().invoke(main, ["release", "--out", str(out)])
    assert "another kind of release" in refused.output
    assert (out / "slugs.json").is_file()


def test_a_name_that_is_too_long_is_refused():
    """It would fit no slug, and cutting it might give two assignments one."""
    require_slug(slug_of("08_functions_and_hooks"))
    require_slug(slug_of("01_" + "a" * 36))
    with pytest.raises(GraderError, match="give the assignment a shorter name"):
        slug_of("01_" + "a" * 37)


def collected(owner, at, score=3, **other):
    """A submission as collect_scores.py has taken it from a Release."""
    name = {"classroom": CLASSROOM, "assignment_type": "individual", "owner": owner}
    links = {
        "submission": f"submit/{at.replace(':', '-')}-a1b2c3d",
        "commit": "c",
        "release": "r",
        "review": "v",
    }
    scored = {"datetime": at, "score": score, "max-score": 13, "tests": []}
    return {"schema": "classroom50/result/v1", **name, **links, **scored, **other}


def by_hand(owner, score):
    name = "submit/manual-2026-11-22T00-00-00Z"
    same = dict.fromkeys(("submission", "commit", "release", "review"), name)
    return {
        "owner": owner,
        "override": True,
        "submissions": [collected(owner, "2026-11-22T00:00:00Z", score) | same],
    }


class Classroom:
    """A clone of the repository classroom50, results, and the command."""

    def __init__(self, root):
        self.folder = root / "classroom50" / CLASSROOM
        self.results = root / "results"
        self.folder.mkdir(parents=True)
        self.write("assignments.json", self.assignments(SLUG))
        head = "username,first_name,last_name,email,section,github_id,role\n"
        roster = head + "Ada-L,Ada,Lovelace,ada@example.org,,1,student\nben,Ben,B,,,2,student\n"
        (self.folder / "roster.csv").write_text(roster)
        old = [
            collected("ada-l", "2026-11-21T08:00:00Z", late=True, extra="kept"),
            collected("ada-l", "2026-11-20T08:00:00Z"),
        ]
        bucket = {
            "type": "individual",
            "collected_at": "2026-11-21T09:00:00Z",
            "entries": [{"owner": "ada-l", "kept": 1, "submissions": old}],
        }
        self.scores = {"schema": "classroom50/scores/v1", "assignments": {"other": bucket, SLUG: bucket}}
        self.write("scores.json", self.scores)

    def assignments(self, *slugs, **other):
        entries = [{"slug": slug, "name": slug, "mode": "individual", **other} for slug in slugs]
        return {"schema": "classroom50/assignments/v1", "assignments": entries}

    def write(self, name, content):
        (self.folder / name).write_text(json.dumps(content), encoding="utf-8")

    def export(self, *results, arguments=()):
        shutil.rmtree(self.results, ignore_errors=True)
        store(self.results, *results)
        scores = str(self.folder / "scores.json")
        command = ["export", "classroom50", "--gradebook", scores, "--out", str(self.folder)]
        return CliRunner().invoke(main, [*command, "--results", str(self.results), *arguments])

    def read(self):
        return json.loads((self.folder / "scores.json").read_text(), parse_constant=pytest.fail)

    def entries(self, slug=SLUG):
        return {entry["owner"]: entry for entry in self.read()["assignments"][slug]["entries"]}


@pytest.fixture
def classroom(tmp_path, monkeypatch):
    monkeypatch.chdir(write_course(tmp_path / "course"))
    return Classroom(tmp_path)


def test_hidden_results_come_to_the_teachers_page(classroom):
    """Each is an override that is the newest, also of who never pushed; what was collected stays below."""
    early, late = "2026-11-20T23:30:00+01:00", "2026-11-22T00:30:00+02:00"
    ended = classroom.export(made("Ada Lovelace", handed_in=early), made("ben", handed_in=late))
    assert ended.exit_code == 0, ended.output
    scores = classroom.read()
    require_scores(scores)
    assert shown(scores, SLUG) == {"ada-l": (9, 20), "ben": (9, 20)}
    entries = classroom.entries()
    ada = entries["ada-l"]["submissions"]
    assert [one["datetime"] for one in ada] == [
        "2026-11-21T08:00:01Z",  # a second after the newest
        "2026-11-21T08:00:00Z",
        "2026-11-20T08:00:00Z",
    ]
    for entry in entries.values():
        first = entry["submissions"][0]
        assert entry["override"] is True
        name = f"submit/manual-{first['datetime'].replace(':', '-')}"
        assert {first[field] for field in ("submission", "commit", "release", "review")} == {name}
        assert (first["classroom"], first["owner"]) == (CLASSROOM, entry["owner"])
    assert entries["ben"]["submissions"][0]["datetime"] == "2026-11-21T22:30:00Z"  # when it was handed in
    assert cleared(entries["ada-l"]) == classroom.scores["assignments"][SLUG]["entries"][0]["submissions"]
    assert entries["ada-l"]["kept"] == 1
    assert scores["assignments"]["other"] == classroom.scores["assignments"]["other"]


def test_the_same_results_give_the_same_file_and_new_ones_replace_them(classroom):
    classroom.export(made("ben"), made("ada-l"))
    before = (classroom.folder / "scores.json").read_bytes()
    classroom.export(made("ben"), made("ada-l"))
    assert (classroom.folder / "scores.json").read_bytes() == before
    better = made("ben")
    better["questions"][0]["score"] = 7.0
    classroom.export(better | {"score": 8.0}, made("ada-l"))
    assert shown(classroom.read(), SLUG)["ben"] == (16, 20)
    assert [len(entry["submissions"]) for entry in classroom.entries().values()] == [3, 1]


def test_what_was_set_by_hand_there_is_kept_and_named(classroom):
    """A teacher's override would be lost otherwise; so would a submission that was frozen."""
    frozen = {"owner": "ada-l", "override": True, "submissions": [collected("ada-l", "2026-11-21T08:00:00Z")]}
    classroom.scores["assignments"][SLUG]["entries"] = [by_hand("ben", 11), frozen]
    classroom.write("scores.json", classroom.scores)
    ended = classroom.export(made("ben"), made("ada-l"))
    assert "nothing could be filled in" in ended.output
    assert "set by hand in Classroom 50 (clear them there to use these): Ada-L; ben." in ended.output
    assert classroom.read() == classroom.scores


def test_a_total_that_is_not_the_sum_says_why(classroom):
    """After a penalty the total is ours, which their rules allow; a test worth nothing says what moved it."""
    late = {"minutes": 90, "penalty": 1.5, "due": None}
    classroom.export(made("ben", score=3.0, late=late), made("ada-l", score=5.5))
    require_scores(classroom.read())
    ben, ada = (classroom.entries()[owner]["submissions"][0] for owner in ("ben", "ada-l"))
    assert (ben["score"], sum(test["score"] for test in ben["tests"]), ben["max-score"]) == (6, 9, 20)
    assert ben["tests"][-1]["test-name"] == "Late, or changed by hand: -1.5 points"
    assert ada["tests"][-1]["test-name"] == "Late, or changed by hand: +1 points"
    assert (ben["late"], "late" in ada) == (True, False)


def test_nobody_is_guessed(classroom):
    """Who is not in the classroom, may be two people, or is in a group that never pushed, is named."""
    with_roster = (classroom.folder / "roster.csv").read_text() + "kim1,Kim,Lee,,,3,\nkim2,Kim,Lee,,,4,\n"
    (classroom.folder / "roster.csv").write_text(with_roster)
    ended = classroom.export(made("ben"), made("zoe"), made("Kim Lee"))
    assert f"Not in {CLASSROOM}, so left out: zoe." in ended.output
    assert f"more than one person in {CLASSROOM} may be meant: Kim Lee." in ended.output
    assert {*classroom.entries()} == {"ada-l", "ben"}
    del classroom.scores["assignments"][SLUG]
    classroom.write("scores.json", classroom.scores)
    classroom.write("assignments.json", classroom.assignments(SLUG, mode="group"))
    ended = classroom.export(made("ben"))
    assert "has collected nothing from their group: ben." in ended.output


def test_an_assignment_of_another_name_there_is_named(classroom):
    """Without its name it is left out, and the note says what to do; with it, it is filled in."""
    classroom.write("assignments.json", classroom.assignments("leaves", "other"))
    ended = classroom.export(made("ben"))
    assert "has no assignment 01-tiny. Register it, or" in ended.output
    assert "--column 01_tiny=NAME; there are leaves, other." in ended.output
    assert classroom.export(made("ben"), arguments=["--column", "01_tiny=leaves"]).exit_code == 0
    assert shown(classroom.read(), "leaves") == {"ben": (9, 20)}


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59Z", "soon", ""])
def test_no_time_that_a_student_wrote_stops_an_export(classroom, at):
    entry = classroom.scores["assignments"][SLUG]["entries"][0]
    entry["submissions"] = [collected("ada-l", at)]
    classroom.write("scores.json", classroom.scores)
    assert classroom.export(made("ada-l")).exit_code == 0
    assert classroom.entries()["ada-l"]["submissions"][0]["score"] == 9


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("scores.json", "{"),
        ("scores.json", '{"schema": "classroom50/scores/v1", "assignments": {}, "other": NaN}'),
        ("scores.json", '{"schema": "classroom50/scores/v2", "assignments": {}}'),
        ("scores.json", '{"schema": "classroom50/scores/v1", "assignments": {"01-tiny": []}}'),
        ("assignments.json", "[]"),
        ("assignments.json", None),
    ],
)
def test_a_file_that_is_not_theirs_is_named_and_nothing_is_written(classroom, name, text):
    """A file that was edited in a wrong way, or lies outside of its classroom."""
    path = classroom.folder / name
    path.unlink() if text is None else path.write_text(text)
    before = (classroom.folder / "scores.json").read_bytes()
    ended = classroom.export(made("ben"))
    assert ended.exit_code == 2 and str(path) in ended.output
    assert (classroom.folder / "scores.json").read_bytes() == before


@pytest.mark.parametrize(
    ("partial_credit", "factor", "rounded"),
    [(0.5, 2, False), (0.3, 10, False), (1, 1, True), (1 / 3, 3, True), (0.12345, 1, True)],
)
def test_points_are_multiplied_by_what_can_be_earned(classroom, partial_credit, factor, rounded):
    """The factor is the same whoever hands in, in part or in full; the names of tests say the points."""
    Path("course.toml").write_text(f"[score]\npartial_credit = {partial_credit}\n", encoding="utf-8")
    full = made("ada-l")
    for each in full["questions"]:
        each["score"] = each["max_score"]
    for results in ([full | {"score": 10.0}], [full | {"score": 10.0}, made("ben")]):
        ended = classroom.export(*results)
        assert shown(classroom.read(), SLUG)["ada-l"] == (10 * factor, 10 * factor)
        assert ("points are multiplied" in ended.output) == (factor > 1)
    require_scores(classroom.read())
    assert ("rounded down" in ended.output) == rounded
    ben = classroom.entries()["ben"]["submissions"][0]
    assert ben["score"] == int(4.5 * factor)
    assert ben["tests"][0]["test-name"] == "q1 · Question 1 (3.5 of 7 points)"


def test_without_scores_each_result_passes_the_rules_of_a_submission(tmp_path, monkeypatch):
    """A `result.json` for each student, also where nothing says of which classroom and submission it is."""
    monkeypatch.chdir(write_course(tmp_path / "course"))
    for variable in RUNNER:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("CLASSROOM", CLASSROOM)
    results, out = store(tmp_path / "results", made("ada"), made("ben")), tmp_path / "out"
    ended = CliRunner().invoke(main, ["export", "classroom50", "--results", str(results), "--out", str(out)])
    assert ended.exit_code == 0, ended.output
    for owner in ("ada", "ben"):
        require_result(json.loads((out / owner / "01_tiny" / "result.json").read_text()), owner)
