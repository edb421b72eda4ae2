"""Known answers in whole notebooks, graded as a class: the same checks fail as where each is tried alone."""

import json
from pathlib import Path

import pytest
from student_notebooks import code, document, write

from grader.course.course import Course
from grader.course.outcomes import outcomes_file, read_outcomes
from grader.doctor.known_answers import answers_of
from grader.grading import run_plan
from grader.grading.run import Options, grade
from grader.notebooks.definitions import functions_and_classes

ROOT = Path(__file__).parents[2]
COURSE = Course.find(ROOT)
QUICK, FEW = "05_inplace_reinit", 4  # the notebooks of the quick run


def parts_of_answer(question, answer):
    """The cells of an answer, and below them its public check, which calls it."""
    check = question.public_check
    tests = [name for name in functions_and_classes(check) if name.startswith("test_")]
    calls = [f"{name}({question.function})" for name in tests]
    return [code(source) for source in (*(cell.source for cell in answer.cells), check, *calls)]


def notebook(stem, answers):
    """The released notebook with an answer to each question."""
    questions = {question.function: question for question in COURSE.assignment(stem).questions}
    cells = []
    for cell in json.loads((ROOT / "assignments" / f"{stem}.ipynb").read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        defined = functions_and_classes(source) if cell["cell_type"] == "code" else ()
        found = next((questions[name] for name in defined if name in questions), None)
        cells += [cell] if found is None else parts_of_answer(found, answers[found.id])
    return document(cells, assignment_name=stem)


@pytest.mark.parametrize(
    ("stem", "most"),
    [(QUICK, FEW), *(pytest.param(stem, None, marks=pytest.mark.long) for stem in COURSE.stems)],
)
def test_verdicts_are_those_of_answers_that_are_tried_alone(stem, most, tmp_path, shared_zygote, monkeypatch):
    """Neither the other answers of a notebook, nor the notebooks before, nor a call in a cell changes any."""
    monkeypatch.setattr(run_plan.secrets, "randbits", lambda _: 1)  # the doctor's seed
    known, outcomes = answers_of(COURSE, stem), read_outcomes(outcomes_file(COURSE.answers_file(stem)))
    of_questions = {q.id: [a for a in known if a.question == q.id] for q in COURSE.assignment(stem).questions}
    number = min(most or len(known), max(map(len, of_questions.values())))
    chosen = [{q: of[k % len(of)] for q, of in of_questions.items()} for k in range(number)]
    for k, answers in enumerate(chosen):
        write(tmp_path / "class" / f"student{k:02}" / f"{stem}.ipynb", notebook(stem, answers))

    grade(COURSE, tmp_path / "class", tmp_path / "results", Options(jobs=2), lambda *_: None)

    found, expected = {}, {}
    for k, answers in enumerate(chosen):
        file = tmp_path / "results" / "submissions" / f"student{k:02}" / f"{stem}.json"
        for question in json.loads(file.read_text(encoding="utf-8"))["questions"]:
            answer = answers[question["id"]]
            failed = [check["id"] for check in question["checks"] if check["outcome"] != "passed"]
            found[k, answer.name] = failed
            fails = outcomes[question["id"]][answer.name].fails if answer.is_wrong else ()
            expected[k, answer.name] = [*fails]
    assert found == expected
