"""Pictures: drawn safely of whatever was said, once for equal graphs, and without a say in any verdict."""

import copy
import random
import re
from xml.etree import ElementTree as ET

import pytest
from factories import answer
from observing import QUICK, look, request
from pygraphviz import AGraph
from tiny_course import CHECKS, RIGHT, write_course

from grader.course.course import Course, observe_reference
from grader.course.pictures import _drawn, pictures_of
from grader.doctor.examine import examine
from grader.errors import CourseError
from grader.grading.judge import judge
from grader.graphs.diagram import MAX_LINES, Box, Diagram, Line, diagram_of
from grader.graphs.model import MAX_NEXT, MAX_NODES, MAX_TENSORS, read_graph
from grader.graphs.picture import draw
from grader.graphs.svg import LEGEND_HTML, svg
from grader.notebooks.reader import Cell
from grader.sandbox.evidence import Answer, Evidence, Failure, NotObserved
from grader.sandbox.observer import observe

TENSOR = {"name": "h", "shape": "1x2", "leaf": False, "requires_grad": True, "version": 0, "made_by": 0}
TENSOR |= {"output": 0, "storage": 0, "same": None, "grad": False, "retains": False}
SAVED = ["self", "stale", 0, 1, 0]
NODE = {"op": "MulBackward0", "next": [1], "leaf": None, "named": None, "grad": False, "saved": [SAVED]}
LEAF = {**NODE, "op": "AccumulateGrad", "next": [], "leaf": "3x2", "saved": []}
GRAPH = {"tensors": [TENSOR], "nodes": [NODE, LEAF], "more": False, "total": 2, "freed": 0, "stale": 1}

SVG = "{http://www.w3.org/2000/svg}"
PICTURES = '''

from grader import picture
from grader.inside import graph


@picture(reference=True)
def doubling(student):
    """What doubling records.

    More about it, for authors."""
    x = torch.ones(1, requires_grad=True)
    return graph(y=student.double(x), x=x)


@picture(question="q2")
def a_leaf(student):
    """The leaf"""
    return graph(leaf=student.leaf(2))
'''


@pytest.fixture
def course(tmp_path):
    """The tiny course with two pictures."""
    root = write_course(tmp_path / "course")
    (root / "tests" / "hidden" / "test_01_tiny.py").write_text(CHECKS + PICTURES, encoding="utf-8")
    return Course.find(root)


@pytest.fixture
def reference(zygote, course):
    return observe_reference(zygote, course, "01_tiny", 1)


def seen_in(zygote, course, sources):
    cells = [Cell(number, source) for number, source in enumerate(sources, start=1)]
    return observe(zygote, cells, course.rubric("01_tiny").plan(1), QUICK)


def with_(part, **changes):
    return {**part, **changes}


BROKEN = [
    None,
    3,
    [],
    {},
    with_(GRAPH, extra=1),
    with_(GRAPH, tensors=[]),
    with_(GRAPH, tensors=[TENSOR] * (MAX_TENSORS + 1)),
    with_(GRAPH, nodes=[LEAF] * (MAX_NODES + 1)),
    with_(GRAPH, total=-1),
    with_(GRAPH, total=True),
    with_(GRAPH, freed=1 << 40),
    with_(GRAPH, more=1),
    *(with_(GRAPH, tensors=[with_(TENSOR, **{name: [value]})]) for name, value in TENSOR.items()),
    with_(GRAPH, tensors=[with_(TENSOR, made_by=2)]),
    with_(GRAPH, tensors=[with_(TENSOR, same=1)]),
    with_(GRAPH, tensors=[with_(TENSOR, shape="3x<script>")]),
    with_(GRAPH, tensors=[with_(TENSOR, name="")]),
    *(with_(GRAPH, nodes=[with_(NODE, **{name: {}}), LEAF]) for name in NODE),
    with_(GRAPH, nodes=[with_(NODE, next=[-1]), LEAF]),
    with_(GRAPH, nodes=[with_(NODE, next=[2]), LEAF]),
    with_(GRAPH, nodes=[with_(NODE, next=[True]), LEAF]),
    with_(GRAPH, nodes=[with_(NODE, next=[1] * (MAX_NEXT + 1)), LEAF]),
    with_(GRAPH, nodes=[with_(NODE, saved=[SAVED] * 5), LEAF]),
    with_(GRAPH, nodes=[with_(NODE, saved=[["self", "<b>", 0, 1, 0]]), LEAF]),
    with_(GRAPH, nodes=[with_(NODE, saved=[["self", "stale", 0, "1", 0]]), LEAF]),
]


@pytest.mark.parametrize("fact", BROKEN)
def test_what_is_no_graph_gives_no_picture(fact):
    assert read_graph(fact) is None


def test_a_graph_may_go_in_circles():
    """A worker may lie about who comes after whom; the picture is drawn all the same."""
    nodes = [with_(NODE, next=[0, 1]), with_(NODE, next=[0], leaf="2")]
    assert draw(read_graph(with_(GRAPH, nodes=nodes)), "").svg.startswith("<svg")


HOSTILE = [
    "</svg><script>alert(1)</script>",
    '"]; graph [label="x',
    "<b>bold</b>",
    "\\N\\G\\E\\l",
    "end",
    "#quot;#lt;&lt;",
    "```\n# heading",
    "click n0 href javascript:alert(1)",
    "%%{init: {}}%%",
    "\x00\x1b[31m\u202e",
    "x" * 2000,
    "\u03c3\u4e2d\u6587",
]
MERMAID = re.compile(
    r'flowchart TB|  n\d+\W{1,2}"(<b>)?[\w.\[\]:,() <>/]*"\W{1,2}|'
    r"  n\d+ (-->|-\.->|-\.-) n\d+|  class(Def)? [\w,:;# -]+",
    re.ASCII,
)
WORDS = re.compile(r"[A-Za-z0-9_.\[\]:,() ]*")


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_harmless_wherever_they_go(name):
    fact = copy.deepcopy(GRAPH)
    fact["tensors"][0]["name"] = fact["nodes"][0]["op"] = fact["nodes"][0]["saved"][0][0] = name
    picture = draw(read_graph(fact), "")
    tree = ET.fromstring(picture.svg)
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert tags == {"svg", "g", "path", "rect", "text", "tspan"}
    for element in tree.iter():
        assert not {"id", "href", "onload"} & set(element.attrib)
        assert WORDS.fullmatch((element.text or "") + (element.tail or ""))
    for line in picture.mermaid.splitlines():
        assert MERMAID.fullmatch(line), line
    assert WORDS.fullmatch(picture.summary.replace(";", ""))


def test_the_shapes_tell_what_is_what():
    """Freed, stale, leaf and cut can be told apart by words, not by colour alone."""
    freed = with_(NODE, saved=[["self", "freed", None, None, None]])
    cut = with_(TENSOR, name="start", leaf=True, requires_grad=False, made_by=None)
    picture = draw(read_graph(with_(GRAPH, tensors=[TENSOR, cut], nodes=[freed, LEAF])), "")
    for words in ("saved tensors freed", "leaf 3x2", ".grad None", "cut: detached, same memory", "start"):
        assert words in picture.svg
        assert words in picture.mermaid
    stale = draw(read_graph(GRAPH), "").svg
    assert "self: saved v0," in stale
    assert "now v1" in stale
    assert "id=" not in LEGEND_HTML + stale


@pytest.mark.parametrize("more", [False, True])
def test_a_count_of_the_worker_is_enough(more):
    """What is freed or overwritten beyond the nodes that are told is found by the worker's own count."""
    graph = with_(GRAPH, nodes=[with_(NODE, saved=[]), LEAF], more=more, total=52, stale=0)
    for said, counts in {
        "; 3 of them have freed saved tensors": {"freed": 3},
        "; a saved tensor was overwritten": {"stale": 1},
        ", none freed or overwritten that autograd knows of: backward would work": {},
    }.items():
        assert draw(read_graph(graph | counts), "").summary.startswith(f"52 nodes behind h{said}")
    far = draw(read_graph(graph | {"total": 5001, "freed": 3}), "").summary
    assert far.startswith("More than 5000 nodes behind h; at least 3 of them have freed saved tensors")


def test_a_node_of_python_is_promised_nothing():
    """What a Function written in Python does in its backward is not known, so nothing is said about it."""
    nodes = [with_(NODE, saved=[], op="CheckpointFunctionBackward"), LEAF]
    said = draw(read_graph(with_(GRAPH, nodes=nodes, stale=0)), "").summary
    assert "would work" not in said
    assert "the backward of CheckpointFunction is Python code" in said


def test_letters_stay_large_enough_on_a_phone():
    """A wide picture may be scrolled, and is never shrunk until its letters have less than 11 pixels."""
    drawn = draw(read_graph(GRAPH), "").svg
    patterns = (r' width="(\d+)"', r"min-width:(\d+)px", r'font-size="(\d+)"')
    width, least, size = (float(re.search(pattern, drawn)[1]) for pattern in patterns)
    assert 10.9 <= size * least / width <= size


def test_a_box_that_is_not_the_end_says_so():
    """Where arrows are left out the box says that it goes on, in both drawings; other boxes do not."""
    nodes = [with_(NODE, next=[1, None], saved=[]), LEAF]
    picture = draw(read_graph(with_(GRAPH, nodes=nodes, more=True, total=52)), "")
    assert re.findall(r"n\d.*goes on", picture.mermaid) == ['n0[["<b>h</b> 1x2<br/>Mul<br/>goes on']
    assert picture.svg.count(">goes on ...</text>") == 1
    whole = draw(read_graph(GRAPH), "")
    assert "goes on" not in whole.svg + whole.mermaid


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"more_nodes": 1}, "and 1 more node"),
        ({"more_nodes": 50, "more_tensors": 24}, "and 50 more nodes<br/>and 24 more tensors"),
        ({"more_nodes": 4999}, "and at least 4999 more nodes"),
        ({}, "not all arrows are shown"),
    ],
)
def test_how_much_is_left_out_is_told(counts, said):
    drawn = draw(read_graph(with_(GRAPH, more=True, **counts)), "").mermaid
    assert f'>"{said}"]' in drawn


def test_tensors_without_lines_stand_in_rows():
    """Many named tensors to which no arrow leads make a picture higher, and not ever wider."""
    boxes = tuple(Box("leaf", (f"w{n} 3x4", "leaf, .grad None")) for n in range(40))
    few, many = (svg(Diagram(boxes[:number], ()), "") for number in (6, 40))
    widths = [int(re.search(r' width="(\d+)"', drawn)[1]) for drawn in (few, many)]
    assert widths[1] <= widths[0] + 1


def test_each_shape_of_the_legend_is_that_of_the_drawing():
    """A constant's sample is a small dashed box, as in the drawing, and no mere line."""
    (item,) = (item for item in LEGEND_HTML.split("<li>") if "a tensor without a graph" in item)
    (shape,) = ET.fromstring(item[: item.index("</svg>") + 6])
    assert shape.tag == SVG + "rect"
    assert "stroke-dasharray" in shape.attrib


def chain(steps):
    """A diagram of boxes in a row, each of which also leads to one that all share."""
    boxes = tuple(Box("op", ("Addmm",)) for _ in range(steps))
    ways = {(place, after) for place in range(steps - 1) for after in (place + 1, steps - 1)}
    return Diagram(boxes, tuple(Line(*way, "gradient") for way in sorted(ways)))


def crossings(drawn):
    """How many points of the drawn lines lie inside a box."""
    numbers = re.compile(r"-?\d+\.\d")
    boxes = [
        [float(at.get(name)) for name in ("x", "y", "width", "height")] for at in drawn.iter(SVG + "rect")
    ]
    found = 0
    for path in drawn.iter(SVG + "path"):
        flat = [float(number) for number in numbers.findall(path.get("d"))]
        points = [*zip(flat[::2], flat[1::2], strict=True)] if path.get("fill") == "none" else []
        for start in range(0, len(points) - 1, 3):
            for part in range(1, 20):
                x, y = (bezier([at[axis] for at in points[start : start + 4]], part / 20) for axis in (0, 1))
                found += any(a + 2 < x < a + w - 2 and b + 2 < y < b + h - 2 for a, b, w, h in boxes)
    return found


def bezier(points, at):
    a, b, c, d = points
    rest = 1 - at
    return rest**3 * a + 3 * rest**2 * at * b + 3 * rest * at**2 * c + at**3 * d


def test_lines_are_led_around_boxes():
    diagram = chain(31)
    assert len(diagram.lines) == 59
    assert crossings(ET.fromstring(svg(diagram, ""))) == 0


def test_the_work_of_the_worst_graph_is_bounded():
    """The densest graph that is allowed has a bounded number of lines, all of them straight."""
    random.seed(1)
    nodes = [
        with_(
            NODE,
            op=f"N{n}",
            next=random.sample(range(n + 1, MAX_NODES), min(MAX_NEXT, MAX_NODES - n - 1)),
            saved=[["a", "stale", 1, 2, n % 24]],
        )
        for n in range(MAX_NODES)
    ]
    tensors = [with_(TENSOR, name=f"t{n}", made_by=n % MAX_NODES, storage=n % 3) for n in range(MAX_TENSORS)]
    graph = read_graph(with_(GRAPH, tensors=tensors, nodes=nodes))
    assert len(diagram_of(graph).lines) == MAX_LINES
    ways = re.findall(r'<path d="(M[^"]*C[^"]*)"', draw(graph, "").svg)
    assert len(ways) == MAX_LINES
    for way in ways:
        ends = [float(number) for number in re.findall(r"-?\d+\.\d", way)]
        assert len(ends) == 8
        (x, y, across, down), others = (*ends[:2], ends[6] - ends[0], ends[7] - ends[1]), ends[2:6]
        for along, aside in (others[:2], others[2:]):
            assert abs((along - x) * down - (aside - y) * across) <= 0.2 * (abs(across) + abs(down))


@pytest.mark.parametrize("error", [OSError, ValueError, RuntimeError])
def test_a_picture_that_graphviz_cannot_draw_is_left_out(zygote, course, reference, monkeypatch, error):
    """Whatever the C library raises for one graph, the other pictures are drawn."""

    def broken(paper, *args, **kwargs):
        if paper.number_of_edges():
            raise error("Graphviz")
        return drawing(paper, *args, **kwargs)

    drawing = AGraph.draw
    monkeypatch.setattr(AGraph, "draw", broken)
    _drawn.cache_clear()
    assert {*pictures_of(course.rubric("01_tiny"), seen_in(zygote, course, RIGHT), reference)} == {"q2"}
    _drawn.cache_clear()


def test_drawing_is_silent(capfd):
    """Graphviz looks for no font and says nothing, neither on the first picture nor later."""
    draw(read_graph(GRAPH), "")
    assert capfd.readouterr() == ("", "")


def test_a_notebook_is_drawn(zygote, course, reference):
    """Each answered question has its pictures, and the reference's beside them where that is allowed."""
    rubric = course.rubric("01_tiny")
    shown = pictures_of(rubric, seen_in(zygote, course, RIGHT), reference)
    (doubled,), (leaf,) = shown["q1"], shown["q2"]
    assert (doubled.caption, leaf.caption) == ("What doubling records", "The leaf")
    assert "Add" in doubled.svg
    assert "Mul" in doubled.reference.svg
    assert leaf.reference is None
    (same,) = pictures_of(rubric, reference, reference)["q1"]
    assert (same.svg, same.reference) == (doubled.reference.svg, None)  # shown once where both are equal
    assert leaf.summary == "leaf is a leaf without a history: a backward ends in it, and its .grad is None."


def test_equal_graphs_are_drawn_once(zygote, course, reference):
    _drawn.cache_clear()
    for _ in range(4):
        pictures_of(course.rubric("01_tiny"), seen_in(zygote, course, RIGHT), reference)
    assert _drawn.cache_info().misses == 3  # q1 of theirs and of the reference, q2


def test_evidence_of_another_form_gives_no_picture(course):
    """Evidence is a stranger's: whatever stands in a picture's place, there is none and no error."""
    number = answer(returned={"value": ["int", 1], "tensors": []})
    for strange in (number, Answer.without_observation(NotObserved("late"))):
        evidence = Evidence(answers={"doubling": strange})
        assert pictures_of(course.rubric("01_tiny"), evidence, Evidence()) == {}


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("@picture\ndef p(student):\n    return graph(y=student.double(1))", "picture p has no docstring"),
        ('def test_p(doubling):\n    """P."""\n    assert doubling, "no"', "takes doubling"),
    ],
)
def test_a_picture_that_breaks_the_rules_is_refused(tmp_path, written, complaint):
    root = write_course(tmp_path / "course")
    text = f"{CHECKS}{PICTURES}\n\n{written}\n"
    (root / "tests" / "hidden" / "test_01_tiny.py").write_text(text, encoding="utf-8")
    with pytest.raises(CourseError, match=re.escape(complaint)):
        Course.find(root).rubric("01_tiny")


FAULTS = {
    "raises": "raise ValueError",
    "hangs": "while True: pass",
    "ends": "import os\n        os._exit(0)",
    "leaves": "torch.set_grad_enabled(False)",
    "patches": "torch.Tensor.backward = None",
    "floods": "return graph",
    "forges": "import os\n        os.write(11, b'\\x00\\x00\\x00\\x02{}')",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_picture_that_fails_changes_no_verdict(zygote, course, reference, fault):
    rubric = course.rubric("01_tiny")
    body = f"def double(x):\n    if x.requires_grad:\n        {FAULTS[fault]}\n    return x + x"
    evidence = seen_in(zygote, course, [RIGHT[0], body, RIGHT[2]])
    calm = seen_in(zygote, course, RIGHT)
    for name in ("doubled", "made"):
        assert evidence.answers[name] == calm.answers[name]
    assert "q1" not in pictures_of(rubric, evidence, reference) or fault == "leaves"
    assert judge(rubric, evidence, reference) == judge(rubric, calm, reference)
    assert not evidence.starved


def test_a_fault_in_a_contract_leaves_the_pictures_of_other_questions(zygote, course):
    """Where a fault brings a worker for each question, each is drawn there."""
    killer = "def double(x):\n    import os\n    os._exit(0)"
    evidence = seen_in(zygote, course, [RIGHT[0], killer, RIGHT[2]])
    assert set(evidence.answers) == {"doubled", "made", "a_leaf"}
    assert evidence.answers["doubled"].failure is Failure.CLOSED


def test_a_picture_costs_no_second_worker(zygote, monkeypatch):
    """A picture that leaves something changed does not bring a worker for each question."""
    begun = []
    worker = zygote.worker
    monkeypatch.setattr(zygote, "worker", lambda: begun.append(1) or worker())
    shown = request("shown", "torch.set_grad_enabled(False)\nreturn graph(x=torch.ones(1))", picture=True)
    seen = look(zygote, "def f():\n    return 1", f=[request("asked", "student.f()"), shown])
    assert (seen["asked"], len(begun)) == (1, 1)
    assert read_graph(seen["shown"]) is not None


def test_the_doctor_names_a_picture_that_tells_nothing_apart(course, shared_zygote):
    """A picture that shows the same whatever the answer, or nothing of a right one, is a complaint."""
    path = course.root / "tests" / "hidden" / "test_01_tiny.py"
    more = '''

@picture
def a_tensor_of_its_own(student):
    """Whatever you wrote"""
    student.double(1)
    return graph(x=torch.ones(1))


@picture
def of_a_product(student):
    """Only a product is shown"""
    y = student.double(torch.ones(1, requires_grad=True))
    return graph(y=y) if "Mul" in type(y.grad_fn).__name__ else None
'''
    path.write_text(CHECKS + PICTURES + more, encoding="utf-8")
    (found, *_) = examine(Course.find(course.root), ["01_tiny"], jobs=1, seeds=(1,))
    about = [complaint for complaint in found.complaints if "picture" in complaint]
    same = "is the same for the reference, the starter code and every known-wrong answer"
    where = f"{path}, line {(CHECKS + PICTURES).count(chr(10)) + 4}: picture a_tensor_of_its_own"
    assert any(a.startswith(f"{where} {same}") for a in about)
    nothing = "picture of_a_product shows nothing for q1, added (line 8), which is right"
    assert any(nothing in a for a in about)
