"""Outside: the sample class in submissions/, graded from the command line as an instructor would do it."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from tiny_class import read_csv

from grader.sandbox.worker import syscalls
from grader.scores import format_points

pytestmark = pytest.mark.skipif(syscalls.machine() is None, reason="grading is confined on 64-bit Linux only")

ROOT = Path(__file__).resolve().parents[2]
NOBODY_CAN_SAY_WHEN = 1_700_000_000  # one time for every file, as after a clone or an unpacked archive

# Student, name of the result, status, what each question earns, what it is worth, and why.
CLASS = [
    ("ada", "01_leaves", "graded", "5 6 5 5 5 5", 31, "right"),
    ("ada", "02_backward_twice", "graded", "5 6 5 6 6 5 5", 38, "right"),
    ("ada", "03_truncated_bptt", "graded", "8 6 6 5 5", 30, "right"),
    ("ada", "05_inplace_reinit", "graded", "5 5 5 5 5 5", 30, "right"),
    ("ben", "02_backward_twice", "graded", "1.5 0 0 0 2 0 0", 38, "partial"),
    ("ben", "03_truncated_bptt", "graded", "0 0 6 0 5", 30, "partial"),
    ("chen", "01_leaves", "graded", "0 0 0 0 0 0", 31, "untouched"),
    ("dara", "05_inplace_reinit", "error", "0 0 0 0 0 0", 30, "truncated"),
    ("emil", "01_leaves", "graded", "5 6 5 5 5 5", 31, "looping-cell"),
    ("fay", "03_truncated_bptt", "graded", "8 6 0 5 5", 30, "looping-function"),
    ("gus", "05_inplace_reinit", "graded", "5 5 1.5 5 1 0", 30, "exiting"),
    ("hana", "03_truncated_bptt", "graded", "8 6 6 5 5", 30, "untidy"),
    ("hana", "04_detach", "graded", "5 1.5 0 1 0 0", 29, "partial"),
    ("ivo", "03_truncated_bptt", "graded", "8 6 0 5 0.5", 30, "twice"),
    ("jun", "homework2", "error", "", 0, "foreign"),
    ("kim", "05_inplace_reinit", "graded", "2 0 0 5 5 5", 30, "partial"),
    ("kim", "06_views", "graded", "0 4 0.5 4 0", 21, "partial"),
    ("lea", "01_leaves", "graded", "0 0 5 2 0 1", 31, "partial"),
    ("lea", "04_detach", "graded", "0 0 0 1 0 0", 29, "partial"),
    ("noor", "01_leaves", "graded", "5 6 5 5 5 5", 31, "old-format"),
    ("noor", "07_grad_modes", "graded", "5 5 5 5 6", 26, "right"),
    ("omar", "01_leaves", "graded", "5 6 5 5 5 0", 31, "renamed"),
]
STUDENTS = sorted({student for student, *_ in CLASS})
#: Every kind of notebook is handed in for one of the others; to observe seven references takes a minute.
IN_THE_LONG_RUN = ("02_backward_twice", "04_detach", "06_views", "07_grad_modes")

RESULT = {
    *("schema", "student", "assignment", "notebook", "superseded", "status", "error"),
    *("score", "max_score", "flags", "questions", "end_task", "cells", "more_cells", "provenance"),
    *("handed_in", "late", "adjustments", "missing", "extended"),
    *("ignored", "with_answers", "copy", "seen", "language"),
}
QUESTION = {
    *("id", "title", "function", "status", "score", "max_score", "checks"),
    *("afterword", "adjusted", "elsewhere"),
}
OF_A_FINDING = {"failure", "kind", "group", "stopped", "place", "is_example", "snippet"}
CHECK = {"id", "title", "outcome", "points", "max_points", "case", "message", "hint"}
PROVENANCE = {"notebook_sha256", "checks_sha256", "grader", "torch", "protection", "graded_at"}


def grade(submissions, out):
    """Grade a folder in a process of its own; what it printed."""
    limits = ["--cell-seconds", "3", "--question-seconds", "3"]
    command = [sys.executable, "-m", "grader", "grade", str(submissions), "--out", str(out), *limits]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def results_in(out):
    paths = sorted((out / "submissions").glob("*/*.json"))
    return {(path.parent.name, path.stem): json.loads(path.read_text(encoding="utf-8")) for path in paths}


def scores_of(results):
    return {key: [question["score"] for question in result["questions"]] for key, result in results.items()}


@dataclass(frozen=True)
class Graded:
    submissions: Path
    out: Path
    results: dict
    rows: list  # of the table


@pytest.fixture(scope="module", params=["a part", pytest.param("the class", marks=pytest.mark.long)])
def graded(request, tmp_path_factory):
    """The sample class alone, whatever else an instructor has dropped beside it, all of one age."""
    folder = tmp_path_factory.mktemp("sample class") / "submissions"
    left_out = IN_THE_LONG_RUN if request.param == "a part" else ()
    for student in STUDENTS:
        ignored = shutil.ignore_patterns(*(f"{stem}*" for stem in left_out))
        shutil.copytree(ROOT / "submissions" / student, folder / student, ignore=ignored)
    for notebook in folder.rglob("*.ipynb"):
        os.utime(notebook, (NOBODY_CAN_SAY_WHEN, NOBODY_CAN_SAY_WHEN))
    out = folder.parent / "results"
    grade(folder, out)
    return Graded(folder, out, results_in(out), [row for row in CLASS if row[1] not in left_out])


def test_everybody_gets_what_they_deserve(graded):
    expected = {
        (student, name): (status, [float(score) for score in scores.split()], worth)
        for student, name, status, scores, worth, _ in graded.rows
    }
    seen = {
        key: (result["status"], scores_of(graded.results)[key], result["max_score"])
        for key, result in graded.results.items()
    }
    assert seen == expected
    for result in graded.results.values():
        assert result["score"] == sum(question["score"] for question in result["questions"])


def test_a_none_is_explained_by_the_return_that_gave_it(graded):
    question = graded.results["lea", "01_leaves"]["questions"][1]
    messages = [check["message"] or "" for check in question["checks"]]
    (told,) = {message for message in messages if "returned None" in message}
    assert told.startswith("`input_gradient` returned None at `return x.grad`: `x.grad` was None.")
    pages = [graded.out / "feedback" / "lea" / f"01_leaves.{ending}" for ending in ("md", "html")]
    for page in (path.read_text(encoding="utf-8") for path in pages):
        assert "is not a leaf" in page
        assert "is a return missing?" not in page


def test_every_notebook_is_accounted_for(graded):
    found = [str(path.relative_to(graded.submissions)) for path in graded.submissions.rglob("*.ipynb")]
    named = []
    for result in graded.results.values():
        named += [result["notebook"], *result["superseded"], *(each["path"] for each in result["ignored"])]
    assert Counter(named) == Counter(found)
    assert graded.results["ivo", "03_truncated_bptt"]["superseded"] == ["ivo/03_truncated_bptt (1).ipynb"]


def test_what_is_not_scored(graded):
    """An error has a reason, what was not answered is told from what is wrong, and a trick is flagged."""
    results = graded.results
    assert [key for key, result in results.items() if result["error"]] == [
        ("dara", "05_inplace_reinit"),
        ("jun", "homework2"),
    ]
    unanswered = {
        f"{student} {name} {question['id']}": question["status"]
        for (student, name), result in results.items()
        for question in result["questions"]
        if question["status"] != "answered" and student not in ("chen", "dara")
    }
    ben = ["ben 02_backward_twice q2", "ben 02_backward_twice q6", "ben 03_truncated_bptt q4"]
    expected = dict.fromkeys([*ben, "lea 04_detach q2", "lea 04_detach q6"], "untouched")
    expected["omar 01_leaves q6"] = "missing"
    graded_here = {name for _, name in results}
    assert unanswered == {place: how for place, how in expected.items() if place.split()[1] in graded_here}
    chen = results["chen", "01_leaves"]["questions"]
    assert {question["status"] for question in chen} == {"untouched"}
    flagged = {
        student: {flag["what"] for flag in r["flags"]} for (student, _), r in results.items() if r["flags"]
    }
    assert flagged == {"gus": {"leaving the process"}}


def test_form_of_a_result(graded):
    """A result has exactly the keys which other programs rely on, and numbers that belong together."""
    for (student, name), result in graded.results.items():
        assert set(result) == RESULT
        assert set(result["provenance"]) == PROVENANCE
        assert result["schema"] == "autograd-grader/result/v2"
        assert (result["student"], result["assignment"] or "homework2") == (student, name)
        for question in result["questions"]:
            assert set(question) - {"cell", "digest", "own_nodes"} == QUESTION
            assert question["checks"]
            assert sum(check["max_points"] for check in question["checks"]) == question["max_score"]
            for check in question["checks"]:
                assert set(check) - OF_A_FINDING == CHECK
                assert check["outcome"] in {"passed", "partly", "failed", "error"}
                assert (check["outcome"] == "partly") == (check["case"] is not None)
                assert (check["outcome"] == "passed") == (check["message"] is None)


def test_gradebook_agrees_with_the_results(graded):
    rows = read_csv(graded.out / "gradebook.csv")
    assert [row["student"] for row in rows] == [student for student, *_ in graded.rows]
    expected = []
    most = max(len(result["questions"]) for result in graded.results.values())
    for result in graded.results.values():
        scores = {question["id"]: format_points(question["score"]) for question in result["questions"]}
        expected.append(
            {
                "student": result["student"],
                "assignment": result["assignment"] or result["notebook"],
                "score": format_points(result["score"]),
                "max_score": format_points(result["max_score"]),
                "status": result["status"],
                "notebook_sha256": result["provenance"]["notebook_sha256"] or "",
                **{f"q{place}": scores.get(f"q{place}", "") for place in range(1, most + 1)},
                **dict.fromkeys(["late", "penalty", "adjustment", "missing"], ""),
            }
        )
    assert rows == expected


def test_everybody_gets_feedback(graded):
    expected = {
        f"{student}/{name}{suffix}" for student, name in graded.results for suffix in (".md", ".html")
    }
    folder = graded.out / "feedback"
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == expected
    for (student, name), result in graded.results.items():
        score = f"{format_points(result['score'])} of {format_points(result['max_score'])} points"
        text = (folder / student / f"{name}.md").read_text(encoding="utf-8")
        assert score in text and student in text
    assert (graded.out / "report.html").is_file()


_OBSERVED = Path("evidence") / "ada" / "01_leaves.json"


@pytest.mark.long
def test_another_seed_gives_the_same_scores(graded):
    other = graded.out.with_name("other results")
    grade(graded.submissions, other)
    seeds = [json.loads((out / _OBSERVED).read_text())["seed"] for out in (graded.out, other)]
    assert seeds[0] != seeds[1]
    assert scores_of(results_in(other)) == scores_of(graded.results)


def test_git_keeps_the_sample_class_only():
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "/submissions/*" in lines
    kept = [line for line in lines if line.startswith("!")]
    assert kept == [f"!/submissions/{student}/" for student in STUDENTS]
