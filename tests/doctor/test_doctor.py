"""The doctor: silent over a course that agrees with itself, and one complaint for every contradiction."""

import re

import pytest
from tiny_course import ANSWERS, OUTCOMES, SOURCE, drawing, edit, write_course
from tiny_course import built as build_course

from grader.course.course import Course
from grader.doctor import examine as doctor

FILES = {
    "master": "solutions/01_tiny.py",
    "checks": "tests/hidden/test_01_tiny.py",
    "answers": "tests/answers/01_tiny.py",
    "outcomes": "tests/answers/01_tiny.outcomes.toml",
}
IDLE = '"This is not a leaf."\n\n\ndef test_idle(made):\n    """Idle."""\n    made.seen'
ONLY_ONE_WAY = 'double(2) == 4 and "+" not in __import__("inspect").getsource(double)'

#: What is told, what is right, and what was written in its place; more in `test_author_mistakes.py`.
TOLD = {
    "test_leaf fails the reference": [("checks", "tensor().is_leaf", "tensor().grad_fn")],
    "q1, added (line 8) is right, but fails test_double": [("answers", "return x + x", "return x + x + 1")],
    "q1, added (line 8) is right, but fails the public check test_double(double): This is not twice as m": [
        ("master", "double(2) == 4", ONLY_ONE_WAY)
    ],
    "q1, squared (line 14) is wrong, but passes all hidden": [("answers", "return x * x", "return x * 2")],
    "test_idle fails no known-wrong answer": [("checks", '"This is not a leaf."', IDLE)],
    "the reference fails the public check": [("master", "double(2) == 4", "double(2) == 5")],
    "released notebook fails: Code cell 2 stopped with NameError": [
        ("master", "# %%\nimport torch\n", "# %%\nimport torch\n\ndouble(2)\n")
    ],
}


@pytest.fixture
def complaints(tmp_path, shared_zygote):
    """What the doctor says about the tiny course after some text of it was replaced by other text."""

    def examine(*replaced, built=True, jobs=2, seeds=(1, 2)):
        root = write_course(tmp_path / "course")
        for which, old, new in replaced:
            edit(root / FILES[which], old, new)
        course = build_course(root) if built else Course.find(root)
        found = list(doctor.examine(course, course.stems, jobs=jobs, seeds=seeds))
        return [complaint for one in found for complaint in one.complaints]

    return examine


def test_a_course_that_agrees_with_itself_gets_no_complaint(complaints):
    assert complaints() == []


@pytest.mark.parametrize("said", TOLD)
def test_a_contradiction_is_told(complaints, said):
    assert any(said in told for told in complaints(*TOLD[said]))


def test_a_contract_of_the_same_inputs_in_every_run_is_told_by_one_seed(complaints):
    told = complaints(("checks", *drawing("torch.ones(3)")), seeds=(1,))
    assert any("draws nothing at random" in c for c in told)


AS_CLASS = """class double:
    \"\"\"Twice x.\"\"\"
    # BEGIN SOLUTION
    def __init__(self, x):
        self.value = 2 * x
    # STUB
    # def __init__(self, x):
    #     self.value = x
    # END SOLUTION"""
TWICE = """@inside
def twice(make, setup):
    first = make(torch.randn(3))
    return first.value + make(torch.randn(3)).value


doubled = contract("double", X, call=Call(how=twice, gradients="none"), name="doubled", cases=ONCE)"""


def test_a_contract_that_draws_after_a_call_is_told(complaints):
    """Where a right class that draws random numbers would be given other inputs, its check is named."""
    source = re.sub(r"def double\(x\).*?# END SOLUTION", AS_CLASS, SOURCE, count=1, flags=re.DOTALL)
    told = complaints(
        ("master", SOURCE, source.replace("double(2) ==", "double(2).value ==")),
        ("checks", 'doubled = contract("double", X, name="doubled", cases=ONCE, call=VALUES)', TWICE),
        ("answers", "    return x + x", "    raise ValueError"),
        built=False,
    )
    assert any("test_double fails a right answer that draws random numbers: " in c for c in told)


REQUIRES = '["test_requires_grad"]'
PLAIN = f'plain = {{fails = {REQUIRES}, first = "test_requires_grad+1: "}}\n'


@pytest.mark.parametrize(
    ("line", "other", "said"),
    [
        (REQUIRES, '["test_leaf"]', "01_tiny.outcomes.toml: fails test_leaf. Fix it"),
        (PLAIN, "", "which 01_tiny.outcomes.toml does not record. Fix it"),
        (REQUIRES, f"{REQUIRES}, public = true", "; passes the public check. Fix it"),
    ],
)
def test_a_wrong_answer_that_fares_otherwise_than_its_line_says_is_told(complaints, line, other, said):
    """What is seen, and what the file says, of the hidden checks and of the public one."""
    (told,) = complaints(("outcomes", line, other))
    assert told.startswith("q2, plain (line 26) fails test_requires_grad, ")
    assert said in told
    assert told.endswith(", or run --accept and review the diff of that file")


def test_a_line_of_an_answer_that_is_gone_is_told(complaints):
    (told,) = complaints(("outcomes", PLAIN, f'{PLAIN}gone = {{fails = ["test_leaf"]}}\n'))
    assert told.endswith("it records answers that don't exist: gone. --accept removes them")


def test_assignments_that_are_not_current_are_told(complaints):
    assert any("is not what `build` writes" in c for c in complaints(built=False))


def test_one_accepted_answer_is_not_blamed_for_another(complaints):
    """What an answer leaves behind fails the next in the same worker, but not in one of its own."""
    spoiling = (
        '@accepted("q1")\ndef spoiling(x):\n    """Right as far as it goes."""\n'
        "    __import__('sys').spoilt = True\n    return 2 * x\n\n\n"
        '@accepted("q1")\ndef added(x):\n    """Needs what the one before has spoilt."""\n'
        "    return x if hasattr(__import__('sys'), 'spoilt') else x + x\n"
    )
    added = '@accepted("q1")\ndef added(x):\n    """Twice is once and once."""\n    return x + x\n'
    assert complaints(("answers", added, spoiling), jobs=1) == []


@pytest.fixture
def examined(tmp_path, shared_zygote):
    """Examines the tiny course, one of whose files may hold another text; `examined.outcomes` is its file."""
    root = write_course(tmp_path / "course")

    def report(file=None, text="", *, accept=True, **options):
        if file:
            (root / FILES[file]).write_text(text, encoding="utf-8")
        course = Course.find(root)
        return next(doctor.examine(course, course.stems, jobs=2, seeds=(1,), accept=accept, **options))

    report.outcomes = root / FILES["outcomes"]
    return report


def test_what_is_accepted_is_written(examined):
    """The file says what was seen of each wrong answer; the report names those that are new or gone."""
    found = examined("outcomes", OUTCOMES.replace(", public = true", "").replace("plain", "gone"))
    assert found.complaints == []
    assert found.written == ["squared", "computed", "gone", "plain"]
    assert [answer.name for answer in found.wrong if answer.public] == ["squared", "computed"]
    assert examined.outcomes.read_text(encoding="utf-8") == OUTCOMES


def test_one_question_is_accepted_alone(examined):
    older = OUTCOMES.replace("test_double", "old")
    examined("outcomes", older.replace("test_leaf", "old"), question="q2")
    assert examined.outcomes.read_text(encoding="utf-8") == older


def test_a_wrong_answer_that_passes_is_never_accepted(examined):
    for _ in range(2):
        found = examined("answers", ANSWERS.replace("return x * x", "return x * 2"))
        assert any("squared (line 14) is wrong, but passes all hidden checks" in c for c in found.complaints)
        assert "squared" not in examined.outcomes.read_text(encoding="utf-8")


def test_an_answer_that_stops_is_accepted_only_aloud(examined):
    """It may be a slip: its error, its line and the checks that judge nothing are told."""
    text = ANSWERS.replace("return x * x", "return x.frobnicate")
    line = text.splitlines().index("    return x.frobnicate") + 1
    stops = "q1, squared (line 14) stops with AttributeError, so test_double cannot judge it: In `squared`"
    place = f"(01_tiny.py, line {line}), `return x.frobnicate` raised AttributeError"
    known = "but 01_tiny.outcomes.toml: fails test_double; passes the public check. Fix it, or run --accept"
    aloud = "This is recorded now. If the answer must not stop, fix it"
    idle = "test_double fails no known-wrong answer: add an answer that it catches, or remove it"
    for accept, end in ((False, known), (True, aloud)):
        told, stop = examined("answers", text, accept=accept).complaints
        assert told == idle
        assert stop.startswith(stops)
        assert place in stop and end in stop
    line = 'squared = {fails = ["test_double"], first = "AttributeError", stops = ["AttributeError"]}'
    assert line in examined.outcomes.read_text(encoding="utf-8")
    assert examined(accept=False).complaints == examined().complaints == [idle]
