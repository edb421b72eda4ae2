"""`xray` shows a student's own notebook the graphs that feedback shows, and does nothing in a worker."""

import json
import re
import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from observing import look
from test_picture import GRAPH

from grader.graphs.model import read_graph
from grader.student.xray import XRay

ROOT = Path(__file__).parents[2]
FREED = "3 of them have freed saved tensors: another backward through them would raise"
NOTEBOOK = """
import json, sys, warnings
from grader import xray

before = sorted(name for name in sys.modules if name in {"torch", "numpy", "pygraphviz", "grader.runtime"})
import torch
from torch import nn

cell = nn.RNNCell(1, 2)
h = cell(torch.ones(1, 1))
h.sum().backward()
loss = (cell(torch.ones(1, 1), h) ** 2).sum()
state = h.detach()
found = xray(loss=loss, h=h, state=state, cell=cell)

class Sub(torch.Tensor):
    pass

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    nested = torch.nested.nested_tensor([torch.ones(1)])

mistakes = {
    text: repr(eval(text))
    for text in (
        "xray()", "xray(3)", "xray(n=3)", "xray(h=None)", "xray(d={})", "xray(relu=nn.ReLU())",
        "xray(g=(i for i in [1]))", "xray(s=Sub())", "xray(a=1, b=2, c=3, d=4)", "xray(loss, limit=0)",
        "xray(loss, limit=loss)", "xray(lazy=nn.LazyLinear(2))",
        "xray(nested=nested)",
    )
}
saved = {}
for file in ("graph.svg", "graph.png", "graph.pdf", "no/graph.svg"):
    saved[file] = str(found.save(file))
saved["nothing"] = str(xray(n=3).save())

def text(*unnamed, **named):
    return [line.split(":")[0].strip() for line in repr(xray(*unnamed, **named)).splitlines()[1:]]

row = torch.ones(1, 2, requires_grad=True)
print(json.dumps({
    "before": before, "mistakes": mistakes, "repr": repr(found), "saved": saved,
    "html": found._repr_html_(), "markdown": found._repr_markdown_(),
    "unnamed": [text(state), text(h, state), text(loss, cell), text(loss, cell, nn.Linear(1, 1))],
    "by name": [line.split(":")[0].strip() for line in repr(xray(loss, h.detach())).splitlines()[1:]],
    "memory": xray(row=row, rows=row.expand(3, 2))._repr_markdown_(),
    "partly": repr(xray(loss=loss, batch={"x": state, "n": 3})).splitlines()[-1],
    "grad": cell.weight_ih.grad is not None, "versions": [h._version, loss._version],
}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("notebook")


@pytest.fixture(scope="module")
def shown(folder):
    """What a notebook on a student's machine is shown, in an interpreter of its own."""
    return in_an_interpreter(NOTEBOOK, folder)


def in_an_interpreter(source, folder):
    """What a script prints last, as JSON; what it prints before under "printed"."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    *printed, last = ended.stdout.splitlines()
    return json.loads(last) | {"printed": printed}


def test_looking_changes_nothing(shown):
    """Neither torch nor Graphviz is imported before a picture is wanted; no gradient or version changes."""
    assert (shown["before"], shown["grad"], shown["versions"]) == ([], True, [0, 0])


def test_every_front_end_has_something_to_show(shown):
    """HTML with images, which untrusted notebooks show too, Mermaid in Markdown, and readable text."""
    image = shown["html"].partition('src="data:image/svg+xml;base64,')[2].partition('"')[0]
    drawn = b64decode(image).decode()
    assert "saved tensors freed" in drawn
    assert ">cell.weight_hh</tspan> 2x2<" in drawn
    assert "<svg" not in shown["html"]
    assert "```mermaid\nflowchart TB\n" in shown["markdown"]
    assert shown["repr"].splitlines()[:4] == [
        f"18 nodes behind loss; {FREED}.",
        "  loss scalar: made by SumBackward0, requires grad, version 0",
        "  h 1x2: made by TanhBackward0, requires grad, version 0",
        "  state 1x2: leaf, no grad, version 0, .grad None",
    ]


def test_names_may_be_left_out(shown):
    """A single tensor needs no name, of several each has its position; a module's parameters have names."""
    weights = ["weight_ih 2x1", "weight_hh 2x2", "bias_ih 2", "bias_hh 2"]
    of_modules = [*(f"module[1].{name}" for name in weights), "module[2].weight 1x1", "module[2].bias 1"]
    assert shown["unnamed"] == [
        ["tensor 1x2"],
        ["tensor[0] 1x2", "tensor[1] 1x2"],
        ["tensor scalar", *weights],
        ["tensor scalar", *of_modules],
    ]
    assert shown["by name"] == ["loss scalar", "tensor[1] 1x2"]  # a variable of the caller's is a name


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("xray()", "nothing was given. Give xray"),
        ("xray(3)", "tensor is an int. Give xray tensors, modules, or lists, tuples and dicts of them"),
        ("xray(n=3)", "n is an int. Give xray"),
        ("xray(h=None)", "h is None."),
        ("xray(d={})", "d is a dict without tensors."),
        ("xray(relu=nn.ReLU())", "relu is a module without parameters, ReLU."),
        ("xray(g=(i for i in [1]))", "g is a generator."),
        ("xray(s=Sub())", "s is of a class made from Tensor, Sub."),
        ("xray(a=1, b=2, c=3, d=4)", "a is an int; b is an int; c is an int; and 1 more."),
        ("xray(loss, limit=0)", "limit is how many nodes are drawn at most: xray(loss=loss, limit=40)."),
        ("xray(loss, limit=loss)", "limit is how many nodes are drawn at most: xray(loss=loss, limit=40)."),
        ("xray(lazy=nn.LazyLinear(2))", "lazy.weight is of a class made from Tensor, UninitializedParameter"),
        ("xray(nested=nested)", "could not be read (RuntimeError: "),
    ],
)
def test_what_cannot_be_drawn_is_named_in_a_sentence(shown, call, said):
    """Whatever is given instead of tensors, alone or beside them, the result is a sentence, and no error."""
    assert said in shown["mistakes"][call]
    assert "\n" not in shown["mistakes"][call]
    assert shown["partly"] == "Not drawn: batch.n is an int."


def test_a_picture_is_saved_as_a_file_of_its_own(shown, folder):
    """save() writes SVG on white paper, or PNG, and returns the file; else a sentence says why not."""
    refused = dict.fromkeys(["graph.pdf", "no/graph.svg", "nothing"], "None")
    assert shown["saved"] == {"graph.svg": "graph.svg", "graph.png": "graph.png", **refused}
    tree = ET.parse(folder / "graph.svg").getroot()
    assert tree[0].get("fill") == "#ffffff"
    assert "currentColor" not in (folder / "graph.svg").read_text(encoding="utf-8")
    assert (folder / "graph.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in folder.iterdir()} == {"graph.svg", "graph.png"}
    told = [line.split(" was not written: ")[0] for line in shown["printed"]]
    assert told == ["graph.pdf", "no/graph.svg", "graph.svg"]


def test_without_graphviz_there_is_text(monkeypatch):
    """Where Graphviz is missing or fails, a notebook shows text and the reason, and a check no picture."""

    def fails(*_):
        raise ImportError("no <graphviz>")

    monkeypatch.setattr("grader.student.xray.draw", fails)
    shown = XRay("", read_graph(GRAPH))
    assert shown.html().startswith("<pre>2 nodes behind h;")
    assert "could not draw this graph (ImportError: no &lt;graphviz&gt;)" in shown.html()
    assert (shown.picture, shown._repr_markdown_()) == (None, None)


LARGE = """
import json
from base64 import b64decode
import torch
from torch import nn
from grader import xray

torch.manual_seed(0)

def seen(**named):
    drawn = xray(**named)
    return [drawn._repr_markdown_(), repr(drawn)]

layer = nn.TransformerEncoderLayer(8, 2, 16)
out = layer(torch.randn(5, 2, 8))
deep = nn.Sequential(*[nn.Sequential(nn.Linear(2, 2), nn.Tanh()) for _ in range(24)])
deep[0].requires_grad_(False)
h = deep[:12](torch.ones(1, 2))
end = deep[12:](h).sum()
unused = nn.Linear(2, 2)
shown = {
    "encoder": seen(loss=out.mean(), layer=layer),
    "deep": seen(end=end, h=h, deep=deep, unused=unused, w=deep[23][0].weight),
    "shallow": seen(end=end, deep=deep, limit=6),
    "wide": seen(end=end, deep=deep, limit=1000),
    "nearest": seen(end=end),
    "alone": seen(deep=deep),
    "many": seen(weights=[torch.ones(1) for _ in range(100)]),
}
end.backward()
shown["freed"] = seen(end=end, deep=deep)
end = deep(torch.ones(1, 2))
with torch.no_grad():
    deep[20][0].weight.add_(1)
shown["stale"] = seen(end=end, deep=deep)
print(json.dumps(shown))
"""


@pytest.fixture(scope="module")
def large(folder):
    """Pictures of large graphs: their boxes by the first word, their arrows, and the text."""
    pictures = in_an_interpreter(LARGE, folder)
    return {name: parsed(*told) for name, told in pictures.items() if name != "printed"}


def parsed(markdown, text):
    boxes, arrows = {}, set()
    for line in markdown.splitlines():
        if '"' in line:
            place, words = line.split('"')[0].strip(" [](){}>"), line.split('"')[1]
            boxes[place] = words.replace("<b>", "").replace("</b>", "").split("<br/>")
        elif "-->" in line:
            arrows.add(tuple(part.strip() for part in line.split("-->")))
    names = {place: words[0] for place, words in boxes.items()}
    return {
        "boxes": {words[0]: words[1:] for words in boxes.values()},
        "arrows": {(names[start], names[end]) for start, end in arrows},
        "text": text,
    }


def test_a_large_graph_is_folded_by_module(large):
    """Each box holds a module's operations and parameters, and a residual makes no circle."""
    shown = large["encoder"]
    assert shown["boxes"]["layer.linear1"] == ["Linear, 6 operations", "weight 16x8, bias 16", ".grad None"]
    assert shown["arrows"] == {
        ("loss scalar", "layer.norm2"),
        ("layer.norm2", "layer.linear2"),
        ("layer.linear2", "layer.linear1"),
        ("layer.linear2", "layer.norm1"),
        ("layer.linear1", "layer.norm1"),
        ("layer.norm1", "layer.self_attn.out_proj"),
        ("layer.self_attn.out_proj", "layer.self_attn"),
    }
    assert "folded by module" in shown["text"]


def test_what_was_named_is_not_folded(large):
    """A named result and a parameter that was named by itself stay; an unused module says so."""
    boxes = large["deep"]["boxes"]
    assert boxes["h 1x2"] == ["Tanh"]
    assert boxes["deep.23.0.weight 2x2"] == ["w", "leaf, .grad None"]
    assert boxes["unused"] == ["Linear", "weight 2x2, bias 2", ".grad None", "no arrow arrives"]
    assert boxes["deep.0.0"][-1] == "no arrow arrives"
    assert boxes["deep.1.0"] == ["Linear, 3 operations", "weight 2x2, bias 2", ".grad None"]


def test_a_smaller_limit_folds_further(large):
    """Modules are folded into those that hold them, as far as it takes; a large limit folds nothing."""
    assert large["shallow"]["boxes"]["deep"][0].startswith("Sequential, ")
    assert large["shallow"]["boxes"]["deep"][1] == "48 parameters"
    assert "folded" not in large["wide"]["text"]
    assert len(large["wide"]["boxes"]) > 40


def test_without_modules_the_nearest_nodes_are_drawn(large):
    """Nodes and tensors that cannot be folded are drawn up to the limit, and the others are counted."""
    shown, many = large["nearest"], large["many"]["boxes"]
    assert [words for words in shown["boxes"] if "more node" in words] == ["and 76 more nodes"]
    assert "A larger limit draws more nodes: xray(..., limit=80)." in shown["text"]
    assert "and 60 more tensors" in many and len(many) == 41
    assert "These are leaves only." in large["alone"]["text"]


def test_trouble_is_seen_in_a_folded_graph(large):
    """A box of freed operations says so, and an operation with an overwritten tensor stays by itself."""
    freed, stale = large["freed"]["boxes"], large["stale"]["boxes"]
    calm = {name for name, words in freed.items() if words[-1:] != ["saved tensors of 2 freed"]}
    assert calm == {"end scalar", "deep.0.0"}
    assert stale["Addmm"] == ["mat2: saved v1,", "now v2"]
    assert stale["deep.20.0"][0] == "Linear, 2 operations"


def test_it_does_nothing_in_a_worker(zygote):
    cells = ["import torch\nfrom grader import xray", 'x = torch.ones(1)\nxray(x=x)\nxray(x).save("x.svg")']
    seen = look(zygote, [*cells, "def f():\n    return 1"], f="student.f()")
    assert (seen["f"], seen.raised) == (1, {})


def test_shared_memory_is_drawn(shown):
    """A view is joined to its base by a dotted line, and of expanded rows the box says that they are one."""
    assert "rows 3x2, rows on one memory" in re.sub("</?b>", "", shown["memory"])
    assert re.search(r"n\d -\.- n\d", shown["memory"])
