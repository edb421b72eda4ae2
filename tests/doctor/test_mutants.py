"""Mutants: each edit makes the change that its name says, and none that changes nothing."""

import ast

import pytest

from grader.doctor.mutants import BLOCK_EDITS, EXPRESSION_EDITS, mutants, normalised_source

#: An edit, the body of a function of x, y, model and opt, and the lines of a change that it makes.
TABLE = [
    ("a statement is left out", "opt.step(); return x", "- opt.step()"),
    ("a statement is left out", "return x", "- return x | + pass"),
    ("a statement is moved by one", "y = x(); x(y)", "- y = x() | - x(y) | + x(y) | + y = x()"),
    ("a statement is moved into a block", "x()\nfor y in x: y()", "- x() | +     x()"),
    ("a statement is moved into a block", "for y in x: y()\nx()", "- x() | +     x()"),
    ("a statement is moved out of a block", "for y in x: x(); y()", "-     y() | + y()"),
    ("with, try or if is taken away", "with y: x()", "- with y: | -     x() | + x()"),
    ("with, try or if is taken away", "if x: y()", "- if x: | -     y() | + y()"),
    (
        "with, try or if is taken away",
        "try: x()\nfinally: y()",
        "- try: | -     x() | - finally: | -     y() | + x() | + y()",
    ),
    ("no_grad is put around", "return x", "+ @torch.no_grad()"),
    ("no_grad is put around", "x(y)", "- x(y) | + with torch.no_grad(): | +     x(y)"),
    ("a loop ends after its first round", "for y in x: y()", "+ break"),
    ("the function returns early", "x()\nx(y)\ny()\nreturn x", "- x(y) | - y()"),
    (
        "zero_grad and step are exchanged",
        "opt.zero_grad(); x(); opt.step()",
        "- opt.zero_grad() | - x() | - opt.step() | + opt.step() | + x() | + opt.zero_grad()",
    ),
    ("in place and out of place are exchanged", "x += y", "- x += y | + x = x + y"),
    ("in place and out of place are exchanged", "x += y", "- x += y | + x.add_(y)"),
    ("in place and out of place are exchanged", "x = x + y", "- x = x + y | + x += y"),
    ("in place and out of place are exchanged", "x[:] = y", "- x[:] = y | + x = y"),
    ("in place and out of place are exchanged", "x.data = y", "- x.data = y | + x.data.copy_(y)"),
    ("in place and out of place are exchanged", "x.grad.copy_(y)", "- x.grad.copy_(y) | + x.grad = y"),
    ("a decorator is left out", "@torch.no_grad()\ndef g(): pass", "- @torch.no_grad()"),
    ("detach is put in", "return x", "- return x | + return x.detach()"),
    ("clone is put in", "return x", "- return x | + return x.clone()"),
    ("data is put in", "return x", "- return x | + return x.data"),
    ("item is put in", "return x", "- return x | + return x.item()"),
    ("detach is put in", "y(x * 2)", "- y(x * 2) | + y((x * 2).detach())"),
    ("a method is left out", "y = x.detach().sum()", "- y = x.detach().sum() | + y = x.sum()"),
    ("a method is left out", "y = x.data", "- y = x.data | + y = x"),
    ("a function is left out", "y = copy.deepcopy(x)", "- y = copy.deepcopy(x) | + y = x"),
    ("a method is exchanged", "y = x.sum()", "- y = x.sum() | + y = x.mean()"),
    ("a method is exchanged", "y = x.detach()", "- y = x.detach() | + y = x.clone()"),
    ("a method is exchanged", "y = x.detach()", "- y = x.detach() | + y = x.data"),
    ("a method is exchanged", "x.mul_(y)", "- x.mul_(y) | + x.mul(y)"),
    ("a method is exchanged", "y = x.mul(2)", "- y = x.mul(2) | + y = x.mul_(2)"),
    ("an argument is dropped", "x(keep=True)", "- x(keep=True) | + x()"),
    ("an argument is dropped", "x(y, 2)", "- x(y, 2) | + x(y)"),
    ("a keyword is put in", "x.backward()", "- x.backward() | + x.backward(retain_graph=True)"),
    ("a keyword is put in", "opt.zero_grad()", "- opt.zero_grad() | + opt.zero_grad(set_to_none=False)"),
    ("a constant is changed", "y = 3", "- y = 3 | + y = 4"),
    ("a constant is changed", "x(create_graph=True)", "- x(create_graph=True) | + x(create_graph=False)"),
    ("a comparison is turned", "y = x < 3", "- y = x < 3 | + y = x <= 3"),
    ("a condition is changed", "if x: y()", "- if x: | + if not x:"),
    ("a condition is changed", "y = x and opt", "- y = x and opt | + y = x"),
    ("an operator is exchanged", "y = x * 2", "- y = x * 2 | + y = x / 2"),
    ("an operator is exchanged", "y = x - opt", "- y = x - opt | + y = opt - x"),
    ("an operator is exchanged", "y = -x", "- y = -x | + y = x"),
    ("an index is changed", "y = x[0]", "- y = x[0] | + y = x[-1]"),
    ("an index is changed", "y = x[1:]", "- y = x[1:] | + y = x[:]"),
    ("a loop goes through one less", "for y in x: y()", "- for y in x: | + for y in list(x)[1:]:"),
    ("a loop goes through one less", "[z for z in x]", "- [z for z in x] | + [z for z in list(x)[:-1]]"),
]


def function_of(body):
    lines = [f"    {line}" for line in body.split("\n")]
    return "\n".join(["def answer(x, y, model, opt=0):", '    """Docstring."""', *lines])


@pytest.mark.parametrize(("edit", "body", "change"), TABLE)
def test_an_edit_makes_its_change(edit, body, change):
    assert (edit, change) in [(one.kind, " | ".join(one.change)) for one in mutants(function_of(body))]


def test_every_edit_is_in_the_table():
    assert {edit for edit, _, _ in TABLE} == {*BLOCK_EDITS, *EXPRESSION_EDITS}


ANSWER = '''\
@functools.cache
def answer(x: float, y=1, *, model=None):
    """Docstring."""
    with torch.no_grad():
        for part in x[1:]:  # a remark
            y += part * 2
    while y < 3 and not x:
        y = y + model(y.detach(), keep=True)
    return [y.sum()]
'''


def test_name_and_signature_stay():
    """Whatever is edited, the function is called as before; no two mutants are the same."""
    made = list(mutants(ANSWER))
    heads = {next(line for line in one.source.split("\n") if line[0] != "@") for one in made}
    assert heads == {"def answer(x: float, y=1, *, model=None):"}
    texts = [one.source for one in made]
    assert len(set(texts)) == len(texts) > 60
    assert ast.unparse(ast.parse(ANSWER)) not in texts


def test_a_class_is_edited_in_its_methods():
    """An answer may be a class: the signatures of its methods stay, their bodies are edited."""
    source = "class Answer(nn.Module):\n    size = 3\n\n    def forward(self, x=1):\n        return x * 2"
    made = list(mutants(source))
    assert {("- return x * 2", "+ return x / 2"), ("- size = 3", "+ size = 4")} <= {
        one.change for one in made
    }
    assert all("def forward(self, x=1):" in one.source or "- def" in one.change[0] for one in made)


UNCHANGED = [
    ("return x * y", "- return x * y | + return x.clone() * y"),
    ("y = x.shape", "- y = x.shape | + y = x.detach().shape"),
    ("return torch.relu(x)", "- return torch.relu(x) | + return torch.relu(x.clone())"),
    ("return x.relu()", "- return x.relu() | + return x.relu().clone()"),
    ("y = torch.zeros(3)", "- y = torch.zeros(3) | + y = torch.detach().zeros(3)"),
    ("with torch.no_grad(): x.fill_(y)", "- x.fill_(y) | + x.detach().fill_(y)"),
    ("y = x.detach()", "- y = x.detach() | + y = x.detach().detach()"),
    ("x.step()", "- x.step() | + x.step().detach()"),
    ("return x * opt", "- return x * opt | + return (x * opt).data"),
    ("y = torch.zeros(3)", "- y = torch.zeros(3) | + y = torch.zeros(3).detach()"),
    ("y = torch.ones(3)", "- y = torch.ones(3) | + with torch.no_grad(): | +     y = torch.ones(3)"),
    ("y = torch.ones_like(x)", "- y = torch.ones_like(x) | + y = torch.ones_like(x.detach())"),
    ("y = x.new_tensor(2)", "- y = x.new_tensor(2) | + y = x.detach().new_tensor(2)"),
    ("x.backward()", "- x.backward() | + with torch.no_grad(): | +     x.backward()"),
    ("x = []; y = 1", "- x = [] | - y = 1 | + y = 1 | + x = []"),
    ("with x: y()\nreturn y", "- return y | +     return y"),
]


@pytest.mark.parametrize(("body", "change"), UNCHANGED)
def test_what_plainly_changes_nothing_is_no_mutant(body, change):
    """A copy of what is only read, a second detach, ...: nobody has to explain these."""
    assert change not in [" | ".join(one.change) for one in mutants(function_of(body))]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("return x * opt", "x -> x.detach()"),
        ("x.sum().backward()", ".backward() -> .backward(retain_graph=True)"),
        ("x += y", "x += y -> x.add_(y)"),
        ("return model(x)", "no_grad is put around: the function"),
        ("y()\nopt.step(x)\nx()", "a statement is moved by one: opt.step(x)"),
        ("for y in x: y()\nx()", "a statement is moved into a block: x()"),
        ("for y in x: y()\nx()", "a statement is left out: for y in x:"),
        ("for y in x: y()", "a loop ends after its first round: y()"),
    ],
)
def test_a_place_is_named_whatever_stands_around_it(body, place):
    """What is written down of an edit holds in every answer that has the same expression or statement."""
    assert place in [one.edit for one in mutants(function_of(body))]


def test_answers_that_differ_in_words_have_one_gist():
    """Name, docstrings, remarks and spacing do not count; anything else does."""
    one, same = 'def a(x):\n    "Words."\n    return a( x )  # more', "def b(x):\n    return b(x)"
    assert normalised_source(one) == normalised_source(same)
    assert normalised_source("def a(x):\n    return x") != normalised_source("def a(x):\n    return -x")


def test_a_cut_within_a_cut_is_implied():
    """Where a whole function may be cut, so may its parts; but not what is kept under another name."""
    made = {one.change[-1]: one for one in mutants(function_of("y = x * opt\nreturn x"))}
    whole, product = made["+ @torch.no_grad()"], made["+ y = (x * opt).detach()"]
    assert product.is_implied_by(whole)
    assert made["+ y = x.detach() * opt"].is_implied_by(product)
    assert made["+ y = x.data * opt"].is_implied_by(made["+ y = x.detach() * opt"])
    assert not made["+ y = x.detach() * opt"].is_implied_by(made["+ y = x.data * opt"])
    assert not whole.is_implied_by(product)
    assert not made["+ y = x.detach() * opt"].is_implied_by(made["+ y = x * opt.detach()"])
    for kept in ("+ return x.detach()", "+ return x.data", "+ y = (x * opt).item()"):
        assert not made[kept].is_implied_by(whole)
