"""`xray` shows a student's own notebook the graphs that feedback shows, and does nothing in a worker."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from observing import look

import grader

ROOT = Path(__file__).parents[2]
FREED = "3 of them have freed saved tensors: another backward through them would raise"

NOTEBOOK = """
import json, sys
from grader import xray

before = sorted(name for name in sys.modules if name in {"torch", "numpy", "pygraphviz", "worker"})
import torch

cell = torch.nn.RNNCell(1, 2)
h = cell(torch.ones(1, 1))
h.sum().backward()
loss = (cell(torch.ones(1, 1), h) ** 2).sum()
state = h.detach()
found = xray(loss=loss, h=h, state=state, cell=cell)
mistakes = []
for call in (lambda: xray(), lambda: xray(3), lambda: xray(loss=3)):
    try:
        call()
    except TypeError as error:
        mistakes.append(str(error))
print(json.dumps({
    "before": before, "mistakes": mistakes, "repr": repr(found),
    "html": found._repr_html_(), "svg": found._repr_svg_(), "markdown": found._repr_markdown_(),
    "unnamed": [repr(xray(state)), repr(xray(h, state))],
    "grad": cell.weight_ih.grad is not None, "versions": [h._version, loss._version],
}))
"""


@pytest.fixture(scope="module")
def shown():
    """What a notebook on a student's machine is shown, in an interpreter of its own."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", NOTEBOOK],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return json.loads(ended.stdout)


def test_importing_it_imports_little(shown):
    """Neither torch nor Graphviz is imported before a picture is asked for."""
    assert shown["before"] == []


def test_every_front_end_has_something_to_show(shown):
    """HTML, SVG on paper of its own, Mermaid in Markdown, and readable text."""
    assert "<svg" in shown["html"]
    assert "saved tensors freed" in shown["html"]
    assert ';height:auto;color:#1a1a1a;background:#fff"' in shown["svg"]
    assert "```mermaid\nflowchart TB\n" in shown["markdown"]
    assert shown["repr"].splitlines()[:4] == [
        f"18 nodes behind loss; {FREED}.",
        "  loss: made by SumBackward0, requires grad, version 0",
        "  h: made by TanhBackward0, requires grad, version 0",
        "  state: leaf, no grad, version 0, .grad None",
    ]


def test_names_may_be_left_out(shown):
    """A single tensor needs no name; of several each has its position."""
    one, two = shown["unnamed"]
    assert one.splitlines()[1:] == ["  tensor: leaf, no grad, version 0, .grad None"]
    assert [line.split(":")[0] for line in two.splitlines()[1:]] == ["  tensor[0]", "  tensor[1]"]


def test_a_mistake_is_answered_by_an_example(shown):
    """Nothing, and nothing that is a tensor, are told how it is meant."""
    assert len(shown["mistakes"]) == 3
    assert all("xray(loss=loss, h=h)" in mistake for mistake in shown["mistakes"])


def test_who_imports_the_package_over_otter_is_told():
    """`import grader` in a notebook takes Otter's place; the next check says so, and what to do."""
    with pytest.raises(
        TypeError, match="Write `from grader import xray` instead, and run the notebook's first"
    ):
        grader.check("q1")


def test_it_does_nothing_in_a_worker(zygote):
    """A notebook that shows an X-ray can be graded: there the call does nothing."""
    cells = ["import torch\nfrom grader import xray", "x = torch.ones(1)\nxray(x=x)\nxray(x)"]
    seen = look(zygote, [*cells, "def f():\n    return 1"], f="student.f()")
    assert (seen["f"], seen.raised) == (1, {})
