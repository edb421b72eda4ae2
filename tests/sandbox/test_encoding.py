"""What a worker says is checked field by field before anybody believes its form."""

import json
import math
import re
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest
from factories import answer, in_base64

from grader.sandbox.decoding import (
    MAX_ELEMENTS,
    MAX_TENSORS,
    MalformedError,
    ReturnedValue,
    WorkerAnswer,
    of_form,
    parse,
    parse_cell,
    parse_survey,
)
from grader.sandbox.evidence import (
    Answer,
    CellFailure,
    Evidence,
    Failure,
    NotObserved,
    RequestRaised,
    not_observed,
)
from grader.sandbox.sensitivity import with_sensitivity
from grader.sandbox.values import Other, Raised, ReturnedNone, Tensor

MAX_DIMENSIONS = 1000
MAX_INT = 1 << 63
MAX_TEXT = 2000

TENSOR = {
    "kind": "Parameter",
    "dtype": "torch.float32",
    "shape": [2, 1],
    "value": in_base64([1.5, -2.0]),
    "is_leaf": True,
    "requires_grad": True,
    "grad_fn": None,
    "retains_grad": False,
    "version": 3,
    "identity": 7,
    "storage": 8,
    "grad": None,
}
ERROR = {"types": ["ValueError", "Exception", "BaseException"], "text": "no", "where": "cell 3, line 5"}


def tensor(**changes):
    """A well-formed tensor with some fields replaced."""
    return {**TENSOR, **changes}


def decode(facts):
    """What a request returned, decoded."""
    return of_form(ReturnedValue, facts).decoded()


def decoded(*table):
    """The first tensor of a table, decoded."""
    return decode({"value": ["tensor", 0], "tensors": [*table]})


def refuses(function, *arguments):
    with pytest.raises(MalformedError, match=r"^the answer is malformed$"):
        function(*arguments)


def without(fields, name):
    return {key: value for key, value in fields.items() if key != name}


# --- values

VALUES = [
    (["none"], None),
    (["bool", True], True),
    (["int", -(1 << 63)], -(1 << 63)),
    (["float", 1.5], 1.5),
    (["float", 2], 2.0),
    (["float", math.inf], math.inf),
    (["str", "x" * MAX_TEXT], "x" * MAX_TEXT),
    (["other", "Box"], Other("Box")),
    (["list", [["int", 1], ["none"]]], [1, None]),
    (["tuple", [["int", 1], ["tuple", []]]], (1, ())),
    (["dict", [["a", ["int", 1]], ["b", ["list", []]]]], {"a": 1, "b": []}),
    (["raised", ERROR], Raised(("ValueError", "Exception", "BaseException"), "no", "cell 3, line 5")),
]


@pytest.mark.parametrize(("encoded", "value"), VALUES)
def test_a_value_keeps_its_exact_type(encoded, value):
    fact = decode({"value": encoded, "tensors": []})
    assert fact == value
    assert type(fact) is type(value)


NO_TEXTS = [1, None, "x" * (MAX_TEXT + 1)]
WRONG_CONTENTS = {
    "none": [None],
    "bool": [1, None],
    "int": [True, 1.0, "1", MAX_INT, -MAX_INT - 1],
    "float": [True, "1.0", None, 10**400],
    "str": NO_TEXTS,
    "other": NO_TEXTS,
    "list": [{}, "ab", [1]],
    "tuple": [None],
    "dict": [{}, {"a": ["none"]}, ["ab"], [{"a": 1, "b": 2}]]
    + [[pair] for pair in (["a"], ["a", ["none"], 1], [1, ["none"]], [NO_TEXTS[2], ["none"]], ["a", None])],
    "raised": ["ValueError", None],
    "tensor": [0, "0", None],
    "unknown": [1, "text"],
    "Int": [1],
}
MALFORMED_VALUES = [[kind, content] for kind, contents in WRONG_CONTENTS.items() for content in contents] + [
    *(None, [], {}, "none", 3, ["bool"], ["int"], ["list"], ["unknown"]),
    *(["int", 1, 2], [1, 1], [["int"], 1]),
]


@pytest.mark.parametrize("encoded", MALFORMED_VALUES)
def test_a_malformed_value_is_refused(encoded):
    """A value whose kind or content is not exactly as agreed is malformed, within another value too."""
    refuses(decode, {"value": encoded, "tensors": []})
    refuses(decode, {"value": ["list", [encoded]], "tensors": []})


# --- tensors


def test_a_tensor_keeps_every_field():
    assert decoded(*[TENSOR] * MAX_TENSORS) == Tensor(
        kind="Parameter",
        dtype="torch.float32",
        shape=(2, 1),
        value=(1.5, -2.0),
        is_leaf=True,
        requires_grad=True,
        grad_fn=None,
        retains_grad=False,
        version=3,
        identity=7,
        storage=8,
        grad=None,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("value", None), ("dtype", "torch.float8_e5m2"), ("grad_fn", "MulBackward0"), ("version", None)],
)
def test_what_a_tensor_may_be(name, value):
    assert getattr(decoded(tensor(**{"value": None, name: value})), name) == value


@pytest.mark.parametrize(
    ("dtype", "code", "shape", "value"),
    [
        ("float32", "f", [2], [math.nan, -math.inf]),
        ("bfloat16", "f", [1], [1.5]),
        ("float64", "d", [3], [0.1, -0.0, 5e-324]),
        ("bool", "?", [2], [True, False]),
        ("uint8", "q", [2], [255, 0]),
        ("int64", "q", [2], [-(1 << 63), (1 << 63) - 1]),
        ("uint64", "Q", [2], [(1 << 64) - 1, 0]),
        ("complex64", "f", [1, 2], [1.0, 2.0, 3.0, 4.0]),
        ("complex128", "d", [1], [0.1, 0.2]),
        ("float32", "f", [0, 3], []),
        ("float32", "f", [], [1.0]),
        ("float32", "f", [1] * MAX_DIMENSIONS, [1.0]),
    ],
)
def test_elements_of_every_dtype(dtype, code, shape, value):
    """Elements come back exactly, as numbers of Python; a complex number is two."""
    fact = decoded(tensor(dtype=f"torch.{dtype}", shape=shape, value=in_base64(value, code)))
    assert repr(fact.value) == repr(tuple(value))


WRONG_FIELDS = {
    "kind": [None, 1, ["Tensor"], "x" * (MAX_TEXT + 1)],
    "dtype": [None, 32, "x" * (MAX_TEXT + 1), "torch.complex64", "torch.float64", "float32", ""],
    "shape": [
        *(None, 2, "21", {}, [3], [], [2, 2], [2, -1], [-2, -1], [2.0, 1], [2, True], [2, "1"], [2, [1]]),
        *([MAX_INT, 1], [2] + [1] * MAX_DIMENSIONS),
    ],
    "value": [
        *(1.5, [], [1.5, -2.0], {}, "", "ab", "not base64", "\udc80", "é" * 12, "A" * 12 + "===="),
        *(TENSOR["value"] + "\n", TENSOR["value"][:-4]),
        *(in_base64([1.5]), in_base64([1.5, -2.0, 0.0]), in_base64([1.5, -2.0], "d")),
    ],
    "is_leaf": [None, 1, "True", []],
    "requires_grad": [None, 0, "True", []],
    "grad_fn": [1, True, [], "x" * (MAX_TEXT + 1)],
    "retains_grad": [None, 0, "False", []],
    "version": [1.0, True, "3", [], MAX_INT],
    "identity": [None, 1.0, True, "7", MAX_INT],
    "storage": [None, 1.0, True, "8", -MAX_INT - 1],
    "grad": [1.0, True, False, "0", [], -1, 1, 10**30],
}


NO_SHAPES = [None, 2, "21", {}, [2, -1], [2.0], [True], [None], [MAX_INT], [1] * (MAX_DIMENSIONS + 1)]


@pytest.mark.parametrize(
    "wrong",
    [tensor(**{name: wrong}) for name, values in WRONG_FIELDS.items() for wrong in values]
    + [tensor(value=None, shape=shape) for shape in NO_SHAPES]
    + [without(TENSOR, name) for name in TENSOR]
    + [None, [], "tensor", 1, tensor(more=1)],
)
def test_every_field_of_a_tensor_is_checked(wrong):
    """A field that is wrong, missing or too many makes a tensor malformed; a shape without values, too."""
    assert decoded(tensor(value=None, shape=[MAX_INT - 1])).shape == (MAX_INT - 1,)
    refuses(decoded, wrong)


def test_the_elements_of_a_tensor_are_bounded():
    """More elements than an honest worker sends are malformed, however few bytes they take."""
    many = tensor(dtype="torch.bool", shape=[MAX_ELEMENTS], value=in_base64([True] * MAX_ELEMENTS, "?"))
    assert len(decoded(many).value) == MAX_ELEMENTS
    one_more = in_base64([True] * (MAX_ELEMENTS + 1), "?")
    refuses(decoded, {**many, "shape": [MAX_ELEMENTS + 1], "value": one_more})


@pytest.mark.parametrize("index", [1, -1, True, 0.0, "0", None, [0], 10**400])
def test_a_tensor_is_named_by_its_place(index):
    refuses(decode, {"value": ["tensor", index], "tensors": [TENSOR]})


def test_one_place_is_one_tensor():
    """A tensor that is returned twice is the same fact twice, and a gradient is the tensor of its place."""
    table = [tensor(grad=1), tensor(identity=9)]
    value = ["list", [["tensor", 0], ["tensor", 0], ["tensor", 1]]]
    first, again, grad = decode({"value": value, "tensors": table})
    assert first is again
    assert first.grad is grad
    assert grad.identity == 9


@pytest.mark.parametrize("grads", [[0], [1, 0], [1, 2, 3, 4, 5, None]], ids=["itself", "circle", "chain"])
def test_gradients_of_gradients_are_bounded(grads):
    """Gradients that run in a circle or in a long chain are malformed, not an endless descent."""
    refuses(decoded, *(tensor(grad=grad) for grad in grads))
    chain = [tensor(grad=grad) for grad in (1, 2, 3, 4, None)]
    assert decoded(*chain).grad.grad.grad.grad.grad is None


# --- errors

WRONG_ERRORS = {
    "types": [None, "ValueError", [], [1], [None], ["E"] * 51, ["x" * (MAX_TEXT + 1)], {"E": 1}],
    "text": [None, 1, ["no"], "x" * (MAX_TEXT + 1)],
    "where": [None, 3, ["cell"], "x" * (MAX_TEXT + 1)],
    "inside": [-1, 3.0, True, 1 << 64, "3", [3], {}],
}


def test_an_error_keeps_its_fields():
    error = of_form(Raised, ERROR)
    assert error == Raised(("ValueError", "Exception", "BaseException"), "no", "cell 3, line 5")
    assert error.type == "ValueError"
    assert of_form(Raised, {**ERROR, "inside": 12}).inside == 12
    assert of_form(Raised, {**ERROR, "types": ["E"]}).types == ("E",)
    assert of_form(Raised, {**ERROR, "types": ["E"] * 50, "text": "x" * MAX_TEXT}).type == "E"


@pytest.mark.parametrize(
    "wrong",
    [{**ERROR, name: value} for name, values in WRONG_ERRORS.items() for value in values]
    + [without(ERROR, name) for name in ERROR]
    + [{**ERROR, "more": 1}, None, [], "ValueError"],
)
def test_every_field_of_an_error_is_checked(wrong):
    """One field of an error that is wrong, missing or too many makes it malformed, wherever it stands."""
    refuses(of_form, Raised, wrong)
    refuses(decode, {"value": ["raised", wrong], "tensors": []})
    refuses(Answer.parse, json.dumps({"raised": wrong or {}, **REST}))


# --- evidence

FACTS = {"value": ["tensor", 0], "tensors": [TENSOR]}
REST = {"returned": None, "changed": [], "patched": []}
ANSWER = {"raised": None, "returned": FACTS, "changed": ["grad mode"], "patched": ["torch.relu"]}


def test_an_answer_is_what_came_and_what_that_says():
    """The text as it came, facts or the error in them, and the words beside."""
    text = json.dumps({**ANSWER, "none": [{"function": "f"}]})
    seen = Answer.parse(text)
    assert (seen.text, seen.outcome, seen.none) == (text, decoded(TENSOR), (ReturnedNone("f"),))
    assert (seen.changed, seen.patched, seen.failure) == (("grad mode",), ("torch.relu",), None)
    raised = Answer.parse(json.dumps({**ANSWER, "raised": ERROR}))
    assert raised.outcome == RequestRaised(of_form(Raised, ERROR))
    assert len(Answer.parse(json.dumps({**ANSWER, "patched": ["x" * 500] * 10_000})).patched) == 10_000


@pytest.mark.parametrize("kind", ["list", "tuple", "dict"])
@pytest.mark.parametrize("inner", [["int", 1], ["list", []], ["dict", []], ["raised", ERROR]])
def test_facts_are_refused_at_the_depth_at_which_other_json_is(kind, inner):
    """However deep facts are, they are an answer where their JSON is no deeper than `parse` permits."""
    value, are_read = inner, []
    for _ in range(22):
        value = [kind, [["key", value]] if kind == "dict" else [value]]
        text = json.dumps({**ANSWER, "returned": {"value": value, "tensors": []}})
        read = []
        for function in (parse, Answer.parse):
            with suppress(MalformedError):
                read.append(function(text))
        assert len(read) in {0, 2}
        are_read.append(bool(read))
    assert set(are_read) == {True, False}


JSON = {
    "a float for an int": '["int", 1.0]',
    "an exponent for an int": '["int", 1e2]',
    "an int for a float": '["float", 1]',
    "a long int for a float": f'["float", {"1" * 300}]',
    "too long an int for a float": f'["float", {"1" * 400}]',
    "an int of 5,000 digits": f'["int", {"1" * 5000}]',
    "infinity": '["float", Infinity]',
    "nan": '["float", NaN]',
    "a float that is infinite": '["float", 1e400]',
    "zero": '["float", -0]',
    "a leading zero": '["int", 01]',
    "a bool for an int": '["int", true]',
    "an int for a bool": '["bool", 1]',
    "a tab in a text": '["str", "a\tb"]',
    "half a pair of surrogates": '["str", "\\ud800"]',
    "a pair of surrogates": '["str", "\\ud83d\\ude00"]',
    "an escaped tag": '["\\u0073tr", "a"]',
    "a field twice": '["str", "a"], "value": ["str", "b"]',
    "a field twice, once wrong": '["str", 1], "value": ["str", "b"]',
    "a comma too many": '["list", [["int", 1],]]',
    "a mark before a text": '\ufeff["int", 1]',
    "spaces": ' [ "int" , 1 ]\r',
    "a form feed": '["int", 1]\x0c',
    "too deep for either": f'["list", {"[" * 5000}{"]" * 5000}]',
}


@pytest.mark.parametrize("value", JSON.values(), ids=JSON)
def test_an_answer_is_what_python_reads_in_it(value):
    """What msgspec reads by itself is what it makes of that which Python's own json reads."""
    text = (
        f'{{"raised": null, "returned": {{"value": {value}, "tensors": []}}, "changed": [], "patched": []}}'
    )

    def of_python():
        return of_form(WorkerAnswer, parse(text)).returned.decoded()

    try:
        expected = repr(of_python())
    except MalformedError:
        refuses(Answer.parse, text)
    else:
        assert repr(Answer.parse(text).outcome) == expected


def test_a_cell_ended_well_or_raised():
    skipped = [{"line": 3, "text": "x = f()", "names": ["x"]}]
    well = parse_cell('{"raised": null, "skipped": []}')
    raised = parse_cell(json.dumps({"raised": ERROR, "skipped": skipped}))
    assert (well.raised, well.skipped) == (None, ())
    assert raised.raised == of_form(Raised, ERROR)
    assert [(s.line, s.text, s.names) for s in raised.skipped] == [(3, "x = f()", ("x",))]


SURVEY = {
    "names": {"f": "answered", "g": "missing", "h": "untouched"},
    "cells": {"f": 3, "g": None, "h": 4},
    "above": {"h": 2},
    "not_callable": {"g": "int"},
    "patched": ["torch.relu"],
}


def test_a_survey_tells_of_every_function():
    survey = parse_survey(json.dumps(SURVEY), {"f", "g", "h"})
    assert {name: getattr(survey, name) for name in SURVEY} == {**SURVEY, "patched": ("torch.relu",)}


def of_survey(name, **changes):
    """A survey in which one table differs."""
    return {**SURVEY, name: {**SURVEY[name], **changes}}


WRONG_WORDS = [None, "grad", {}, [1], [None], [["grad"]], ["x" * 501], ["x"] * 10_001]
WRONG_CELLS = [-1, "3", 1.5, [3]]
SKIPPED = {"line": 0, "text": "", "names": []}
MALFORMED = {
    "answer": [
        *(None, [], "facts", {**ANSWER, "more": 1}, {**ANSWER, "raised": {}}, {**ANSWER, "raised": "E"}),
        *(without(ANSWER, name) for name in ANSWER),
        *({**ANSWER, name: words} for name in ("changed", "patched") for words in WRONG_WORDS),
        *({**ANSWER, "returned": facts} for facts in (None, [], 1, "facts", {}, {"value": ["none"]})),
        *({**ANSWER, "returned": {**FACTS, **change}} for change in ({"more": 1}, {"tensors": None})),
        *({**ANSWER, "returned": {**FACTS, "tensors": table}} for table in ({}, "", [tensor(is_leaf=1)])),
        {**ANSWER, "returned": {**FACTS, "tensors": [TENSOR] * (MAX_TENSORS + 1)}},
    ],
    "cell": [
        *(None, [], {}, {"raised": None}, {"error": None, "skipped": []}, "raised", ERROR),
        *({"raised": None, "skipped": [], "more": 1}, {"raised": None, "skipped": [SKIPPED]}),
        {"raised": {}, "skipped": []},
    ],
    "survey": [
        *(None, [], {**SURVEY, "more": 1}, {**SURVEY, "cells": {}}, of_survey("cells", i=1)),
        *(without(SURVEY, name) for name in SURVEY),
        *({**SURVEY, "patched": words} for words in WRONG_WORDS),
        *({**SURVEY, "names": names} for names in (None, ["f", "g", "h"], {})),
        {**SURVEY, "names": without(SURVEY["names"], "f")},
        *(of_survey("names", i="answered"), of_survey("names", f=["answered"])),
        *(of_survey("names", f=status) for status in ("graded", None)),
        *(of_survey("cells", f=cell) for cell in WRONG_CELLS),
        *({**SURVEY, "above": {"h": cell}} for cell in WRONG_CELLS),
        *({**SURVEY, "above": above} for above in ({}, {"f": 1}, {"h": 1, "g": 1}, None)),
        *({**SURVEY, "not_callable": k} for k in ({"f": "int"}, {"i": "int"}, {"g": "x" * 101}, None)),
    ],
}
READ_SURVEY = partial(parse_survey, functions={"f", "g", "h"})
READERS = {"answer": Answer.parse, "cell": parse_cell, "survey": READ_SURVEY}


@pytest.mark.parametrize(("what", "wrong"), [(what, one) for what in MALFORMED for one in MALFORMED[what]])
def test_every_field_of_what_a_worker_says_is_checked(what, wrong):
    """A field that is wrong, missing or too many makes an answer, a cell's end or a survey malformed."""
    refuses(READERS[what], json.dumps(wrong))


def test_a_request_that_was_not_reached_has_no_facts():
    assert Evidence().outcome("p") == NotObserved("this part was not reached")
    assert not Evidence().returned_none("p", "f")


EVIDENCE = Evidence(
    names={"f": "answered"},
    answers={
        "one": answer(returned=FACTS, none=[{"function": "f"}]),
        "nan": answer(returned={"value": ["float", math.nan], "tensors": []}),
        "late": Answer.without_observation(not_observed(Failure.LATE, question=3)),
    },
    cells=[
        CellFailure(2, Raised(("E", "B"), "no", "cell 2"), None),
        CellFailure(3, None, "it was too slow"),
    ],
    patched=["torch.relu"],
    traces=[("ctypes", 3), ("raw descriptors", None)],
    fault="something",
    starved=True,
    size=7,
    defined_in={"f": 2},
)


def number(value):
    """An answer whose fact is a float."""
    return answer(returned={"value": ["float", value], "tensors": []})


def test_evidence_of_the_reference_says_how_far_it_moves():
    """A fact's noise is the longest way it moves, also once it is stored; other requests are as they were."""
    evidence = Evidence(answers={"one": number(2.0), "two": number(3.0), "late": EVIDENCE.answers["late"]})
    others = [Evidence(answers={"one": number(2.0 + by), "late": number(1.0)}) for by in (1e-4, -2e-4)]
    moved = evidence.with_sensitivity([*others, Evidence(fault="it ended")])
    for came in (moved, Evidence.from_json(moved.to_json())):
        assert (came.outcome("one"), came.outcome("one").sensitivity) == (2.0, pytest.approx(2e-4))
        assert came.outcome("two") == 3.0
        assert came.outcome("late") == evidence.outcome("late")
    assert not hasattr(evidence.outcome("one"), "sensitivity")


def test_a_question_measured_later_leaves_the_sensitivity_of_an_earlier_one():
    """In a class, a question is measured when the first doubtful answer to it is judged."""
    evidence = Evidence(answers={"one": number(2.0), "two": number(3.0)})
    for name, perturbed in (("one", 2.0001), ("two", 3.0003)):
        evidence = evidence.with_sensitivity([Evidence(answers={name: number(perturbed)})])
    assert evidence.outcome("one").sensitivity == pytest.approx(1e-4)
    assert evidence.outcome("two").sensitivity == pytest.approx(3e-4)


SMALL, LARGE = tensor(value=in_base64([1e-6, 2e-6])), tensor(value=in_base64([3.0, -4.0]))


def pair(one, other, form=list):
    """Two tensors in a container."""
    return form([decoded(one), decoded(other)])


@pytest.mark.parametrize("form", [list, tuple, lambda parts: dict(zip("ab", parts, strict=True))])
def test_noise_is_measured_beside_the_largest_number(form):
    """A number that cancellation made small moves far; one that moves by more than that has leapt."""
    moved = tensor(value=in_base64([1e-6, 5e-6])), tensor(value=in_base64([3.0, 4.0]))
    fact = with_sensitivity(pair(SMALL, LARGE, form), [pair(*moved, form)])
    small, large = (part.sensitivity for part in (fact.values() if isinstance(fact, dict) else fact))
    assert small == pytest.approx(3e-6)
    assert large == pytest.approx(4.0 * 2.5e-3)


def test_what_is_all_rounding_may_be_as_large_as_what_cancelled_leaves():
    """A gradient that is 0 but for rounding is judged by the numbers beside it, not by luck."""
    nothing = tensor(value=in_base64([1e-12, -1e-12]))
    by_luck = tensor(value=in_base64([1.2e-12, -1e-12]))
    small, large = with_sensitivity(pair(nothing, LARGE), [pair(by_luck, LARGE)])
    assert small.sensitivity == pytest.approx(4.0 * 2**-22)
    assert large.sensitivity == 0.0


@pytest.mark.parametrize(
    "other", [None, 1, [], pair(SMALL, LARGE)[:1], {"a": 1}, [1.0, 2.0], pair(tensor(shape=[1, 2]), TENSOR)]
)
def test_what_moves_into_another_form_says_nothing(other):
    """Facts of another type, length, shape or dtype give no noise, and change nothing else."""
    fact = pair(TENSOR, TENSOR)
    assert with_sensitivity(fact, [other]) == fact
    assert with_sensitivity(fact, [other])[0].sensitivity == 0.0
    assert with_sensitivity({"x": True, "n": 3, "s": "t"}, [{}]) == {"x": True, "n": 3, "s": "t"}


@pytest.mark.parametrize("evidence", [EVIDENCE, Evidence()], ids=["much", "nothing"])
def test_evidence_survives_storing(evidence):
    """What is stored is JSON with the answers as they came, and gives back the same evidence."""
    stored = evidence.to_json()
    assert all(f'"{name}":{came.text}' in stored for name, came in evidence.answers.items())
    assert json.loads(stored)["names"] == evidence.names
    back = Evidence.from_json(stored)
    assert back == evidence
    assert all(repr(back.outcome(name)) == repr(evidence.outcome(name)) for name in evidence.answers)
    older = Evidence.from_json(re.sub(r',"defined_in":\{[^}]*\}', "", stored, count=1))
    assert older == replace(evidence, defined_in={})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"answered"', '"excellent"'),
        ('"names":{"f":"answered"}', '"names":null'),
        ('"cell":2', '"cell":"2"'),
        ('"ctypes"', '"praise"'),
        ('["torch.relu"]', "[1]"),
        ('"starved":true', '"starved":1'),
        ('"size":7', '"size":7,"more":1'),
        ('"late"}', '"later"}'),
        ('"fault": "your', '"praise": "your'),
        ('"is_leaf": true', '"is_leaf": 1'),
        ("NaN", "nan"),
        ("}}", "}"),
        ("\n", ""),
    ],
)
def test_stored_evidence_is_checked_as_answers_are(old, new):
    """What another program wrote is malformed as a whole."""
    assert old in EVIDENCE.to_json()
    refuses(Evidence.from_json, EVIDENCE.to_json().replace(old, new))
