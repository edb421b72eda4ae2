"""What an @inside function may name: the rule is checked when its file is imported, and refuses by name."""

import importlib.util
import itertools
import math
import re
import sys
import textwrap
from types import SimpleNamespace

import pytest

from grader import inside
from grader.course.contract import CONTRACT_SECONDS, contracts_defined
from grader.course.inside_source import InsideSource
from grader.course.worker_code import PICTURE_SECONDS, pictures_defined
from grader.errors import CourseError

HEADER = """\
import functools
import os
from grader import assert_close, contract, data, own, picture, points, raised
from grader.inside import F, attempt, inside, math, nn, snap, torch

LIMIT = 3

def outside_helper():
    return 1

class Meta(type):
    pass
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    numbers = itertools.count()

    def imported(text, name=None):
        name = name or f"check_file_{next(numbers)}"
        path = tmp_path / f"{name}.py"
        path.write_text(HEADER + textwrap.dedent(text), encoding="utf-8")
        specification = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(specification)
        monkeypatch.setitem(sys.modules, name, module)
        specification.loader.exec_module(module)
        return module

    return imported


@pytest.fixture
def refused(load):
    def complaint(text):
        with pytest.raises(CourseError) as caught:
            load(text)
        return str(caught.value)

    return complaint


def bundle_of(module, name):
    """What is sent of an @inside function: its helpers and itself."""
    return "\n\n".join(part.text for part in InsideSource.of(getattr(module, name)).closure().values())


def run(bundle, name, student=None, **words):
    """Define a bundle as a worker does, with stand-ins for torch, and call one of its functions."""
    names = {"math": math, **words, "__name__": "inside"}
    exec(compile(bundle, "<inside>", "exec", dont_inherit=True), names)
    return names[name](student)


FOREIGN_NAMES = {
    "in the body": ("return LIMIT", "LIMIT"),
    "in a match pattern": ("match student:\n    case LIMIT():\n        pass", "LIMIT"),
    "as a local annotation": ("n: LIMIT = 3", "LIMIT"),
    "after its own assignment elsewhere": ("def f():\n    LIMIT = 1\nreturn LIMIT", "LIMIT"),
    "as a nested decorator": ("@os.fspath\ndef f():\n    pass\nreturn f", "os"),
    "as a nested annotation": ("def f(n: LIMIT):\n    pass\nreturn f", "LIMIT"),
    "as a lambda's default": ("return (lambda n=LIMIT: n)()", "LIMIT"),
    "in a list comprehension": ("return [LIMIT for i in range(2)]", "LIMIT"),
    "in a method": ("class A:\n    def f(self):\n        return LIMIT\nreturn A().f()", "LIMIT"),
    "as a metaclass": ("class A(metaclass=LIMIT):\n    pass\nreturn A", "LIMIT"),
    "a module": ("return os.getcwd()", "os"),
    "a function without @inside": ("return outside_helper()", "outside_helper"),
    "a word for checks": ("assert_close(1, 1, '')", "assert_close"),
    "the decorator": ("return picture", "picture"),
    "its own file": ("return __file__", "__file__"),
    "nothing that exists": ("return no_such_name", "no_such_name"),
    "a word not imported": ("return vjp(student)", "vjp"),
}


@pytest.mark.parametrize(("body", "name"), FOREIGN_NAMES.values(), ids=FOREIGN_NAMES)
def test_a_foreign_name_is_refused(refused, body, name):
    text = refused("@inside\ndef seen(student):\n" + textwrap.indent(body, "    "))
    assert re.match(rf"{sys.modules['check_file_0'].__file__}, line \d+: seen uses {name}, which", text)


SEEN = "@inside\ndef seen(student):\n    return {}\n"
NO_TRAVELLERS = [
    # Builtins that reach files, other code or the terminal.
    *(
        (SEEN.format(f"lambda: {name}"), name)
        for name in ("open", "eval", "exec", "compile", "__import__", "input", "breakpoint")
    ),
    # What is called otherwise outside than inside would be something else there.
    *(
        (f"{definition}\n{SEEN.format(name)}", name)
        for definition, name in (
            ("from grader.inside import torch as th", "th"),
            ("from grader.inside import torch as snap", "snap"),
            ("zeros = torch.zeros", "zeros"),
            ("snap = torch.zeros", "snap"),
            ("@inside\ndef helper():\n    pass\nalias = helper", "alias"),
            ("max = LIMIT", "max"),
            ('first = contract("double", {"x": data("n")}, name="first")', "first"),
        )
    ),
    # A helper or class may name no more, and neither may its signature and bases.
    *(
        (f"@inside\n{definition}\n", name)
        for definition, name in (
            ("def helper():\n    return LIMIT", "LIMIT"),
            ("def helper(n: LIMIT):\n    return n", "LIMIT"),
            ("def helper() -> LIMIT:\n    return 1", "LIMIT"),
            ("class Helper:\n    n = LIMIT", "LIMIT"),
            ("class Helper(functools.partial):\n    pass", "functools"),
            ("class Helper(dict, metaclass=Meta):\n    pass", "Meta"),
            ("class Helper(nn.Module):\n    def forward(self, x):\n        return open", "open"),
            ("class Helper:\n    @functools.cache\n    def f(self):\n        return 1", "functools"),
        )
    ),
]


@pytest.mark.parametrize(("text", "name"), NO_TRAVELLERS)
def test_what_does_not_travel_is_refused_by_name(refused, text, name):
    assert f"uses {name}, which does not travel" in refused(text)


STATEMENTS = ("import os", "from os import path", "global LIMIT", "import torch as t")
PLACES = ("{}", "def f():\n    {}", "class A:\n    {}")
ASSERTS = SEEN.replace("return {}", "def f():\n        assert student, 'no'")
BELOW = "@inside\ndef first():\n    return second()\n@inside\ndef second():\n    return LIMIT\n"
REFUSED = [
    *(  # an import or a global statement at any depth
        (SEEN.replace("return {}", place.format(each).replace("\n", "\n    ")), f"says `{each}`")
        for place in PLACES
        for each in STATEMENTS
    ),
    (ASSERTS, ", line 16: seen contains an assert"),
    (BELOW, "make it a local, or mark its definition @inside (above this one)"),
    *(  # a default that is not a literal
        (
            f"@inside\ndef helper({signature}{each}):\n    return 1\n",
            f"line 14: helper has the default {each}",
        )
        for each in ("LIMIT", "torch.float32", "[LIMIT]", "lambda: 1")
        for signature in ("n=", "*, n=")
    ),
    *(  # another decorator, which would stay outside
        (f"@{ours}\n@{each}\ndef seen(student):\n    'Seen.'\n    return 1\n", f"has the decorator @{each}")
        for each in ("functools.cache", "points(2)")
        for ours in ("picture", "inside")
    ),
    *(  # a helper called like a word or a builtin would replace it in other helpers
        (f"@inside\ndef {name}():\n    return 1\n", f"hides what is called {name} inside")
        for name in ("snap", "torch", "F", "sum", "print")
    ),
    ("inside(lambda: 1)", "must be a function or a class"),
    ("@inside\nasync def helper():\n    pass\n", "must be a function or a class"),
    *(
        (f"@picture\ndef seen({signature}):\n    'Seen.'\n", "picture seen must take exactly one argument")
        for signature in ("", "student, other", "student, n=1")
    ),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_what_breaks_a_rule_is_refused(refused, text, words):
    assert words in refused(text)


def test_a_definition_may_be_called_like_a_word_of_no_use(load):
    """A word that came after a check file was written costs it nothing: its own definition counts there."""
    module = load("@inside\ndef gradients():\n    return 7\n@inside\ndef vjp(_):\n    return gradients()\n")
    assert run(bundle_of(module, "vjp"), "vjp", gradients="the word") == 7


def test_a_definition_hides_no_word_that_travels_along(load):
    """Where a helper uses the word, and its neighbour is called like it, one of them would be lost."""
    load("@inside\ndef small():\n    return snap(1)\n", name="the_inside_file")
    module = load(
        "from the_inside_file import small\ndel snap\n@inside\ndef snap():\n    return 2\n"
        "@inside\ndef seen(student):\n    return small(), snap()\n"
    )
    with pytest.raises(CourseError, match=r"line 14: small uses snap of grader.inside, and an @inside"):
        _ = bundle_of(module, "seen")


ALLOWED = """
@inside
def twice(x, *, times=2, names=("a",), more={"k": [-1.5, None, True]}):
    return x * times

@inside
class Pair:
    size = 2
    def __init__(self, x):
        self.items = [twice(x) for _ in range(self.size)]

@inside
class Longer(Pair):
    size = 3
    def again(self):
        return type(self)(0)

@inside
def countdown(n):
    return [n, *countdown(n - 1)] if n else []

@inside
def seen(student):
    offset = 1
    def shifted(x, by=offset):
        return x + by
    class Local(Longer):
        start = shifted(1)
        def total(self):
            return sum(self.items) + offset
    local = Local(student.three)
    grid = {(i, j): i * j for i in range(2) for j in range(2) if i}
    if (last := len(grid)) > 1:
        offset = last
    try:
        student.fail()
    except ValueError as error:
        caught = str(error)
    def count():
        nonlocal offset
        offset += 1
        return offset
    return {"total": local.total(), "start": Local.start, "grid": grid, "caught": caught, "count": count(),
            "floor": math.floor(2.5), "down": countdown(2), "by": (lambda y, z=offset: y + z)(1)}
"""


def fail():
    raise ValueError("no")


def test_own_names_helpers_words_and_builtins_are_allowed(load):
    """Locals, nested definitions, helpers, recursion, words and builtins work where they arrive."""
    found = run(bundle_of(load(ALLOWED), "seen"), "seen", SimpleNamespace(three=3, fail=fail))
    assert found.pop("grid") == {(1, 0): 0, (1, 1): 1}
    assert found == dict(total=20, start=2, caught="no", count=3, floor=2, down=[2, 1], by=4)  # noqa: C408


def test_a_module_can_be_subclassed(load):
    """A class of torch may be a base outside, where it does not exist, and is the real one inside."""
    module = load(
        "@inside\nclass Net(nn.Module):\n    pass\n@inside\ndef seen(_):\n    return Net().answer\n"
    )
    real = SimpleNamespace(Module=type("Module", (), {"answer": 42}))
    assert run(bundle_of(module, "seen"), "seen", nn=real) == 42


def test_a_bundle_is_what_is_needed_once_and_in_order(load):
    """A helper travels once, before its users; a helper nobody uses and all decorators stay."""
    returned = {"base": 1, "left": "base()", "right": "base()", "unused": 0, "seen": "left() + right()"}
    head = "def {}({}):"
    text = "".join(
        f"@inside\n{head.format(name, 'student' * (name == 'seen'))}\n    return {value}\n"
        for name, value in returned.items()
    )
    bundle = bundle_of(load(text), "seen")
    heads = [line for line in bundle.splitlines() if line and not line.startswith(" ")]
    assert heads == ["def base():", "def left():", "def right():", "def seen(student):"]
    assert run(bundle, "seen") == 2


def test_helpers_of_the_neighbour_travel(load):
    load("@inside\ndef helper():\n    return 7\n", name="the_inside_file")
    module = load("from the_inside_file import helper\n@inside\ndef seen(_):\n    return helper()\n")
    assert run(bundle_of(module, "seen"), "seen") == 7


def test_two_helpers_of_one_name_are_refused(load):
    """Two helpers of the same name cannot travel together, for one would replace the other."""
    load(
        "@inside\ndef size():\n    return 1\n@inside\ndef other():\n    return size()\n",
        name="the_inside_file",
    )
    module = load(
        "from the_inside_file import other\n@inside\ndef size():\n    return 2\n"
        "@inside\ndef seen(student):\n    return size() + other()\n"
    )
    with pytest.raises(CourseError, match="seen uses two different @inside definitions named size"):
        _ = bundle_of(module, "seen")


def test_what_travels_tells_nothing(load):
    """No docstring, of whatever is nested in whatever, and no comment travels; what remains still runs."""
    module = load(
        '''
        @inside
        class Helper:
            """SECRET"""
            def f(self):
                """SECRET"""
                return 1
            def g(self):
                """SECRET"""

        @inside
        def helper():
            """SECRET"""

        @inside
        def seen(student):
            """SECRET"""
            # SECRET
            def nested():
                """SECRET"""
            async def waiting():
                """SECRET"""
            class Local:
                """SECRET"""
                class Inner:
                    """SECRET"""
            return Helper().f(), helper(), nested(), "kept"  # SECRET
        '''
    )
    bundle = bundle_of(module, "seen")
    assert "SECRET" not in bundle
    assert run(bundle, "seen") == (1, None, None, "kept")


def test_a_text_that_is_a_value_travels(load):
    """Only docstrings are dropped: a returned text, a lone number and a second statement are kept."""
    module = load('@inside\ndef seen(student):\n    3\n    "not a docstring"\n    return "value"\n')
    bundle = bundle_of(module, "seen")
    assert "3" in bundle
    assert "not a docstring" in bundle
    assert run(bundle, "seen") == "value"


ONE = """
@inside
def trained(student):
    return student.train(1)

@inside
def numbers(setup, kind):
    return trained(setup.student).grad

one = contract("double", {"x": own(numbers)}, name="one")
"""
TWO = 'two = contract("double", {"x": data("n")}, name="two", question="q2", seconds=5)\n'


def test_the_attributes_of_a_contract_are_those_of_its_helpers_too(load):
    """The function that a picture asks for is found in its helpers as well, whose attributes count."""
    module = load(ONE + "@picture\ndef shown(student):\n    'Shown.'\n    return trained(student).grad\n")
    assert contracts_defined(module)["one"].attributes == {"double", "train", "grad", "student"}
    assert pictures_defined(module)["shown"].attributes == {"train", "grad"}


def test_what_an_author_says_of_a_contract_is_kept(load):
    one, two = contracts_defined(load(ONE + TWO)).values()
    assert (one.name, one.question, one.seconds) == ("one", None, CONTRACT_SECONDS)
    assert (two.name, two.question, two.seconds) == ("two", "q2", 5)
    shown = "@picture(question='q2', reference=True)\ndef shown(student):\n    'Shown.'\n    return 1\n"
    (picture,) = pictures_defined(load(shown)).values()
    assert (picture.question, picture.seconds, picture.caption) == ("q2", PICTURE_SECONDS, "Shown")
    assert picture.reference


def test_contracts_are_kept_apart_by_file(load):
    """Two check files may have contracts of the same name; a file imported again forgets its old ones."""
    text = (
        "@inside\ndef size(setup, kind):\n    return {}\n"
        'seen = contract("f", {{"x": own(size)}}, name="seen")\n'
    )
    first, second = load(text.format(1)), load(text.format(2), name="same_name")
    third = load('other = contract("f", {"x": data("n")}, name="other")\n', name="same_name")
    bundles = [contracts_defined(module)["seen"].bundle() for module in (first, second)]
    assert ["return 1" in bundles[0], "return 2" in bundles[1]] == [True, True]
    assert list(contracts_defined(third)) == ["other"]


def test_the_seed_of_a_contract(load):
    """A seed depends on the run, the assignment and the contract, on nothing else, and fits 32 bits."""
    one, two = contracts_defined(load(ONE + TWO)).values()
    seeds = [one.seed(1, "01_a"), one.seed(2, "01_a"), one.seed(1, "02_b"), two.seed(1, "01_a")]
    assert len(set(seeds)) == 4
    assert seeds[0] == one.seed(1, "01_a")
    assert all(0 <= seed < 1 << 32 for seed in seeds)


def test_a_word_cannot_be_used_outside():
    """Whoever calls a word outside, or a part of it, is told its name and where it exists."""
    with pytest.raises(TypeError, match=r"^snap exists only in the worker"):
        inside.snap(1, key=2)
    with pytest.raises(TypeError, match=r"^torch\.some\.part exists only in the worker"):
        inside.torch.some.part()


def test_a_word_pretends_nothing():
    """Python's own protocols do not mistake a placeholder for something iterable, sized or a context."""
    assert not any(hasattr(inside.torch, name) for name in ("__iter__", "__len__", "__enter__", "__array__"))
