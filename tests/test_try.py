"""`try` shows an author the facts of a few probes, and works while the rest of the assignment is blank."""

import subprocess
import sys

import pytest
from click.testing import CliRunner
from tiny_course import write_course

from grader.appeal.fact_text import entries_of
from grader.cli import main
from grader.facts import Raised, Tensor
from grader.scaffold import Scaffold
from grader.side_by_side import side_by_side

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


def edit(root, place, before, after):
    path = root / place
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    sys.modules.pop(path.stem, None)  # another command would read it anew
    return text.split(before)[0].count("\n") + 1


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
    edit(root, CHECKS, "    return student.double(torch.randn(3))", TWO_FACTS)
    lines = tried("doubled", "--answer", "squared", "--answer", "added").splitlines()
    assert lines[0] == "doubled    x   <float32 (3,) 1 2 3>   equal"
    assert [" ".join(line.split()) for line in lines[1:]] == [
        "doubled y reference <float32 (3,) 2 4 6> squared <float32 (3,) 1 4 9> differs added equal"
    ]


TWO_FACTS = "    x = torch.arange(1.0, 4.0)\n    return {'x': x, 'y': student.double(x)}"


def test_the_stub_is_an_answer(root):
    """What is handed out is looked at as if a student had written it."""
    edit(root, CHECKS, "torch.randn(3)", "torch.ones(3)")
    assert words(tried("doubled", "--answer", "stub")) == (
        "doubled result reference <float32 (3,) 2 2 2> stub <float32 (3,) 1 1 1> differs: it is 1/2 of what"
        " it should be"
    )


def test_the_rest_may_be_blank(root):
    """Neither another question nor checks nor answers that are not written stand in the way."""
    Scaffold.plan(root, STEM, None, ["third"]).write()
    edit(root, CHECKS, '    assert made.seen.is_leaf, "This is not a leaf."', "    [FILL IN: a leaf]")
    edit(root, CHECKS, '"This is not twice as much."', "[FILL IN: what is wrong]")
    edit(root, ANSWERS, "return x * x", "return [FILL IN: squares]")
    assert tried("made", "--answer", "plain").startswith("made    result   reference <float32 (3,) 0 0 0, ")
    line = edit(root, CHECKS, "[FILL IN: what is looked at;", "[FILL IN: what is looked at;")
    told = refused("third_called")
    assert f"third_called is left out, for it still has a blank: {root / CHECKS}, line {line}: what" in told
    assert "squared is left out, for it still has a blank" in refused("doubled", "--answer", "squared")


def test_what_a_probe_prints_is_shown(root):
    """Its lines stand above the facts, once where they are the same for all."""
    edit(
        root,
        CHECKS,
        "return student.double(torch.randn(3))",
        "print('now', torch.ones(1))\n    print(*[1, 2], sep='+')\n    return student.double(2.5)",
    )
    assert tried("doubled", "--answer", "added").splitlines() == [
        "doubled    prints  now tensor([1.])",
        "doubled    prints  1+2",
        "doubled    result   5   equal",
    ]


def test_an_error_has_the_line_of_the_probe(root):
    """Where a probe stops, its file, its line and torch's text are told; the others' facts are shown."""
    before = "return student.double(torch.randn(3))"
    line = edit(
        root,
        CHECKS,
        before,
        "# a remark\n    y = student.double(torch.randn(3))\n    return y @ torch.zeros(4)",
    )
    told = tried("doubled")
    assert told.startswith(
        f"doubled    reference stops: {root / CHECKS}, line {line + 2}: probe doubled raised RuntimeError: "
    )


def test_an_answer_that_raises_is_told_with_the_line_of_the_probe(root):
    """An answer's error names the line of the probe that called it, and the answer's own."""
    edit(root, ANSWERS, "return x * x", "return x @ torch.zeros(7)")
    line = edit(root, CHECKS, "return student.double", "return student.double")
    told = tried("doubled", "--answer", "squared")
    assert f"squared stops: {root / CHECKS}, line {line}: probe doubled raised RuntimeError" in told
    assert "`return x @ torch.zeros(7)`" in told
    assert "doubled    result   <float32 (3,) " in told


def test_an_oracle_stands_beside_the_reference(root):
    """Where an oracle answers in the place of the reference, both are shown."""
    edit(root, CHECKS, "import torch", "import inside, torch")
    edit(
        root,
        CHECKS,
        "@probe\ndef doubled",
        "@inside\ndef thrice(x):\n    return 3 * x\n\n\n@probe(oracle=thrice)\ndef doubled",
    )
    edit(root, CHECKS, "torch.randn(3)", "torch.ones(3)")
    assert "oracle <float32 (3,) 3 3 3> reference <float32 (3,) 2 2 2> differs" in words(tried("doubled"))


def test_a_seed_decides_the_inputs(root):
    """The same seed shows the same facts, another one others."""
    assert (
        tried("doubled", "--seed", "1") == tried("doubled", "--seed", "1") != tried("doubled", "--seed", "2")
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["doubld"], "has no probe doubld; did you mean doubled?"),
        (["doubled", "--answer", "squard"], "has no answer squard to q1; did you mean squared?"),
        (["doubled", "--answer", "plain"], "has no answer plain to q1; there is added, squared, stub"),
    ],
)
def test_a_name_that_is_not_known_is_refused_with_another(root, arguments, told):
    """A slip of the pen costs no thought."""
    assert told in refused(*arguments)


def test_numbers_are_shown_from_where_they_differ():
    """Of a long tensor the first entries may be right: the ones that are not are seen."""
    seen = [0.0] * 50
    lines = shown(reference=tensor([0.0] * 50), mine=tensor([*seen[:40], 1.0, 0.0, 2.0, *seen[43:]]))
    assert words("\n".join(lines)) == (
        "p result reference <float32 (50,) .. 0 0 0 ..> mine <float32 (50,) .. 1 0 2 ..> differs: 2 of its 50"
        " entries are wrong"
    )


def test_so_many_digits_are_shown_that_a_difference_shows():
    """Two numbers that differ never look the same."""
    (line,) = shown(reference=tensor([1.0]), mine=tensor([1.0005]))
    assert "reference <float32 (1,) 1>   mine <float32 (1,) 1.0005>   differs" in line


def test_what_no_check_looks_at_is_no_difference():
    """Noise of rounding and the name of a node tell right answers apart, not wrong ones."""
    one, other = (tensor([1.0], is_leaf=False, grad_fn=f"{name}Backward0") for name in ("Mul", "Add"))
    assert shown(reference=one, mine=other) == ["p    result   <float32 (1,) 1>   equal"]
    assert shown(reference=tensor([1.0]), mine=tensor([1.0 + 1e-7])) == [
        "p    result   <float32 (1,) 1>   equal"
    ]


def test_other_parts_of_a_tensor_are_shown_where_they_differ():
    """A version or a lost gradient is seen, though the numbers are the same; a gradient is an entry."""
    before = tensor([1.0], version=1, grad=tensor([2.0]))
    assert shown(reference={"w": before}, mine={"w": tensor([1.0])}) == [
        "p    w        reference <float32 (1,) 1, version 1>   mine <float32 (1,) 1, version 0>   differs",
        "p    w.grad   reference <float32 (1,) 2>   mine None   differs",
    ]


def test_an_error_in_the_place_of_facts_is_told_once():
    """Where one side has an error and the other many entries, these are not told to be missing one by one."""
    error = Raised(("RuntimeError", "Exception"), "no", "")
    assert shown(reference={"all": [tensor([1.0]), "b"]}, mine={"all": error}) == [
        "p    all      mine raised RuntimeError: no   differs",
        "p    all[0]   <float32 (1,) 1>",
        "p    all[1]   'b'",
    ]


def test_what_is_missing_is_told():
    """An entry that one side has not is no entry that is equal."""
    assert shown(reference={"a": 1, "b": 2}, mine={"a": 1}) == [
        "p    a   1   equal",
        "p    b   reference 2   mine nothing   differs",
    ]


def test_nobody_reads_hundreds_of_entries():
    """What is the same is counted, and what differs stays."""
    same = {f"e{n}": n for n in range(70)}
    lines = shown(reference=same | {"last": "a"}, mine=same | {"last": "b"})
    assert lines[-2:] == ["p    last   reference 'a'   mine 'b'   differs", "p    and 30 more equal entries"]
    assert len(entries_of(same)) == 70


def test_a_probe_is_tried_before_a_check_judges_it(root):
    """Neither a missing check nor a mistake in another probe stands in the way."""
    edit(root, CHECKS, "@points(2)\ndef test_double", "def unfinished")
    edit(root, CHECKS, "return student.leaf(3)", "return student.leef(os.getcwd())")
    assert tried("doubled").startswith("doubled    result   <float32 (3,) ")


def test_a_look_is_not_paid_for_with_what_others_need():
    """Half of the time of a look is spent before it: nothing heavy is imported that it does not use."""
    code = "import sys, grader.cli, grader.probe_run, grader.probe_text; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"IPython", "altair", "jinja2", "jupytext", "nbformat", "numpy", "pygraphviz", "rich", "torch"}
    assert heavy & set(run.stdout.split()) == set()
