"""Who handed in the same: how answers are compared, and which of them count."""

import itertools
from dataclasses import replace

import pytest
from factories import check, made, question

from grader.notebooks.reader import cells_of
from grader.results.model import Result
from grader.results.similar import SameWork, digest, same_work, with_digests
from grader.results.store import result_from_json

ANSWER = '''
def train(net, data, lr=0.1):
    """Trains."""
    losses = []
    for x, y in data:
        loss = torch.nn.functional.mse_loss(net(x), y)  # the mean
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for p in net.parameters():
                p -= lr * p.grad
                p.grad = None
    return losses
'''
RENAMED = """
def train(model: "Module", batches, lr: float = 0.1) -> list:
    history: list = []
    for inputs, targets in batches:
        error = torch.nn.functional.mse_loss(model(inputs), targets)
        error.backward()

        history.append(error.item())
        with torch.no_grad():
            for weight in model.parameters():
                weight -= lr * weight.grad
                weight.grad = None
    return history
"""
LAYER = """
class Layer(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(size))

    def forward(self, x):
        return x * self.weight + torch.ones_like(self.weight)
"""


def test_names_comments_annotations_and_layout_make_no_difference():
    """An answer that somebody renamed and tidied up is the same answer."""
    assert digest(ANSWER, "train") == digest(RENAMED, "train") != ""
    assert digest(f"%matplotlib inline\nx = 1\n{ANSWER}", "train") == digest(ANSWER, "train")
    other = LAYER.replace("(self, x)", "(me, z)").replace("x * self", "z * me").replace("(self.w", "(me.w")
    assert digest(LAYER, "Layer") == digest(other, "Layer") != ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mse_loss", "l1_loss"),
        ("0.1", "0.2"),
        ("torch.no_grad", "np.no_grad"),
        ("loss.backward()", "x.backward()"),
        ("p.grad = None", "pass"),
        ("lr * p.grad", "p.grad * lr"),
    ],
)
def test_what_an_answer_does_makes_a_difference(old, new):
    """Attributes, constants, global names, order, and which variable stands where."""
    assert digest(ANSWER.replace(old, new), "train") not in {digest(ANSWER, "train"), ""}


@pytest.mark.parametrize(
    "source",
    [
        "",
        "def train(net, data):\n    return net.detach()",
        ANSWER.replace("train", "other"),
        f"if True:\n    {ANSWER.strip()}",
        f"{ANSWER}\n)",
        f"{ANSWER}\nx = {'(' * 5_000}",
        ANSWER + "#" * 60_000,
        f"{ANSWER}\x00",
        ANSWER.replace("losses = []", f"losses = {'-' * 3_000}1"),
    ],
    ids=range(9),
)
def test_what_says_nothing_is_not_compared(source):
    """What is short, missing, nested, huge, or cannot be parsed."""
    assert digest(source, "train") == ""


def test_what_was_handed_out_is_not_a_students_own():
    """Of an answer only the statements count that its stub does not have."""
    assert digest(ANSWER, "train", ANSWER) == ""
    assert digest(ANSWER.replace("p.grad = None", "p.grad.zero_()"), "train", ANSWER) == ""
    assert digest(ANSWER, "train", "def train(net, data, lr=0.1):\n    ...") == digest(ANSWER, "train")


def test_a_warning_of_the_parser_is_no_matter():
    """A backslash that means nothing in a text is common, and no error."""
    assert digest(ANSWER.replace("None", "'\\d'"), "train")


def test_the_last_definition_in_the_cell_of_the_answer_counts():
    """An answer's digest is of the cell that its result names."""
    of_cell = replace(graded("ada").questions[0], function="train", cell=2)
    result = replace(graded("ada"), questions=(of_cell,))
    twice = f"def train():\n    pass\n{ANSWER}"
    (found,) = with_digests(result, cells_of([RENAMED.replace("0.1", "7"), twice]), {}).questions
    assert found.digest == digest(ANSWER, "train")
    (elsewhere,) = with_digests(result, cells_of([twice]), {}).questions
    assert elsewhere.digest == ""


def graded(student, *scores, messages=(), sha256=None, stem="01_tiny") -> Result:
    """A student's result; each question has a function of its own, four points and perhaps a message."""
    questions = []
    for number, score in enumerate(scores or (4.0,), start=1):
        message = dict(messages).get(number)
        checks = [check("it", 4.0, "failed" if message else "passed", message)]
        questions.append({**question(number, score, checks), "function": f"f{number}"})
    result = result_from_json(made(student, stem, questions=questions), stem)
    return replace(result, provenance=replace(result.provenance, notebook_sha256=sha256 or student))


def found(results, **codes):
    """Who handed in the same, where students' answers have these digests, a letter for each question."""
    return same_work(with_letters(result, codes.get(result.student, "")) for result in results)


def with_letters(result, letters):
    """The result with a letter as the digest of each question; a blank stands for none."""
    pairs = itertools.zip_longest(result.questions, letters, fillvalue="")
    return replace(result, questions=tuple(replace(q, digest=code.strip()) for q, code in pairs))


def test_equal_answers_below_full_points_count():
    """Both students are named, with the questions in which their answers are equal."""
    results = [graded("ada", 1.0, 0.0), graded("ben", 1.0, 0.0), graded("cem", 1.0, 0.0)]
    assert found(results, ada="xy", ben="xy", cem="zw") == [SameWork("01_tiny", ("q1", "q2"), ("ada", "ben"))]
    assert found(results, ada="x ", ben="y ", cem="x ") == [SameWork("01_tiny", ("q1",), ("ada", "cem"))]
    assert found(results) == []


def test_equal_answers_with_full_points_count_with_a_shared_mistake():
    """Right answers resemble each other; they count where another question went wrong in the same way."""
    wrong, other = [(2, "It is not.")], [(2, "It was.")]
    ada, ben = graded("ada", 4.0, 0.0, messages=wrong), graded("ben", 4.0, 0.0, messages=wrong)
    cem = graded("cem", 4.0, 0.0, messages=other)
    assert found([ada, ben, cem], ada="x ", ben="x ", cem="x ") == [
        SameWork("01_tiny", ("q1",), ("ada", "ben"))
    ]
    assert found([graded("ada", 4.0, 4.0), graded("ben", 4.0, 4.0)], ada="x ", ben="x ") == []


def test_what_a_quarter_of_the_class_has_does_not_count():
    """From eight students on, an answer or a mistake of more than a quarter of them is a common one."""
    names = [f"s{number}" for number in range(8)]
    results = [graded(name, 1.0) for name in names]
    assert found(results, s0="x", s1="x", s2="x") == []
    assert len(found(results, s0="x", s1="x")) == 1
    assert len(found(results[:7], s0="x", s1="x", s2="x")) == 1
    common = [graded(name, 4.0, 0.0, messages=[(2, "It is not.")]) for name in names]
    assert found(common, s0="x ", s1="x ") == []


def test_the_same_notebook_is_named_once():
    """A file that two students handed in is a group of its own; their answers need no other."""
    results = [graded("ada", 1.0, sha256="f"), graded("ben", 1.0, sha256="f"), graded("cem", 1.0)]
    assert found(results, ada="x", ben="x", cem="x") == [
        SameWork("01_tiny", (), ("ada", "ben")),
        SameWork("01_tiny", ("q1",), ("ada", "ben", "cem")),
    ]
    assert found(results[:2], ada="x", ben="x") == [SameWork("01_tiny", (), ("ada", "ben"))]


def test_what_was_not_answered_is_nobodys_work():
    """A notebook as it was handed out, or one that could not be graded, is the same for all."""
    untouched = [
        replace(one, questions=(replace(one.questions[0], status="untouched"),))
        for one in (graded("ada", 0.0, sha256="f"), graded("ben", 0.0, sha256="f"))
    ]
    assert found(untouched, ada="x", ben="x") == []
    torn = [replace(graded(name, 0.0, sha256="f"), status="error", error="Torn.") for name in ("ada", "ben")]
    assert found(torn, ada="x", ben="x") == []


def test_assignments_are_compared_by_themselves():
    """The same answer in another assignment is another answer."""
    results = [graded("ada", 1.0), graded("ben", 1.0, stem="02_other")]
    assert found(results, ada="x", ben="x") == []
