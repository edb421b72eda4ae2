"""A scaffold is a whole assignment but for its blanks, and says where they are."""

import re
import shutil

import pytest
from click.testing import CliRunner
from tiny_course import RIGHT, write_course, write_notebook

from grader.cli import main
from grader.course.author_file import blanks_of
from grader.course.build import build
from grader.course.course import Course
from grader.course.new_question import drawn_inputs
from grader.course.scaffold import Scaffold
from grader.doctor import examine as doctor
from grader.errors import BrokenRunError, CourseError, GraderError
from grader.grading.run import Options, grade

STEM = "02_signs"

#: What an author would write for each blank, by what the blank asks for.
FILLED = {
    "the title of the notebook": "Signs",
    "the idea in a few sentences; students read them first": "A square forgets the sign.",
    "the title of the question": "The square",
    "return or do what, in a sentence; how is for students to find out": "return the square of x.",
    "what to print and look at, so that the bug shows itself": "Print the square of -1.",
    "what it takes and returns, with shapes; students read it": "The square of x, of any shape.",
    "the right answer": "x * x",
    "the same with the bug that people really write; it has to run": "x * x.abs()",
    "what must hold for one small example; students read it": "A square is never negative.",
    "what must hold of signs(x); it has to fail for the stub": "(signs(-x) > 0).all()",
    "what was seen instead, and why it matters": "It is negative.",
    "its subject, for whoever maintains them": "signs",
    "what is looked at; only readers of this file see it": "A square.",
    "what the picture shows, as a caption": "The graph of the square.",
    "what must hold of the value, as a title": "It is the square.",
    "a hint, best as a question": "What is the square of -1?",
    "what is wrong with the value, said from what was seen": "It is no square.",
    "what must hold of the gradient, as a title": "Its gradient is twice x.",
    "whose gradient, as in: the loss": "the square",
    "what stays as it is, as a title": "x stays as it is.",
    "why this is right, too": "A power is a product.",
    "a right answer, as different from the reference as can be": "x**2",
    "what somebody believes who writes this": "The graph does not matter.",
}
#: The two wrong answers, which the scaffold asks for in the same words.
BELIEVED = ["(x * x).detach()", "x + x.detach().mul_(2)"]


def fill(root):
    """Do the author's work: put something sensible in the place of every blank."""
    wrong = iter(BELIEVED)

    def written(match):
        return next(wrong) if match[1] == "their answer" else FILLED[match[1]]

    for path in [*root.rglob(f"{STEM}.py"), *root.rglob(f"test_{STEM}.py")]:
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"\[FILL IN: ([^]]+)\]", written, text), encoding="utf-8")


TRAINS = """\
opt.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
    return loss.item()"""
SUMS = """\
def __init__(self):
        self.total = 0.0

    def add(self, x):
        self.total += x

    def value(self):
        return self.total"""
LISTS = SUMS.replace("0.0", "[]").replace("self.total += x", "self.total.append(x)")
LISTS = LISTS.replace("return self.total", "return sum(self.total)")
NEVER = """\
def add(self, x):
        pass

    def value(self):
        return 0.0"""
#: What stands in the scaffold of a step and of a class, and what is written there: equal texts one by one.
OF_OBJECTS = [
    ("return [FILL IN: the right answer]", TRAINS),
    (
        "[FILL IN: the same with the bug that people really write; it has to run]",
        "((model(x) - y) ** 2).mean().item()",
    ),
    (
        "[FILL IN: what must hold of fit(model, opt, x, y); it has to fail for the stub]",
        "fit(model, opt, x, y) and model[0].weight.grad is not None",
    ),
    (
        "return [FILL IN: a right answer, as different from the reference as can be]",
        TRAINS.replace("loss.item()", "float(loss)"),
    ),
    ("[FILL IN: their answer]", "0.0"),
    ("[FILL IN: their answer]", "x.zero_().sum().item()"),
    ("([FILL IN: its base, such as nn.Module, or nothing])", ""),
    ("[FILL IN: the right methods]", SUMS),
    (
        "# [FILL IN: the same with the bug that people really write; it has to run]",
        "\n    # ".join(f"# {NEVER}".split("\n    ")),
    ),
    (
        "assert [FILL IN: what must hold of an object; it has to fail for the stub]",
        "one = Meter()\n    one.add(1.0)\n    assert one.value() == 1",
    ),
    (
        "[FILL IN: what both will be given, drawn before they are made: a right class may draw, too]",
        "numbers = torch.rand(2).tolist()",
    ),
    (
        "[FILL IN: use both, with other of these for each]",
        "one.add(numbers[0])\n    other.add(numbers[1])",
    ),
    ("[FILL IN: a method of one that gives numbers]", "one.value"),
    ("[FILL IN: the same of other]", "other.value"),
    ("([FILL IN: its base])", ""),
    ("[FILL IN: methods as different from the reference as can be]", LISTS),
    ("([FILL IN: its base])", ""),
    ("[FILL IN: their methods]", NEVER),
    ("[FILL IN: what stands in the reference]", "self.total += x"),
    ("[FILL IN: what shall stand there]", "self.total = 2 * x"),
]


def fill_objects(root):
    """Do the same; every other blank asks for prose."""
    for place in ("solutions/{}.py", "tests/hidden/test_{}.py", "tests/answers/{}.py"):
        path = root / place.format("03_steps")
        text = path.read_text(encoding="utf-8")
        for blank, written in OF_OBJECTS:
            text = text.replace(blank, written, 1)
        path.write_text(re.sub(r"\[FILL IN: ([^]]+)\]", "Prose", text), encoding="utf-8")


@pytest.fixture
def root(tmp_path):
    """A course of one assignment, and the scaffold of a second."""
    root = write_course(tmp_path / "course")
    Scaffold.plan(root, STEM).write()
    return root


def test_it_agrees_with_itself_once_it_is_filled_in(root, shared_zygote):
    """Nothing but the blanks is missing: the doctor has no complaint, and both checks catch something."""
    fill(root)
    course = Course.find(root)
    assert course.stems == ("01_tiny", STEM)
    build(course.assignments.values(), root / "assignments", course.all_points())
    found = list(doctor.examine(course, course.stems, jobs=2, seeds=(1, 2), accept_outcomes=True))
    assert [complaint for one in found for complaint in one.complaints] == []
    assert found[1].kills == {"test_signs_value": 1, "test_signs_gradient": 2, "test_signs_leaves_alone": 1}
    assert list(course.rubric(STEM).pictures) == ["signs_graph"]


def test_a_step_and_a_class_work_once_they_are_filled_in(root, shared_zygote):
    """Names of parameters choose models, optimizers and data; the doctor finds every check to be of use."""
    Scaffold.plan(root, "03_steps", None, ["fit:model,opt,x,y", "Meter:"]).write()
    fill_objects(root)
    course = Course.find(root)
    found = next(doctor.examine(course, ["03_steps"], jobs=2, seeds=(1, 2), accept_outcomes=True))
    assert [complaint for complaint in found.complaints if "public" not in complaint] == []
    assert found.kills == {
        "test_fit_result": 2,
        "test_fit_updates": 2,
        "test_fit_leaves_alone": 1,
        "test_Meter_value": 2,
        "test_Meter_objects_are_their_own": 2,
    }


def test_each_optimizer_is_listened_to_by_its_name(root):
    """A failure says whose step it is about; every module may change in what its optimizer learns."""
    Scaffold.plan(root, "03_game", None, ["play:generator,critic,opt_g,opt_c,real,z"]).write()
    checks = (root / "tests/hidden/test_03_game.py").read_text(encoding="utf-8")
    compile(checks, "checks", "exec")
    for name, module in (("opt_g", "generator"), ("opt_c", "critic")):
        assert f"        updates({name}, {module}={module}) as made_by_{name},\n" in checks
        assert f'"{name}": play_called["made_by_{name}"]' in checks
        assert f'        "{module}.*:value", ' in checks


@pytest.mark.parametrize(
    ("parameters", "drawn"),
    [
        (["x"], ["torch.randn(4, requires_grad=True)"]),
        (["opt", "model"], ["nn.Sequential(", "torch.optim.SGD(model.parameters()"]),
        (["model_g", "opt_d", "model_d"], ["nn.S", "nn.S", "torch.optim.SGD(model_d"]),
        (["critic", "opt_g", "generator", "opt"], ["nn.S", "nn.S", "torch.optim.SGD(g", "torch.optim.SGD(c"]),
        (["cell", "x", "h0", "steps"], ["nn.GRUCell(3, 4)", "torch.randn(5, 3)", "torch.randn", "torch.r"]),
        (["losses", "lr"], ["[FILL IN: losses, drawn at random]", "0.1 + 0.5 * torch.rand(())"]),
    ],
)  # fmt: skip
def test_a_name_that_tells_has_a_builder(parameters, drawn):
    """Modules before the optimizers that learn them; what no name tells stays a blank."""
    found = list(drawn_inputs(parameters).values())
    assert len(found) == len(drawn)
    assert all(one.startswith(begin) for one, begin in zip(found, drawn, strict=True)), found


def test_a_blank_is_named_with_its_file_and_line(root):
    """Whoever builds or examines an unfinished course is told how many blanks there are, and where."""
    blank = blanks_of(root, STEM)[0]
    assert (
        blank.path.read_text(encoding="utf-8").splitlines()[blank.line - 1]
        == f"# # 2. [FILL IN: {blank.wanted}]"
    )
    with pytest.raises(CourseError) as told:
        _ = Course.find(root).assignments
    assert f"{STEM} still has 27 blanks" in str(told.value)
    assert f"{root}/solutions/{STEM}.py, line 2: the title of the notebook" in str(told.value)
    assert "and 24 more" in str(told.value)


def test_the_last_blank_is_found_in_any_of_the_files(root):
    """A master that is finished does not hide that the answers are not."""
    fill(root)
    answers = root / "tests" / "answers" / f"{STEM}.py"
    answers.write_text(answers.read_text(encoding="utf-8").replace("x + x", "[FILL IN]"), encoding="utf-8")
    assert Course.find(root).assignments[STEM].title == "Signs"
    with pytest.raises(CourseError, match=rf"one blank.*\n.*tests/answers/{STEM}\.py, line \d+: "):
        Course.find(root).finished([STEM])


def test_the_other_assignments_are_graded_meanwhile(root, tmp_path, shared_zygote):
    """An assignment that is being written stops nobody from grading; asking for it is refused."""
    write_notebook(tmp_path / "class" / "ada" / "01_tiny.ipynb", RIGHT)
    course, out = Course.find(root), tmp_path / "results"
    outcome = grade(course, tmp_path / "class", out, Options(), lambda _: None)
    assert [(row.student, row.score) for row in outcome.results] == [("ada", 6)]
    with pytest.raises(CourseError, match="still has 27 blanks"):
        grade(course, tmp_path / "class", out, Options(assignments=(STEM,)), lambda _: None)


def test_the_other_assignments_are_examined_meanwhile(root, shared_zygote):
    """The doctor tells where the one being written has blanks, and examines the others."""
    course = Course.find(root)
    (alone,) = doctor.examine(course, ["01_tiny"], jobs=2, seeds=(1,))
    assert (alone.stem, alone.complaints) == ("01_tiny", [])
    unfinished, tiny, _ = doctor.examine(course, course.stems, jobs=2, seeds=(1,))
    assert (unfinished.stem, len(unfinished.blanks)) == (STEM, 27)
    assert (tiny.complaints, tiny.kills) == ([], alone.kills)
    with pytest.raises(CourseError, match="still has 27 blanks"):
        list(doctor.examine(course, [STEM], jobs=2, seeds=(1,)))


@pytest.mark.parametrize(
    ("stem", "told"),
    [
        ("signs", "such as 03_signs"),
        ("4_signs", "such as 04_signs"),
        ("01-Leaves and more.py", "such as 03_leaves_and_more"),
        ("../../04_away", "such as 04_away"),
        ("04_\N{LATIN SMALL LETTER U WITH DIAERESIS}ber", "such as 04_uber"),
        ("", "such as 03_name"),
        ("04_signs\n", "such as 04_signs"),
        ("04_" + "n" * 300, "such as 04_nnn"),
        (
            "01_other",
            "the number 01 is taken by solutions/01_tiny.py; the next that is free is 03: new 03_other",
        ),
        (STEM, f"the number 02 is taken by solutions/{STEM}.py"),
        ("03_list", "--function list_of"),
        ("03_class", "--function class_of"),
        ("03_torch", "--function torch_of"),
        ("03_double", "solutions/01_tiny.py defines double already"),
    ],
)
def test_a_name_that_cannot_be_is_refused_with_another(root, stem, told):
    """The text says which name would do, and nothing is written."""
    before = sorted(root.rglob("*"))
    with pytest.raises(GraderError) as refused:
        Scaffold.plan(root, stem)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert sorted(root.rglob("*")) == before


def test_a_number_is_taken_by_checks_alone(root):
    """Files left behind by an assignment keep its number."""
    (root / "tests" / "hidden" / "test_07_left.py").write_text("", encoding="utf-8")
    with pytest.raises(GraderError, match=r"taken by tests/hidden/test_07_left\.py; .* new 08_right"):
        Scaffold.plan(root, "07_right")


def test_nothing_is_overwritten(tmp_path):
    """A file that appears meanwhile stays as it is, and the scaffold leaves nothing of itself."""
    root = write_course(tmp_path / "course")
    planned = Scaffold.plan(root, STEM)
    answers = root / "tests" / "answers" / f"{STEM}.py"
    answers.write_text("mine", encoding="utf-8")
    before = sorted(root.rglob("*"))
    with pytest.raises(GraderError, match=r"answers/02_signs\.py is there already"):
        planned.write()
    assert answers.read_text(encoding="utf-8") == "mine"
    assert sorted(root.rglob("*")) == before


def test_a_course_that_cannot_be_written_to_keeps_nothing(tmp_path):
    """All three files are written or none: what was begun is taken back, and the text names the obstacle."""
    root = write_course(tmp_path / "course")
    shutil.rmtree(root / "tests" / "answers")
    (root / "tests" / "answers").write_text("a file in the place of a folder", encoding="utf-8")
    before = sorted(root.rglob("*"))
    with pytest.raises(BrokenRunError, match=r"tests/answers cannot be written \(File exists\)"):
        Scaffold.plan(root, STEM).write()
    assert sorted(root.rglob("*")) == before


def test_the_command_begins_the_first_assignment_of_a_course(tmp_path, monkeypatch):
    """In any folder of a course, even of an empty one, it writes three files and says what comes next."""
    (tmp_path / "solutions").mkdir()
    (tmp_path / "tests" / "hidden").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "solutions")
    run = CliRunner().invoke(main, ["new", "01_first", "--function", "begin"])
    assert run.exit_code == 0
    written = [tmp_path / "solutions/01_first.py", tmp_path / "tests/hidden/test_01_first.py"]
    assert all(f"wrote {path}: 1" in run.output for path in written)
    assert "def begin(x):" in written[0].read_text(encoding="utf-8")
    assert "doctor --accept --assignment 01_first" in run.output
    again = CliRunner().invoke(main, ["new", "01_first"])
    assert again.exit_code == 2
    assert "the next that is free is 02: new 02_first" in again.output
