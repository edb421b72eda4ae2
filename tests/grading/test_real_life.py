"""What students really hand in, graded as one class in one run: each case earns what it deserves."""

import json
import os

import pytest
from real_life import answers, cells, files  # noqa: F401 - they enter their cases
from real_life.draft import CASES, ROOT

from grader.course.course import Course
from grader.grading.run import Options, grade
from grader.results.store import ResultsStore
from grader.sandbox.plan import TimeLimits
from grader.sandbox.worker import syscalls

pytestmark = [
    pytest.mark.skipif(syscalls.machine() is None, reason="grading is confined on 64-bit Linux only"),
    pytest.mark.long,  # a class of its own, a minute
]

SHORT = TimeLimits(cell=3, question=3, notebook=60)


class Graded:
    """The results of the class, and the evidence, by the folder that was handed in."""

    def __init__(self, out, outcome):
        self.outcome = outcome
        paths = [out / "submissions" / row.student / f"{row.name}.json" for row in outcome.results]
        results = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        self.results = {result["notebook"].partition("/")[0]: result for result in results}
        self.evidence = {}
        for folder, result in self.results.items():
            stored = ResultsStore(out).evidence(result["student"], str(result["assignment"]))
            if stored is not None:
                _, self.evidence[folder] = stored


@pytest.fixture(scope="module")
def graded(tmp_path_factory, zygote_of_all):
    """All students, graded at once."""
    root = tmp_path_factory.mktemp("real life")
    for case in CASES:
        for place, content in case.files().items():
            path = root / "submissions" / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            os.utime(path, (1_700_000_000, 1_700_000_000))
    options = Options(jobs=2, limits=SHORT)
    outcome = grade(Course.find(ROOT), root / "submissions", root / "out", options, lambda *_: None)
    return Graded(root / "out", outcome)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_real_life(graded, case):
    """The points and the status of each question, the cells that failed and what is said are as entered."""
    result = graded.results[case.student]
    questions = {q["id"]: q for q in result["questions"]}
    assert result["assignment"] == case.stem, case.title
    assert case.error in result["error"] if case.error else result["error"] is None, case.title
    seen = " ".join(f"{question['score']:g}" for question in questions.values())
    assert seen == case.points, f"{case.title} {_messages(questions)}"
    if case.error is None:
        unanswered = {name: q["status"] for name, q in questions.items() if q["status"] != "answered"}
        assert unanswered == case.unanswered, case.title
        _assert_cells(graded.evidence[case.student], case)
    for name, fragment in case.says.items():
        assert any(fragment in (check["message"] or "") for check in questions[name]["checks"]), (
            f"{case.title} {_messages(questions)}"
        )


def _assert_cells(evidence, case):
    failed = [cell.fault or f"{cell.raised.type}: {cell.raised.text}" for cell in evidence.cells]
    assert len(failed) == len(case.cells), f"{case.title} {failed}"
    for told, beginning in zip(failed, case.cells, strict=True):
        assert told.startswith(beginning), case.title


def _messages(questions):
    return [c["message"] for q in questions.values() for c in q["checks"] if c["message"]]


def test_everybody_has_one_result(graded):
    """No student is lost, and none counted twice."""
    assert sorted(graded.results) == sorted(case.student for case in CASES)
    assert len(graded.outcome.results) == len(CASES)
    assert graded.outcome.without_notebook == []
