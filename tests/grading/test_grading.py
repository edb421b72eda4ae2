"""Grading a folder: what is graded, what is reused, what is written, and how bad input is met."""

import hashlib
import json
import subprocess
import sys

import pytest
from tiny_course import HALF, RIGHT, edit, write_course, write_notebook

from grader.course.course import Course
from grader.errors import SandboxError
from grader.grading import executor
from grader.grading import run as grading
from grader.grading.submission import find_versions
from grader.integrations.release import MANIFEST


@pytest.fixture
def klass(klass, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a check file edited twice a second is read twice
    klass.hand_in("ada", RIGHT)
    klass.hand_in("ben", HALF)
    return klass


def grade(klass, *options, submissions=None):
    return klass.run("grade", submissions or klass.submissions, "--out", klass.out, *options)


def evidence_times(klass):
    return {p: p.stat().st_mtime_ns for p in (klass.out / "evidence").rglob("*.json")}


def test_what_the_stub_passes_earns_nothing_by_itself(klass):
    """A student who changed nothing but the text of the stub earns nothing, and reads why."""
    edit(klass.course / "solutions/01_tiny.py", "    # return n\n", "    # return torch.zeros(n)\n")
    klass.grade(ben=[*HALF[:2], f"{HALF[2]} * 1"])
    leaf = klass.result("ben")["questions"][1]
    assert [(check["outcome"], check["points"]) for check in leaf["checks"]] == [("passed", 0), ("failed", 0)]
    assert (leaf["score"], klass.scores()) == (0, {"ada": "6", "ben": "0"})
    page = (klass.out / "feedback" / "ben" / "01_tiny.md").read_text(encoding="utf-8")
    assert page.count("earns nothing while another check fails") == 1
    explained = " ".join(klass.explain("ben", "01_tiny", "q2", "--all").stdout.split())
    assert "1 of 2 checks passed: 0 points. A check earns nothing while another" in explained
    assert "judged now the same, check by check" in explained
    before = klass.files()
    assert "0 new" in klass.grade()
    assert klass.files() == before


def test_a_run_that_observes_nothing_starts_no_worker(klass, monkeypatch):
    """Results keep the sandbox of their observation, and a changed check judges the stored evidence.

    Before a new notebook runs, the sandbox is tried.
    """
    klass.grade()
    before = klass.files()

    def refuse(**_):
        raise SandboxError("students' code cannot be confined here: no seccomp")

    monkeypatch.setattr(executor, "Zygote", refuse)
    second = klass.grade()
    assert "This run: 0 new\n" in second
    assert f"Sandbox: {klass.result('ada')['provenance']['protection']}\n" in second
    assert klass.files() == before
    klass.edit_checks(("made.seen.tensor().requires_grad", "made.seen.tensor().is_leaf"))
    assert "This run: 2 judged again\n" in klass.grade()
    assert klass.scores() == {"ada": "6", "ben": "4"}
    before = klass.files()
    klass.hand_in("cem", RIGHT)
    klass.hand_in("dora", []).write_text("{", encoding="utf-8")
    ended = grade(klass)
    assert (ended.exit_code, len(ended.stderr.splitlines())) == (3, 1)
    assert klass.files() == before, "nothing was written before the sandbox was tried"


def test_where_nothing_runs_nothing_is_said_to_be_confined(klass):
    for student in ("ada", "ben"):
        (klass.submissions / student / "01_tiny.ipynb").write_text("{", encoding="utf-8")
    assert "Sandbox: not needed" in klass.grade()
    assert klass.result("ada")["provenance"]["protection"] is None
    assert "This run: 0 new\n" in klass.grade()
    assert "This run: 1 graded again\n" in klass.grade(ada=RIGHT)
    assert klass.result("ada")["provenance"]["protection"] == "landlock+seccomp"
    assert klass.result("ben")["provenance"]["protection"] is None


def test_results_do_not_go_where_students_read(klass):
    (klass.out / MANIFEST).parent.mkdir(parents=True)
    (klass.out / MANIFEST).write_text("{}")
    inner = klass.out / "results"
    for out in (klass.out, inner, klass.submissions, klass.submissions.parent):
        klass.out = out
        ended = grade(klass)
        assert ended.exit_code == 2
        assert "choose another --out" in ended.stderr
    assert sorted(path.name for path in klass.submissions.iterdir()) == ["ada", "ben"]


def test_a_roster_of_another_class_is_refused(klass):
    """If nobody is on it, everybody would be absent: nothing is graded, and the likely name is told."""
    roster = klass.submissions / "roster.csv"
    roster.write_text("student\nAdda\nBenn\n", encoding="utf-8")
    ended = grade(klass)
    assert (ended.exit_code, klass.out.exists()) == (2, False)
    assert f"{roster} matches no submission: its columns" in ended.stderr
    assert "ada is not on it: did you mean Adda?" in ended.stderr


def test_a_changed_contract_observes_again(klass):
    klass.grade()
    evidence = evidence_times(klass)
    klass.edit_checks(("torch.randint(3, 9", "torch.randint(4, 9"))
    klass.grade()
    after = evidence_times(klass)
    assert all(after[path] > time for path, time in evidence.items())


def test_one_student_is_graded_and_the_others_keep_their_rows(klass):
    (klass.submissions / "roster.csv").write_text("student\nada\nben\n=zoe\n", encoding="utf-8")
    assert "missing" in klass.grade()
    assert "This run: 1 graded again\n" in klass.grade("--student", "ada", "--force")
    assert klass.scores() == {"ada": "6", "ben": "1.5", "'=zoe": "0"}
    assert (klass.out / "feedback" / "ben" / "01_tiny.md").is_file()


def test_what_is_of_no_known_assignment_is_in_error_whichever_is_graded(klass):
    """That holds for an unreadable notebook and for files that are no notebooks; an empty folder is named."""
    klass.grade()
    for student, name in (("yan", "homework.ipynb"), ("zed", "answers.zip"), ("zoe", None)):
        (klass.submissions / student).mkdir()
        if name:
            (klass.submissions / student / name).write_text("{", encoding="utf-8")
    told = klass.grade("--assignment", "01_tiny")
    assert "2 in error\nThis run: 2 new\n" in told and "No notebook in: zoe" in told
    assert "homework.ipynb is not a notebook" in klass.result("yan", "homework")["error"]
    assert "zed holds no notebook, only answers.zip" in klass.result("zed", "zed")["error"]


def test_results_among_the_submissions_are_no_student(klass):
    klass.out = klass.submissions / "graded"
    klass.grade()
    told = klass.grade()
    assert "0 new" in told
    assert "No notebook in" not in told
    assert set(klass.scores()) == {"ada", "ben"}


def test_a_notebook_that_only_ends_its_process_is_in_error(klass):
    klass.grade(kai=["import os\nos._exit(0)"] * 4)
    result = klass.result("kai")
    assert (result["status"], result["score"]) == ("error", 0)
    assert "ended" in result["error"]
    assert [c["outcome"] for q in result["questions"] for c in q["checks"]] == ["failed"] * 3


@pytest.mark.long
def test_without_a_sandbox_every_result_says_so(klass):
    command = [sys.executable, "-m", "grader", "grade", klass.submissions, "--out", klass.out, "--no-sandbox"]
    subprocess.run(command, cwd=klass.course, capture_output=True, timeout=60, check=True)
    assert klass.result("ada")["provenance"]["protection"] == "none"
    assert "without a sandbox" in (klass.out / "report.html").read_text(encoding="utf-8")
    assert "Graded without a sandbox" in (klass.out / "feedback" / "ada" / "01_tiny.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("folder", "options", "told"),
    [
        ("", ["--assignment", "99_none"], "no assignment 99_none; this course has 01_tiny"),
        ("", ["--student", "nobody"], "nobody is not a student of this class: there is ada, ben"),
        ("none", [], "none cannot be read (No such file or directory): name the folder"),
        ("file", [], "file cannot be read (Not a directory): name the folder"),
        ("empty", [], "empty contains no notebooks"),
    ],
)
def test_what_cannot_be_graded_is_told_in_a_sentence(klass, folder, options, told):
    """Exit status 2, one sentence, and nothing written."""
    (klass.submissions / "empty").mkdir()
    (klass.submissions / "file").touch()
    ended = grade(klass, *options, submissions=klass.submissions / folder)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert told in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert not klass.out.exists()


def test_results_that_cannot_be_written_are_told_before_anything_runs(klass):
    klass.out.write_text("mine", encoding="utf-8")
    ended = grade(klass)
    assert ended.exit_code == 2
    assert str(klass.out) in ended.stderr
    assert klass.out.read_text(encoding="utf-8") == "mine"


def test_a_course_that_fails_its_own_reference_grades_nobody(klass):
    klass.edit_checks(("torch.randint(3, 9, ())", "torch.randint(3, 9)"))
    ended = grade(klass)
    assert ended.exit_code == 2
    assert "called by contract made, fails on the reference" in ended.stderr
    assert not (klass.out / "submissions").exists()


def test_without_a_course_around_the_packages_own_is_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "01_leaves" in Course.find().stems


def test_a_course_among_the_submissions_is_nobodys_course(klass, monkeypatch):
    """The checks of a course run unconfined, so a course that was handed in is refused before it is read."""
    mallory = write_course(klass.submissions / "mallory")
    (mallory / "tests" / "hidden" / "test_01_tiny.py").write_text("raise SystemExit('run by the grader')")
    monkeypatch.chdir(mallory)
    for submissions in (mallory, klass.submissions):
        ended = grade(klass, submissions=submissions)
        assert ended.exit_code == 2
        assert "where only students' work may be" in ended.stderr


def test_after_a_finished_run_the_inputs_are_new(klass):
    """Feedback may tell the inputs: a student who submits again meets others, nobody else does."""
    klass.grade()
    first, ada = klass.seed("ada"), klass.result("ada")
    assert klass.seed("ben") == first
    assert "This run: 1 new, 1 graded again\n" in klass.grade(ben=RIGHT, cem=HALF)
    assert klass.scores() == {"ada": "6", "ben": "6", "cem": "1.5"}
    assert klass.seed("ben") != first
    assert klass.seed("ada") == first
    assert klass.result("ada") == ada
    before = evidence_times(klass)
    klass.edit_checks(('"This is not a leaf."', '"No leaf."'))
    assert "3 judged again" in klass.grade()
    assert evidence_times(klass) == before, "each was judged beside the reference on the inputs it had"


def test_references_are_those_of_stored_observations(klass):
    """A reference goes with the last observation on its inputs; `explain` still has all it needs."""
    klass.grade()
    klass.grade(ben=RIGHT)
    assert references(klass) == {klass.seed("ada"), klass.seed("ben")}
    klass.grade(ben=HALF)
    assert references(klass) == {klass.seed("ada"), klass.seed("ben")}
    for student in ("ada", "ben"):
        assert "judged now  the same, check by check" in klass.explain(student, "01_tiny", "--all").stdout
    before = references(klass)
    assert "This run: 2 graded again\n" in klass.grade("--force")
    assert references(klass) == {klass.seed("ada")} == {klass.seed("ben")}
    assert references(klass).isdisjoint(before), "the inputs are others"


def references(klass):
    """The seeds of all stored references, each of which must be there once."""
    paths = [*(klass.out / "reference").glob("*.json")]
    seeds = {json.loads(path.read_text(encoding="utf-8"))["seed"] for path in paths}
    assert len(seeds) == len(paths)
    return seeds


def test_a_run_record_that_is_lost_runs_nobody_again(klass):
    klass.grade()
    before = evidence_times(klass)
    (klass.out / "run.json").unlink()
    assert "This run: 0 new" in klass.grade()
    klass.edit_checks(('"This is not a leaf."', '"No leaf."'))
    (klass.out / "run.json").unlink()
    assert "2 judged again" in klass.grade()
    assert evidence_times(klass) == before


def test_a_stopped_force_goes_on_without_force(klass):
    """What was observed before it began is observed again; what it observed itself is not."""
    klass.grade()
    before = evidence_times(klass)
    record = {**klass.run_record(), "finished": False, "forced": True, "seed": klass.seed("ada")}
    (klass.out / "run.json").write_text(json.dumps(record), encoding="utf-8")
    assert "This run: 0 new" in klass.grade()
    assert evidence_times(klass) == before
    (klass.out / "run.json").write_text(json.dumps({**record, "seed": 4711}), encoding="utf-8")
    assert "This run: 2 graded again" in klass.grade()
    assert klass.seed("ada") == klass.seed("ben") == 4711


def test_what_decides_about_no_verdict_is_not_observed(klass):
    """How exact a reference is counts where an answer is nearly right, and the stubs where a check failed."""
    reference, stubs = klass.out / "reference", klass.out / "reference" / "stubs"
    klass.grade(ben=RIGHT)
    assert not stubs.exists()
    assert " (perturbed " not in next(reference.glob("*.json")).read_text(encoding="utf-8")
    klass.grade("--force", ben=[*RIGHT, "def double(x): return 2.002 * x"])
    assert klass.scores() == {"ada": "6", "ben": "4"}
    assert stubs.exists()
    texts = [path.read_text(encoding="utf-8") for path in reference.glob("*.json")]
    assert [text.count(" (perturbed ") for text in texts] == [2], "of the question in doubt alone"
    assert "double" in klass.explain("ben", "01_tiny", "--all").stdout


@pytest.mark.parametrize("meanwhile", ["changed", "removed"])
def test_a_notebook_that_changes_between_finding_and_observing(klass, monkeypatch, meanwhile):
    """It is in error, never a result of other content; and the next run grades what is there."""
    ada = klass.submissions / "ada" / "01_tiny.ipynb"
    found_sha256 = hashlib.sha256(ada.read_bytes()).hexdigest()

    def find_then_change(*args):
        found = find_versions(*args)
        write_notebook(ada, HALF) if meanwhile == "changed" else ada.unlink()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(grading, "find_versions", find_then_change)
        klass.grade()
    result = klass.result("ada")
    assert (result["status"], result["score"]) == ("error", 0)
    assert result["error"] == "The notebook was changed or removed while it was graded; grade again."
    assert result["provenance"]["notebook_sha256"] == found_sha256
    assert klass.scores() == {"ada": "0", "ben": "1.5"}
    write_notebook(ada, RIGHT)
    assert "1 graded again" in klass.grade()
    assert klass.scores() == {"ada": "6", "ben": "1.5"}


def test_other_limits_mean_another_look(klass):
    klass.grade("--cell-seconds", "1")
    assert "0 new" in klass.grade("--cell-seconds", "1")
    assert "2 graded again" in klass.grade("--cell-seconds", "10")


def test_results_of_an_older_course_break_no_report(klass):
    """A run for one student leaves the others' results, though the course has got another question since."""
    klass.grade()
    path = klass.out / "submissions" / "ben" / "01_tiny.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    del result["questions"][0], result["questions"][0]["checks"][0]
    path.write_text(json.dumps(result), encoding="utf-8")
    klass.grade("--student", "ada")
    assert "01_tiny" in (klass.out / "report.html").read_text(encoding="utf-8")


def test_control_characters_reach_no_page(klass):
    broken = "raise ValueError('a\\0b\\x1b]0;owned\\x07')"
    klass.grade(ben=[broken, *RIGHT])
    for page in ("report.html", "feedback/ben/01_tiny.html", "feedback/ben/01_tiny.md"):
        assert not {"\0", "\x1b", "\x07"} & set((klass.out / page).read_text(encoding="utf-8")), page


def test_a_roster_that_is_a_link_is_not_read(klass, tmp_path):
    """A link may lead to any file of the machine."""
    secret = tmp_path / "secret.csv"
    secret.write_text("student\nsomebody\n", encoding="utf-8")
    (klass.submissions / "roster.csv").symlink_to(secret)
    klass.grade()
    assert "somebody" not in klass.scores()
