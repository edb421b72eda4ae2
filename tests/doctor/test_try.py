"""`try` shows the observations of a few contracts, and works while other parts of the assignment say TODO."""

import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner
from tiny_course import edit, write_course

from grader.cli import main
from grader.course.new import write_new
from grader.reports.observations import side_by_side
from grader.sandbox.values import Raised, Tensor

STEM = "01_tiny"
CHECKS, ANSWERS = f"tests/hidden/test_{STEM}.py", f"tests/answers/{STEM}.py"


def tensor(values, shape=None, **other):
    shape = shape or (len(values),)
    fields = {"is_leaf": True, "requires_grad": False, "grad_fn": None, "retains_grad": False, "version": 0}
    fields |= {"identity": id(values), "storage": id(values), "grad": None}
    return Tensor("Tensor", "torch.float32", shape, tuple(values), **(fields | other))


def shown(**outcomes):
    return list(side_by_side("p", outcomes))


def words(text):
    return " ".join(text.split())


@pytest.fixture
def root(tmp_path, monkeypatch, shared_zygote):
    root = write_course(tmp_path / "course")
    monkeypatch.chdir(root)
    return root


def tried(*arguments):
    run = CliRunner().invoke(main, ["try", STEM, *arguments])
    assert run.exit_code == 0, run.output
    return run.output


def refused(*arguments):
    run = CliRunner().invoke(main, ["try", STEM, *arguments])
    assert run.exit_code == 2, run.output
    return run.stderr


def test_an_answer_stands_beside_the_reference(root):
    """What differs is marked, and says how; what is the same stands once."""
    edit(root / CHECKS, *NUMBERS)
    lines = tried("doubled", "--case", "0", "--answer", "squared", "--answer", "added").splitlines()
    assert lines[0] == "doubled    case 0: typical"
    assert [" ".join(line.split()) for line in lines[1:]] == [
        "doubled result reference, added <float32 (3,) 2 4 6>",
        "doubled result squared <float32 (3,) 1 4 9> differs",
    ]


#: The input of the contract is 1, 2 and 3.
NUMBERS = (
    'X = {"x": data("n", says="(n,)")}\n',
    """@inside
def numbers(setup, kind):
    return torch.arange(1.0, 4.0)


X = {"x": own(numbers, says="(n,)")}
""",
)


def test_the_stub_is_an_answer(root):
    edit(root / CHECKS, *NUMBERS)
    shown = words(tried("doubled", "--answer", "stub", "--case", "0"))
    assert "result reference <float32 (3,) 2 4 6>" in shown
    assert "result stub <float32 (3,) 1 2 3> differs: it is 1/2 of what it should be" in shown


def test_the_rest_may_be_unwritten(root):
    """Neither another question nor checks nor answers that are not written stand in the way."""
    write_new(root, STEM, ["third"])
    edit(root / CHECKS, '    assert made.seen.tensor().is_leaf, "This is not a leaf."', "    TODO")
    edit(root / ANSWERS, "return x * x", "return TODO")
    assert "requires grad>" in tried("made", "--answer", "plain", "--case", "0")
    told = "raised NameError (code cell 4, line 7): name 'TODO' is not defined"
    assert told in tried("third", "--case", "0")
    assert "has no answer squared to q1 that says TODO nowhere" in refused("doubled", "--answer", "squared")


def test_what_an_inside_function_prints_is_shown(root):
    """Its lines stand above the facts, once if they are the same for all."""
    printing = (
        "    print('now', torch.ones(1))\n    print(*[1, 2], sep='+')\n    return torch.arange(1.0, 4.0)"
    )
    edit(root / CHECKS, NUMBERS[0], NUMBERS[1].replace("    return torch.arange(1.0, 4.0)", printing))
    assert tried("doubled", "--answer", "added", "--case", "0").splitlines() == [
        "doubled    prints  now tensor([1.])",
        "doubled    prints  1+2",
        "doubled    case 0: typical",
        "doubled    result   <float32 (3,) 2 4 6>   equal",
    ]


def test_an_error_has_the_line_of_the_inside_function(root):
    stops = "# a remark\n    y = torch.randn(3)\n    return y @ torch.zeros(4)"
    line = edit(root / CHECKS, "return torch.randint(3, 9, ()).item()", stops)
    told = tried("made")
    place = f"{root / CHECKS}, line {line + 2}: length, called by contract made,"
    assert told.startswith(f"made    reference stops: {place} raised RuntimeError: ")
    assert told.count("\n") == 1


def test_an_answer_that_raises_is_told_with_its_own_line(root):
    edit(root / ANSWERS, "return x * x", "return x @ torch.zeros(70)")
    told = tried("doubled", "--answer", "squared")
    assert "doubled    squared fails 2 of 2 cases, first of all case 0" in told
    assert "`return x @ torch.zeros(70)` raised RuntimeError" in told
    assert "RuntimeError" in tried("doubled", "--answer", "squared", "--case", "0")


def test_a_seed_decides_the_inputs(root):
    one, same, other = (tried("doubled", "--case", "0", "--seed", seed) for seed in ("1", "1", "2"))
    assert one == same != other


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["doubld"], "has no contract or picture doubld; did you mean doubled?"),
        (["doubled", "--answer", "squard"], "has no answer squard to q1; did you mean squared?"),
        (["doubled", "--answer", "plain"], "has no answer plain to q1; there is added, squared, stub"),
    ],
)
def test_a_name_that_is_not_known_is_refused_with_another(root, arguments, told):
    assert told in refused(*arguments)


SEEN, WRONG = [0.0] * 40, "differs: 2 of its 50 entries are wrong"
SHOWN = {
    "numbers from where they differ": (
        tensor([0.0] * 50),
        tensor([*SEEN, 1.0, 0.0, 2.0, *[0.0] * 7]),
        "p result reference <float32 (50,) .. 0 0 0 0 ..>"
        " p result mine <float32 (50,) .. 1 0 2 0 ..> " + WRONG,
    ),
    "so many digits that a difference shows": (
        replace(tensor([1.0]), dtype="torch.float64"),
        replace(tensor([1.00005]), dtype="torch.float64"),
        (
            "p result reference <float64 (1,) 1>"
            " p result mine <float64 (1,) 1.00005> differs: it is off by 0.005%"
        ),
    ),
    "noise of rounding": (tensor([1.0]), tensor([1.0 + 1e-7]), "p result <float32 (1,) 1> equal"),
    "the name of a node is no difference": (
        tensor([1.0], is_leaf=False, grad_fn="MulBackward0"),
        tensor([1.0], is_leaf=False, grad_fn="AddBackward0"),
        "p result <float32 (1,) 1, non-leaf> equal",
    ),
    # A version or a lost gradient is seen, even though assert_close lets it pass.
    "other parts of a tensor": (
        {"w": tensor([1.0], version=1, grad=tensor([2.0]))},
        {"w": tensor([1.0])},
        (
            "p w reference <float32 (1,) 1, version 1> p w mine <float32 (1,) 1> differs"
            " p w.grad reference <float32 (1,) 2> p w.grad mine nothing differs"
        ),
    ),
    "every part by itself": (
        {"deep": [{"a": "x", "b": [1, 2]}, "y"], "n": 1},
        {"deep": [{"a": "x", "b": [1, 2]}, "other"], "n": 1},
        (
            "p deep[0]['a'] 'x' equal p deep[0]['b'] list of 1 2 equal"
            " p deep[1] reference 'y' p deep[1] mine 'other' differs p n 1 equal"
        ),
    ),
    "an error in the place of many entries": (
        {"all": [tensor([1.0]), "b"]},
        {"all": Raised(("RuntimeError", "Exception"), "no", "")},
        (
            "p all[0] reference <float32 (1,) 1> p all[0] mine nothing differs"
            " p all[1] reference 'b' p all[1] mine nothing differs"
            " p all reference nothing p all mine raised RuntimeError: no differs"
        ),
    ),
    "no fact on any side": ({}, {}, "p result {} equal"),
    "what is missing": ({"a": 1, "b": 2}, {"a": 1}, "p a 1 equal p b reference 2 p b mine nothing differs"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_facts_are_shown_side_by_side(name):
    reference, mine, lines = SHOWN[name]
    assert words(" ".join(shown(reference=reference, mine=mine))) == lines


@pytest.mark.parametrize("long", ["a" * 300, [True] * 30])
def test_of_long_texts_and_lists_the_end_is_compared_too(long):
    """What is shown is cut, what is compared is not."""
    other = long[:-1] + ("b" if isinstance(long, str) else [False])
    assert shown(reference=long, mine=long)[-1].endswith(" equal")
    assert shown(reference=long, mine=other)[-1].endswith(" differs")


@pytest.mark.parametrize(
    "other", [tensor([1.0], (1, 1)), tensor([2.0]), replace(tensor([1.0]), dtype="torch.float64")]
)
def test_what_assert_close_compares_differs(other):
    """Of a tensor the shape, the dtype or the values; whatever else differs beside."""
    lines = shown(reference=tensor([1.0]), mine=replace(other, version=1))
    assert " differs" in words(" ".join(lines))


def test_nobody_reads_hundreds_of_entries():
    """What is the same is counted, and what differs stays; of a reference alone, everything is shown."""
    same = {f"e{n}": n for n in range(70)}
    lines = shown(reference=same | {"last": "a"}, mine=same | {"last": "b"})
    assert lines[-3:] == [
        "p    last   reference 'a'",
        "p    last   mine 'b'   differs",
        "p    and 30 more equal entries",
    ]
    assert len(shown(reference={"deep": ["a", {"b": 1, "c": 2}]})) == 3


def test_of_what_a_call_may_change_only_the_changes_are_shown(root):
    """What was watched is told by its changes, under the names that `free` and `may` take."""
    watched = 'watched = contract("double", {"x": data("n")}, name="watched")\ndoubled ='
    edit(root / CHECKS, "doubled =", watched)
    edit(root / ANSWERS, "return x * x", "return x.mul_(2)")
    lines = [words(line) for line in tried("watched", "--case", "0", "--answer", "squared").splitlines()]
    assert "watched side_effects reference 'nothing changed'" in lines
    told = 'squared "Your call changes the values of the caller\'s `x`." differs'
    assert f"watched side_effects['x:value'] {told}" in lines
    assert any(line.startswith("watched side_effects['after']['x'] squared <float32 ") for line in lines)
    assert not any("mode" in line or "before" in line for line in lines)
    edit(root / ANSWERS, "return x.mul_(2)", "x.grad = x.clone()\n    return 2 * x")
    told = tried("watched", "--case", "0", "--answer", "squared")
    assert "side_effects['x:frozen grad']" in told
    assert "'after'" not in told, "the sentence says all: no values were written"


def test_a_function_may_call_its_results_before_and_after(root):
    """If these are no records of changes, they are shown as they are."""
    returned = "return {'before': x * 0 + 1, 'after': {'y': x * 0 + 2}}"
    edit(root / "solutions/01_tiny.py", "return 2 * x", returned)
    shown = words(tried("doubled", "--case", "0"))
    assert "doubled result['before'] <float32 " in shown
    assert "doubled result['after']['y'] <float32 " in shown


PICTURE = """
@picture
def drawn(student):
    \"\"\"What is behind y.\"\"\"
    x = torch.ones(3, requires_grad=True)
    return graph(y=student.double(x), x=x)
"""


def test_a_picture_is_tried_like_a_contract(root):
    """Its sentence and its tensors are shown of each, and whether the same is drawn, if anything is."""
    edit(root / CHECKS, "own, points\n", "own, picture, points\n")
    edit(root / CHECKS, "import inside, torch\n", f"import graph, inside, torch\n\n{PICTURE}")
    lines = [words(line) for line in tried("drawn", "--answer", "added", "--answer", "stub").splitlines()]
    reached = "none freed or overwritten that autograd knows of: backward would work and reach x."
    assert lines[0] == f"drawn reference: 2 nodes behind y, {reached}"
    assert lines[1] == f"drawn added: 2 nodes behind y, {reached} differs"
    assert lines[2].startswith("drawn stub: y is a leaf without a history")
    assert lines[2].endswith(" differs")
    assert "drawn x stub '3, leaf, requires grad, version 0, the object of y' differs" in lines
    edit(root / ANSWERS, "return x + x", "return x * 2")
    lines = [words(line) for line in tried("drawn", "--answer", "added").splitlines()]
    assert lines[1] == f"drawn added: 2 nodes behind y, {reached} equal"
    edit(root / CHECKS, "return graph(y=student.double(x), x=x)", "return student.double(x)")
    assert tried("drawn") == ("drawn    reference has no picture: its result is not that of graph(...)\n")


def test_a_contract_is_tried_before_a_check_judges_it(root):
    edit(root / CHECKS, "@points(2)\ndef test_double", "def unfinished")
    assert tried("doubled").startswith("doubled    2 cases\n")


def test_a_look_is_not_paid_for_with_what_others_need():
    """Half of the time of a look is spent before it: nothing heavy is imported that it does not use."""
    code = "import sys, grader.cli, grader.doctor.try_answers; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"IPython", "jinja2", "jupytext", "nbformat", "numpy", "pygraphviz", "rich", "torch"}
    assert heavy & set(run.stdout.split()) == set()
