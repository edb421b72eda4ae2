"""Real notebooks and real answers of a worker, spoiled by chance: a result or a named error, nothing else."""

import json
import struct
from contextlib import suppress
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutation import mutated, spoiled
from patience import time_limit
from real_life import files
from real_life.draft import ROOT, Draft
from test_wire import ANY, Case, check, closing, ok

from grader.course.course import Course
from grader.course.rubric import REFERENCE_LIMITS
from grader.grading.executor import modules_to_preload
from grader.grading.flags import traces_in
from grader.grading.judge import judge
from grader.notebooks.files import NotebookError
from grader.notebooks.reader import cells_of, read_notebook
from grader.notebooks.recognition import recognise
from grader.sandbox.decoding import MalformedError, parse, parse_cell, parse_survey
from grader.sandbox.evidence import Answer, Evidence
from grader.sandbox.observer import observe
from grader.sandbox.wire import Wire

LONGEST = 10  # seconds; what is slow is slow by far more than a busy machine
STEMS = ("01_leaves", "03_truncated_bptt", "05_inplace_reinit")
FIRST, MANY = 2, 1000  # questions; cases


def some_and_many(some, many):
    """So many cases in every run, and so many in the long one."""
    numbers = [pytest.param(some, id="some"), pytest.param(many, id="many", marks=pytest.mark.long)]
    return pytest.mark.parametrize("number", numbers)


def fuzz(number, example):
    """Call the function with so many sources of chance, the same in every run."""

    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(chance=st.randoms(use_true_random=True))
    def run(chance):
        with time_limit(LONGEST):
            example(chance)

    run()


@pytest.fixture(scope="module")
def course():
    return Course.find(ROOT)


@pytest.fixture(scope="module")
def documents():
    """Notebooks of the course, and one of format 3."""
    return [*(Draft(stem).document for stem in STEMS), json.loads(files.format_3(Draft("01_leaves")))]


@some_and_many(50, 2500)
def test_a_spoiled_notebook(number, course, documents, tmp_path):
    """A notebook with a few things wrong is read, recognised and searched, or refused with a sentence."""
    path = tmp_path / "01_leaves.ipynb"

    def example(chance):
        document = chance.choice(documents)
        document = mutated(document, chance) if chance.random() < 0.7 else document
        content = json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")
        path.write_bytes(spoiled(content, chance) if chance.random() < 0.7 else content)
        try:
            found = read_notebook(path)
        except NotebookError as error:
            assert str(error).startswith("01_leaves.ipynb ")
            return
        assert recognise("untitled", found, course.functions).assignment in {None, *STEMS}
        assert all(flag.cell for flag in traces_in(found.cells))
        modules_to_preload(cell.source for cell in found.cells)
        assert json.dumps([cell.source for cell in found.cells], ensure_ascii=False).encode()

    fuzz(number, example)


@pytest.fixture(scope="module")
def heard(zygote, course):
    """What honest workers answer, by operation; and by stem the rubrics, and the evidence of the references.

    Some cases are made of the first questions, many of all.
    """

    @cache
    def of(is_all):
        answers = {
            "cell": [{"raised": {"types": ["E", "Exception"], "text": "no", "where": "cell 1, line 2"}}]
        }
        rubrics, references = {}, {}
        ask = Wire.ask

        def listen(wire, operation, arguments, seconds):
            answer = ask(wire, operation, arguments, seconds)
            answers.setdefault(operation, []).append(json.loads(answer))
            return answer

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Wire, "ask", listen)
            for stem in STEMS:
                rubric = course.rubric(stem)
                questions = rubric.questions if is_all else rubric.questions[:FIRST]
                rubrics[stem] = rubric.with_only([question.id for question in questions])
                cells, plan = course.assignment(stem).reference, rubrics[stem].plan(0, expected=True)
                references[stem] = observe(zygote, cells_of(cells), plan, REFERENCE_LIMITS)
        return answers, rubrics, references

    return lambda number: of(number >= MANY)


@some_and_many(100, 2500)
def test_a_spoiled_frame(number, heard):
    """A frame with a few bytes or values wrong is a value or an error of the wire, in time."""
    answers, _, _ = heard(number)
    name = b"0" * 16

    def example(chance):
        answer = chance.choice(answers[chance.choice(list(answers))])
        text = json.dumps(mutated(answer, chance) if chance.random() < 0.5 else answer)
        payload = ok(name, text.encode())
        with suppress(MalformedError, UnicodeDecodeError):
            json.dumps(parse(spoiled(text.encode(), chance).decode()), ensure_ascii=False).encode()
        frame = spoiled(struct.pack(">I", len(payload)) + payload, chance)
        check(Case("spoiled", closing(lambda identity: frame.replace(name, identity)), [ANY]))

    fuzz(number, example)


@some_and_many(200, 4000)
def test_spoiled_facts(number, heard):
    """An answer with a few values wrong is malformed, or facts that can be stored."""
    answers, _, _ = heard(number)
    readers = {
        "observe": Answer.parse,
        "cell": parse_cell,
        "survey": lambda answer: parse_survey(answer, set(chosen["names"])),
    }
    chosen = {}

    def example(chance):
        operation = chance.choice(["observe", "observe", "observe", "cell", "survey"])
        real = chance.choice(answers[operation])
        chosen.update(names=real.get("names", ()))
        answer = mutated(real, chance)
        with suppress(MalformedError):
            read = readers[operation](json.dumps(answer))
            if operation == "observe":
                evidence = Evidence(answers={"p": read})
                assert Evidence.from_json(evidence.to_json()) == evidence

    fuzz(number, example)


@some_and_many(24, 1000)
def test_spoiled_evidence_is_judged(number, heard):
    """The hidden checks judge facts with a few values wrong: every check has a verdict and says why."""
    _, rubrics, references = heard(number)
    waiting = {stem: [] for stem in STEMS}

    def example(chance):
        stem = chance.choice(STEMS)
        answers = dict(references[stem].answers)
        for name in chance.sample(sorted(answers), 3):
            with suppress(MalformedError):
                spoilt = mutated(json.loads(answers[name].text), chance)
                answers[name] = Answer.parse(json.dumps(spoilt))
        waiting[stem].append(replace(references[stem], answers=answers))

    fuzz(number, example)
    for stem, spoiled_ones in waiting.items():
        for seen in spoiled_ones:
            verdicts = judge(rubrics[stem], seen, references[stem])
            assert set(verdicts) == {check.id for check in rubrics[stem].checks}
            assert all(v.message for v in verdicts.values() if v.outcome != "passed")
