"""Same work: how answers are compared, and which pairs of students are reported."""

import itertools
from dataclasses import replace

import pytest
from factories import check, made, question

from grader.notebooks.reader import cells_of
from grader.results.model import Result
from grader.results.similar import digest, same_work, with_digests
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


def digest_of(source, name="train"):
    return digest(source, name)[0]


def test_names_comments_annotations_and_layout_make_no_difference():
    assert digest_of(ANSWER) == digest_of(RENAMED) != ""
    assert digest_of(f"%matplotlib inline\nx = 1\n{ANSWER}") == digest_of(ANSWER)
    other = LAYER.replace("(self, x)", "(me, z)").replace("x * self", "z * me").replace("(self.w", "(me.w")
    assert digest_of(LAYER, "Layer") == digest_of(other, "Layer") != ""


SCOPES = """
def train(net, data):
    import torch.nn.functional as F
    p, seen = 3, 0
    def shifted(x, by=1):
        nonlocal seen
        seen += 1
        return x + by * p
    squares = [p * p for p in range(3)]
    match squares:
        case [first, *rest]:
            p = rest
    return F.relu(shifted(net(data), by=2)), [lambda p: p + 1 for p in squares], p, seen
"""


def test_each_scope_has_its_own_names():
    """Renamed scope by scope, with imports, keywords and patterns, an answer is still the same."""
    renamed = """
def train(model, batch):
    import torch.nn.functional as functional
    power, count = 3, 0
    def moved(value, step=1):
        nonlocal count
        count += 1
        return value + step * power
    table = [k * k for k in range(3)]
    match table:
        case [head, *tail]:
            power = tail
    return functional.relu(moved(model(batch), step=2)), [lambda z: z + 1 for entry in table], power, count
"""
    assert digest_of(SCOPES) == digest_of(renamed) != ""
    assert digest_of(SCOPES.replace("p * p for p", "seen * seen for p")) != digest_of(SCOPES)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mse_loss", "l1_loss"),
        ("0.1", "0.2"),
        ("torch.no_grad", "np.no_grad"),
        ("loss.backward()", "x.backward()"),
        ("p.grad = None", "pass"),
        ("lr * p.grad", "p.grad * lr"),
        ("None", "'\\d'"),  # of which the parser warns
    ],
)
def test_what_an_answer_does_makes_a_difference(old, new):
    assert digest_of(ANSWER.replace(old, new)) not in {digest_of(ANSWER), ""}


@pytest.mark.parametrize(
    "source",
    [
        "def train(net, data):\n    return net",
        ANSWER.replace("train", "other"),
        f"if True:\n    {ANSWER.strip()}",
        f"{ANSWER}\n)",
        f"{ANSWER}\nx = {'(' * 5_000}",
        ANSWER + "#" * 60_000,
        f"{ANSWER}\x00",
        ANSWER.replace("losses = []", f"losses = {'-' * 3_000}1"),
    ],
    ids=range(8),
)
def test_what_says_nothing_is_not_compared(source):
    """What is short, missing, nested, huge, or cannot be parsed."""
    assert digest_of(source) == ""


def test_starter_code_is_not_a_students_own():
    assert digest(ANSWER, "train", ANSWER) == ("", 0)
    assert digest(ANSWER.replace("p.grad = None", "p.grad.zero_()"), "train", ANSWER) == ("", 5)
    assert digest(ANSWER, "train", "def train(net, data, lr=0.1):\n    ...")[0] == digest_of(ANSWER)


def test_the_last_definition_in_the_cell_of_the_answer_counts():
    of_cell = replace(graded("ada").questions[0], function="train", cell=2)
    result = replace(graded("ada"), questions=(of_cell,))
    twice = f"def train():\n    pass\n{ANSWER}"
    (found,) = with_digests(result, cells_of([RENAMED.replace("0.1", "7"), twice]), {}).questions
    assert (found.digest, found.own_nodes) == digest(ANSWER, "train")
    (elsewhere,) = with_digests(result, cells_of([twice]), {}).questions
    assert elsewhere.digest == ""


def graded(student, *scores, messages=(), sha256=None, stem="01_tiny", nodes=30) -> Result:
    """A student's result; each question has a function of its own, four points and perhaps a message."""
    questions = []
    for number, score in enumerate(scores or (4.0,), start=1):
        message = dict(messages).get(number)
        checks = [check("it", 4.0, "failed" if message else "passed", message)]
        questions.append({**question(number, score, checks), "function": f"f{number}", "own_nodes": nodes})
    result = result_from_json(made(student, stem, questions=questions), stem)
    return replace(result, provenance=replace(result.provenance, notebook_sha256=sha256 or student))


def found(results, **codes):
    """Groups, where students' answers have these digests, a letter for each question, or a blank."""

    def with_letters(result):
        pairs = itertools.zip_longest(result.questions, codes.get(result.student, ""), fillvalue="")
        return replace(result, questions=tuple(replace(q, digest=code.strip()) for q, code in pairs))

    return same_work(map(with_letters, results), lambda _: ())


def who(results, **codes):
    return [work.students for work in found(results, **codes)]


def test_a_rare_wrong_answer_is_enough():
    results = [graded("ada", 1.0, 0.0), graded("ben", 1.0, 0.0), graded("cem", 1.0, 0.0)]
    (work,) = found(results, ada="xy", ben="xy", cem="zw")
    assert (work.students, work.answers) == (("ada", "ben"), ("q1", "q2"))
    assert (work.mistakes, work.weight) == ((), 2.0)
    assert who(results, ada="x ", ben="y ", cem="x ") == [("ada", "cem")]
    assert found(results) == []


def test_right_answers_weigh_less():
    """One right answer is not enough; it is with a second one, or with a rare mistake in another question."""
    ada, ben, cem = (graded(name, 4.0, 4.0) for name in ("ada", "ben", "cem"))
    assert found([ada, ben, cem], ada="x ", ben="x ") == []
    assert who([ada, ben, cem], ada="xy", ben="xy") == [("ada", "ben")]
    long = [graded(name, 4.0, 0.0, messages=[(2, "It is not.")], nodes=40) for name in ("ada", "ben")]
    (work,) = found([*long, cem], ada="x ", ben="x ")
    assert (work.students, work.answers, work.mistakes) == (("ada", "ben"), ("q1",), ("q2",))


def test_pairs_are_ranked_by_rarity():
    """A mistake of two students weighs more than one of many, and equal values more than equal kinds."""
    names = [f"s{number:02}" for number in range(40)]
    results = [graded(name, 1.0, 1.0, messages=[(1, f"{name} is wrong.")]) for name in names]
    codes = dict.fromkeys(names[:10], "c ") | {"s20": "rr", "s21": "rr", "s30": "tc", "s31": "tc"}
    codes |= dict.fromkeys(names[10:18], " c")
    first, second = found(results, **codes)
    assert [first.students, second.students] == [("s20", "s21"), ("s30", "s31")]
    assert first.weight == 2.0 > second.weight > 1.0


def test_what_is_rare_is_named_first_and_what_most_have_is_not():
    names = [f"s{number:02}" for number in range(30)]
    results = [graded(name, 1.0, 1.0, 1.0) for name in names]
    codes = dict.fromkeys(names, "c  ") | dict.fromkeys(names[:6], "ct ") | dict.fromkeys(names[:2], "ctr")
    work = next(work for work in found(results, **codes) if work.students == ("s00", "s01"))
    assert work.answers == ("q3", "q2")


def test_shared_mistakes_are_enough_without_an_equal_answer():
    """Three mistakes with the same values that nobody else made; two may happen by chance."""
    same = [(number, f"It is {number}.") for number in (1, 2, 3)]
    others = [graded(f"s{n}", 1.0, 1.0, 1.0, messages=[(k, f"{n} {k}") for k in (1, 2, 3)]) for n in range(8)]
    pair = [graded(name, 1.0, 1.0, 1.0, messages=same) for name in ("ada", "ben")]
    (work,) = found([*pair, *others])
    assert (work.students, work.answers, work.mistakes) == (("ada", "ben"), (), ("q1", "q2", "q3"))
    fewer = [graded(name, 1.0, 1.0, 1.0, messages=same[:2]) for name in ("ada", "ben")]
    assert found([*fewer, *others]) == []


def test_what_everybody_has_does_not_count():
    names = [f"s{number:02}" for number in range(30)]
    results = [graded(name, 1.0, 1.0, 1.0) for name in names]
    assert found(results, **dict.fromkeys(names, "xyz")) == []


def test_students_who_share_the_same_things_are_one_group():
    results = [graded(f"s{number}", 1.0, 1.0) for number in range(9)]
    assert who(results, s1="xy", s3="xy", s5="xy") == [("s1", "s3", "s5")]


def test_the_same_notebook_is_named_once():
    results = [graded("ada", 1.0, sha256="f"), graded("ben", 1.0, sha256="f"), graded("cem", 1.0)]
    (work,) = found(results, ada="x", ben="x")
    assert (work.students, work.is_file) == (("ada", "ben"), True)


def test_what_was_not_answered_is_nobodys_work():
    untouched = [
        replace(one, questions=(replace(one.questions[0], status="untouched"),))
        for one in (graded("ada", 0.0, sha256="f"), graded("ben", 0.0, sha256="f"))
    ]
    assert found(untouched, ada="x", ben="x") == []
    torn = [replace(graded(name, 0.0, sha256="f"), status="error", error="Torn.") for name in ("ada", "ben")]
    assert found(torn, ada="x", ben="x") == []


def test_assignments_are_compared_by_themselves():
    results = [graded("ada", 1.0), graded("ben", 1.0, stem="02_other")]
    assert found(results, ada="x", ben="x") == []


def test_what_is_shown_side_by_side_is_bounded():
    source = f"def f1():\n    return [{'1, ' * 4_500}]"
    results = [
        replace(one, questions=(replace(one.questions[0], cell=1, digest=f"{number // 2}"),))
        for number, one in enumerate(graded(f"s{n:03}", 1.0) for n in range(200))
    ]
    read = []
    groups = same_work(results, lambda result: (read.append(result.student), cells_of([source]))[1])
    assert (len(groups), len(read)) == (30, 20)
    (sides,) = groups[0].sides
    assert len(sides.left) < 5_000
