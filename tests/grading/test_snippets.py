"""A lost point is shown as code, if the sandbox finds the fault in the student's notebook only."""

import re
from dataclasses import replace
from unittest.mock import Mock

import pytest
from tiny_course import RIGHT

from grader.contracts.cases import Case, DeclaredCase, Rules
from grader.course.snippet import CaseText
from grader.course.specialize import CannotShowError
from grader.grading import snippets
from grader.grading.probes import Probe, probes_of
from grader.reports.feedback import NO_SNIPPET
from grader.sandbox.values import Raised, Tensor

DTYPES = 'ONCE = Cases(dtypes=["float32"'


def snippets_of(result):
    checks = [check for question in result["questions"] for check in question["checks"]]
    return {check["id"]: check["snippet"] for check in checks if check["snippet"] is not None}


def doubling(code):
    """A notebook whose second question is right, and whose first has this body."""
    return [RIGHT[0], f"def double(x):\n    {code}", RIGHT[2]]


def snippet_of(klass, code):
    """The only snippet of an answer with this body."""
    klass.grade(ada=doubling(code))
    (text,) = snippets_of(klass.result("ada")).values()
    return text


def page(klass, student, suffix=".md"):
    return (klass.out / "feedback" / student / f"01_tiny{suffix}").read_text(encoding="utf-8")


def test_a_wrong_dtype_is_shown(klass):
    klass.edit_checks((DTYPES, 'ONCE = Cases(dtypes=["float32", "float64"'))
    klass.grade(ada=doubling("return (2 * x).float()"), ben=RIGHT)
    (text,) = snippets_of(klass.result("ada")).values()
    *inputs, call, last = text.splitlines()
    assert inputs[-1].startswith("x = torch.tensor([") and "float64" in inputs[-1]
    assert call == "out = double(x)"
    assert last == "out.dtype   # yours: torch.float32; it should be torch.float64"
    assert call in page(klass, "ada")
    assert last in page(klass, "ada", ".html")
    assert last in klass.explain("ada", "01_tiny", "q1").stdout
    assert not snippets_of(klass.result("ben"))


def test_of_wrong_values_only_the_students_are_told(klass):
    """The values of the reference stay secret, and the values of the student's are those of the snippet."""
    text = snippet_of(klass, "return 3 * x")
    (numbers,) = re.findall(r"x = torch.tensor\(\[(.*)\]\)", text)
    (told,) = re.findall(r"out   # yours: tensor\(\[(.*)\]\), which is wrong", text)
    assert [float(number) for number in told.split(", ")] == pytest.approx(
        [3 * float(number) for number in numbers.split(", ")], abs=1e-3
    )


def test_a_class_is_shown_whole_if_a_later_line_ran_it():
    """The code ends with the statement that raised the error, or is whole if that is a definition."""
    lines = ["class Net:", "    def forward(self, x):", "        return x @ x"]
    lines += ["net = Net()", "for x in y:", "    net(x)"]
    assert snippets.up_to_statement([*lines, "out"], 3) == [*lines, "out"]
    assert snippets.up_to_statement([*lines, "out"], 5) == lines


def test_an_error_stands_at_the_line_that_raised_it(klass):
    _, _, after = snippet_of(klass, "return x.missing").partition("out = double(x)\n")
    assert all(line.startswith("# ") for line in after.splitlines())
    assert after.startswith("# yours: AttributeError: 'Tensor' object has no attribute 'missing'")


def test_a_snippet_that_does_not_show_the_fault_is_not_published(klass):
    of_tenths = "return 2 * x if (10 * x - (10 * x).round()).abs().max() < 1e-4 else x"
    klass.grade(ada=doubling(of_tenths))  # the numbers of snippets are tenths
    assert snippets_of(klass.result("ada")) == {"test_double": ""}
    assert NO_SNIPPET in page(klass, "ada")


def test_what_an_answer_says_is_escaped_and_cut(klass):
    text = "</pre><script>alert(1)</script>```\\n# it should be\\n" + "x" * 100_000
    snippet = snippet_of(klass, f'raise RuntimeError("""{text}""".replace("x", "y"))')
    assert len(snippet) < 1_000
    assert sum(line.startswith("# it should be") for line in snippet.splitlines()) == 0
    assert "<script>" not in page(klass, "ada", ".html")
    fences = [line for line in page(klass, "ada").splitlines() if line.strip().startswith("```")]
    assert len(fences) % 2 == 0


def test_snippets_belong_to_the_diagnoses(klass, close_the_lab):
    klass.settings("[feedback]\ndiagnoses = false\n")
    klass.grade(ada=doubling("return 3 * x"))
    assert "out = double(x)" not in page(klass, "ada")
    close_the_lab()
    klass.settings("")
    klass.grade()
    assert "out = double(x)" in page(klass, "ada")


@pytest.mark.parametrize("ending", ["while True: pass", "import os; os._exit(0)"])
def test_code_that_was_stopped_is_not_run_again(klass, ending):
    klass.settings("[limits]\nquestion = 2\n")
    klass.grade(ada=doubling(ending))
    assert not snippets_of(klass.result("ada"))


@pytest.mark.parametrize(
    ("broken", "error"),
    [("case_text", RuntimeError("ours")), ("probes_of", RecursionError()), ("probes_of", MemoryError())],
)
def test_a_fault_of_the_graders_costs_only_the_snippet(klass, monkeypatch, broken, error):
    """Scores, messages and exit code are those of a run with snippets, and the run names the fault."""
    klass.hand_in("ada", doubling("return 3 * x"))
    klass.hand_in("ben", RIGHT)
    with monkeypatch.context() as patched:
        patched.setattr(snippets, broken, Mock(side_effect=error))
        ended = klass.run("grade", klass.submissions, "--out", klass.out)
    without = klass.result("ada")
    assert ended.exit_code == 0
    (named,) = [line for line in ended.output.splitlines() if "no snippets" in line]
    assert "ada/01_tiny" in named and "ben/01_tiny" not in named and type(error).__name__ in named
    assert not snippets_of(without) and NO_SNIPPET not in page(klass, "ada")
    klass.grade("--force")
    with_snippets = klass.result("ada")
    assert snippets_of(with_snippets)
    for result in (without, with_snippets):
        del result["provenance"]
        for check in (check for question in result["questions"] for check in question["checks"]):
            del check["snippet"]
    assert without == with_snippets


def test_a_case_that_cannot_be_shown_is_no_fault(klass, monkeypatch):
    monkeypatch.setattr(snippets, "case_text", Mock(side_effect=CannotShowError("no short form")))
    klass.hand_in("ada", doubling("return 3 * x"))
    assert "no snippets" not in klass.run("grade", klass.submissions, "--out", klass.out).output
    assert page(klass, "ada").count(NO_SNIPPET) == 1


def probes_for(seen, expected, text, record=()):
    case = Case("f", DeclaredCase({}, {}), Rules(), record, seen, expected)
    return [*probes_of(Mock(side_effect=AssertionError), "f", case, text)]


def text_of(*inputs, then=(), **names):
    """A case whose arguments are networks."""
    return CaseText((), inputs, ("out = f(net)",), then, names, {}, dict.fromkeys(names, "module"))


def test_of_a_table_only_the_wrong_entry_is_computed():
    text = text_of(then=("one = out + 1", "two = out / 0", "{'first': one, 'second': two, 'third': out * 3}"))
    seen, expected = ({"then": {"first": n, "second": 2.0, "third": n}} for n in (1.0, 3.0))
    first, third = probes_for(seen, expected, text)
    assert (*first.after, first.shows) == ("one = out + 1", "one")
    assert (third.after[-1], third.shows) == ("after = out * 3", "after")


def test_the_parts_of_another_network_are_shown_together():
    seen, expected = ({"result": {"first.weight": n, "last.bias": 2.0}} for n in (1.0, 3.0))
    (probe,) = probes_for(seen, expected, text_of())
    assert (probe.shows, probe.kind) == ("[*out.values()]", "values")


def test_what_an_expected_error_leaves_behind_is_shown():
    """The call is in a block that catches the error, whatever its type."""
    raised = Raised(types=("KeyboardInterrupt", "BaseException"), text="", where="")
    record = {"kind": "module", "training": True, "persistent": [], "hooks": [], "attributes": {}}
    record["class"] = "A"
    before, after = {"net": record}, {"net": {**record, "training": False}}
    expected = {"raised": raised, "side_effects": {"before": before, "after": {}}}
    seen = {"raised": raised, "side_effects": {"before": before, "after": after}}
    of_net, mode, error = probes_for(seen, expected, text_of(net="net"))
    assert of_net.shows == "net.training"
    assert mode.shows == "[part.training for part in net.modules()]"
    candidate = snippets.Candidate("test_f", text_of(net="net"), mode, full_precision=False)
    assert candidate.lines[:3] == ["try:", "    out = f(net)", "except (Exception, KeyboardInterrupt):"]
    assert error.shows == "raised" and error.around == "try:"  # an interrupt would end the snippet


def test_warnings_are_counted():
    seen, expected = ({"recorded": {"given": texts}} for texts in (["a warning"], []))
    caught, filters = probes_for(seen, expected, text_of(), record=["warnings"])
    assert caught.shows == "len(caught)" and "catch_warnings" in caught.around
    assert filters.shows == "[*warnings.filters] == before"


def test_only_what_fails_by_itself_is_shown_of_records():
    def check(f):
        assert f.sides[0].recorded["graphs"]["net"] == 1

    counts = {"calls": {"net": 1}, "recorded": False, "graphs": {"net": 1}}
    seen = {"recorded": {**counts, "recorded": True, "graphs": {"net": 5}}}
    case = Case("f", DeclaredCase({}, {}), Rules(), ["graphs"], seen, {"recorded": counts})
    (probe,) = probes_of(check, "f", case, text_of(net="net"))
    assert probe.shows == "counts" and probe.before[-1] == "net.register_forward_hook(count)"


def test_an_inference_tensor_is_shown():
    tensor = Tensor("Tensor", "torch.float32", (1,), (1.0,), True, False, None, False, 0, 0, 0, None)
    seen, expected = ({"result": one} for one in (replace(tensor, version=None), tensor))
    assert probes_for(seen, expected, text_of())[0].shows == "out.is_inference()"


def test_a_second_gradient_and_an_error_that_must_come_are_shown():
    of_loss = {"output": 1.0, "gradients": {"x": 2.0}, "frozen": []}
    text = text_of(then=("{'loss': dict(zip(['x'], torch.autograd.grad(out, [x])))}",))
    seen, expected = ({"then": {"loss": one}} for one in ({**of_loss, "gradients": {"x": None}}, of_loss))
    (probe,) = probes_for(seen, expected, text)
    assert probe.shows == "type(after['x']).__name__"
    raised = Raised(types=("RuntimeError", "Exception", "BaseException"), text="", where="")
    (probe,) = probes_for(seen, {"then": {"loss": {**of_loss, "gradients": raised}}}, text)
    assert (probe.shows, probe.kind) == ("after", "error")


def test_gradients_of_each_entry_and_of_a_dict_are_shown():
    none, some = ({"output": 1.0, "gradients": {"x": n}, "frozen": []} for n in (None, 2.0))
    text = replace(text_of(x="x"), makers={"x": "tensor"})
    entries = ({"gradients": {"entry 0": some, "entry 1": one}, "result": [1.0, 2.0]} for one in (none, some))
    assert probes_for(*entries, text)[0].after == ["(out[1] - 3).square().sum().backward()"]
    of_dict = ({"gradients": one, "result": {"a": 1.0}} for one in (none, some))
    assert "for part in out.values() if torch.is_tensor(part)" in probes_for(*of_dict, text)[0].after[0]


def test_a_grad_that_the_caller_holds_is_shown():
    """That its values changed is a flag, also where another tensor took its place."""
    shown = [probe for probe in snippets.probes_of.__globals__["_GRAD"] if "held" in probe.shows]
    (probe,) = (one.of("x") for one in shown)
    assert probe.before == ["held = x.grad", "before = held.clone()"] and probe.kind == "property"


def test_only_the_lines_that_the_fault_needs_are_shown():
    text = text_of(
        "torch.manual_seed(0)",
        "unused = torch.randn(2)",
        "unused.requires_grad_()",
        "net = nn.Linear(2, 2)",
        "layer = net.weight",
        "",
        "layer.requires_grad_(False)",
        "handle = net.register_forward_hook(print)",
        "table = {'a': lambda v: v, 'b': lambda v: 2 * v}",
        "earlier = f(net)",
        net="net",
    )
    text = replace(text, calls=("out = f(table)",))
    candidate = snippets.Candidate("test_f", text, Probe("out['b'] + net"), full_precision=False)
    assert candidate.lines == [
        "torch.manual_seed(0)",
        "net = nn.Linear(2, 2)",
        "layer = net.weight",
        "layer.requires_grad_(False)",
        "handle = net.register_forward_hook(print)",
        "table = {'b': lambda v: 2 * v}",
        "earlier = f(net)",
        "out = f(table)",
        "out['b'] + net",
    ]


def test_a_fault_that_other_numbers_show_has_a_snippet(klass):
    text = snippet_of(klass, "return 2 * x if len(x) == 2 else x")
    assert text.splitlines()[-1].startswith("out   # yours: tensor([")


@pytest.mark.parametrize("path", ["x.grad; print('forged')", "x[__import__('os')]", "x\nforged", "x()", "y"])
def test_no_text_of_a_students_process_becomes_code(path):
    def probes(path):
        before, after = ({path: {"kind": "value", "value": value}} for value in (1, 2))
        seen = {"side_effects": {"before": before, "after": after}}
        return probes_for(seen, {"side_effects": {"before": {}, "after": {}}}, text)

    text = CaseText((), (), ("out = f(x)",), (), {"x": "x"}, {}, {"x": "own"})
    assert not probes(path)
    assert probes("x.part")
