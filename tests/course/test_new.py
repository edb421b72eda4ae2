"""A new assignment or question is whole but for what says TODO, and its names are free."""

import re
import shutil

import pytest
from click.testing import CliRunner
from tiny_course import ANSWERS, CHECKS, SOURCE, built, write_course

from grader.cli import main
from grader.course import new
from grader.course.new import write_new
from grader.doctor import examine as doctor
from grader.errors import BrokenRunError, CourseError, GraderError

TINY, STEM = "01_tiny", "02_signs"
PLACES = ("solutions/{}.py", "tests/hidden/test_{}.py", "tests/answers/{}.py")
CLOSING = "\n# %% [markdown]\n# ## What to take with you\n"

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
#: What an author would write for the code of three questions, in the order of the files' lines.
WRITTEN = {
    "signs:x": [
        ("return TODO  # the right answer", "return x * x"),
        ("TODO  # the same with a bug that people write; it must run", "x * x.abs()"),
        ("assert TODO,", "assert (signs(-x) > 0).all(),"),
        ("return TODO  # a right answer, as different from the reference as possible", "return x**2"),
        ("TODO  # their answer", "(x * x).detach()"),
        ("TODO  # their answer", "x + x.detach().mul_(2)"),
    ],
    "fit:opt,model,x,y": [
        ("return TODO  # the right answer", TRAINS),
        ("TODO  # the same with a bug that people write; it must run", "((model(x) - y) ** 2).mean().item()"),
        ("assert TODO,", "assert fit(opt, model, x, y) and model[0].weight.grad is not None,"),
        (
            "return TODO  # a right answer, as different from the reference as possible",
            TRAINS.replace("loss.item()", "float(loss)"),
        ),
        ("TODO  # their answer", "0.0"),
        ("TODO  # their answer", "x.zero_().sum().item()"),
    ],
    "Meter:": [
        ("TODO  # the right methods", SUMS),
        (
            "# TODO  # the same with a bug that people write; it must run",
            "\n    # ".join(f"# {NEVER}".split("\n    ")),
        ),
        ("TODO  # make one, and use it", "one = Meter()\n    one.add(1.0)"),
        ("assert TODO,", "assert one.value() == 1,"),
        (
            "TODO  # the inputs, drawn before the objects are made, because a right class may draw, too",
            "numbers = torch.rand(2).tolist()",
        ),
        ("TODO  # use both, with different inputs", "one.add(numbers[0])\n    other.add(numbers[1])"),
        ('"one": TODO', '"one": one.value()'),
        ('"other": TODO', '"other": other.value()'),
        ("TODO  # methods as different from the reference as possible", LISTS),
        ("TODO  # their methods", NEVER),
        ("TODO: the old text in the reference", "self.total += x"),
        ("TODO: the new text", "self.total = 2 * x"),
    ],
}
KILLS = {
    "signs:x": {"test_signs_value": 1, "test_signs_gradient": 2, "test_signs_no_side_effects": 1},
    "fit:opt,model,x,y": {"test_fit_learns": 2, "test_fit_no_side_effects": 1},
    "Meter:": {"test_Meter_value": 2, "test_Meter_objects_are_their_own": 2},
}


@pytest.fixture
def root(tmp_path):
    return write_course(tmp_path / "course")


def texts(root, stem=TINY):
    return [(root / place.format(stem)).read_text(encoding="utf-8") for place in PLACES]


def fill(root, stem, written):
    """Do the author's work: each piece of code at its place, and prose wherever else it says TODO."""
    for place in PLACES:
        path = root / place.format(stem)
        text = path.read_text(encoding="utf-8")
        for before, after in written:
            text = text.replace(before, after, 1)
        path.write_text(text.replace("TODO", "Prose"), encoding="utf-8")


@pytest.mark.parametrize("question", WRITTEN)
def test_it_agrees_with_itself_once_it_is_written(root, question, shared_zygote):
    """A function, a step of an optimizer, a class: every check is of use, and nothing else is missing."""
    write_new(root, STEM, [question])
    fill(root, STEM, WRITTEN[question])
    course = built(root)
    assert course.finished_stems == (TINY, STEM)
    found = next(doctor.examine(course, [STEM], jobs=2, seeds=(1, 2), accept=True))
    assert [complaint for complaint in found.complaints if "public" not in complaint] == []
    assert found.kills == KILLS[question]


def test_every_file_is_valid_python(root):
    """Editors and ruff read what is still to be written like any other code, which uses what it imports."""
    write_new(root, STEM, [*WRITTEN, "third:losses,weights,cell"])
    for text in texts(root, STEM):
        compile(text, "a file", "exec")
    checks = texts(root, STEM)[1]
    for module in ("grader", "grader.inside"):
        (line,) = re.findall(rf"(?m)^from {re.escape(module)} import (.+)$", checks)
        for word in line.split(", "):
            assert len(re.findall(rf"\b{word}\b", checks)) > 1, f"{word} is imported, and not used"
            assert word in new._IMPORTED[module]


def test_signatures_come_from_the_command(root):
    """The names of a question's function and of what it takes stand in all places that have to agree."""
    write_new(root, STEM, ["total:losses,weights", "step: model, opt", "third"])
    master, checks, answers = texts(root, STEM)
    for number, call in enumerate(["total(losses, weights)", "step(model, opt)", "third(x)"], start=1):
        name, taken = call.removesuffix(")").split("(")
        assert f'# %% tags=["question q{number}"]\ndef {call}:' in master
        assert f"def test_an_example({name}):" in master
        assert checks.count(f"student.{call}") == (0 if "opt" in call else 1)  # of steps there is no picture
        assert f'{name} = contract(\n    "{name}",' in checks
        assert answers.count(f'("q{number}"') == answers.count(f"({taken}):") == 3
    assert "    weights = TODO  # weights, drawn at random\n" in checks
    assert "    x = torch.randn(4, requires_grad=True)\n" in checks


@pytest.mark.parametrize(
    ("parameters", "kinds"),
    [
        ("x,n", {"x": "tensor(", "n": "number(3, 1, 2, "}),
        (
            "opt,model,y,x",
            {"model": "network(", "x": "data(", "opt": 'optimizer("model"', "y": 'target("x", "model"'},
        ),
        (
            "net,batches,lr,epochs",
            {"net": "network(", "batches": "pairs(", "lr": "number(0.5", "epochs": "number("},
        ),
        ("model,xs", {"model": "network(", "xs": "inputs("}),
        ("y,whatever", {"y": "tensor(", "whatever": "tensor("}),
    ],
)
def test_names_of_parameters_decide_what_may_come_in(root, parameters, kinds):
    """Each is made after what it is made of, and given in the order of the signature."""
    write_new(root, STEM, [f"total:{parameters}"])
    (checks,) = [text for text in texts(root, STEM) if "contract(" in text]
    lines = [line for line in checks.splitlines() if re.match(r' {8}"\w+": ', line)]
    assert len(lines) == len(kinds)
    for line, (name, begin) in zip(lines, kinds.items(), strict=True):
        assert line.startswith(f'        "{name}": {begin}')
    order = parameters.split(",")
    given = f"given=[{', '.join(map(repr, order))}]".replace("'", '"')
    assert (given in checks) == (list(kinds) != order)


def test_a_question_is_added_and_nothing_is_changed(root):
    """All that stood in the files still does; in the master the prose that closes it stays the last."""
    before = f'{SOURCE.rstrip()}\n\n# %% [markdown] tags=["afterword q2"]\n# What comes next.\n'
    (root / PLACES[0].format(TINY)).write_text(before + CLOSING, encoding="utf-8")
    write_new(root, TINY, ["third:x"])
    master, checks, answers = texts(root)
    assert master.startswith(before)
    assert master.endswith(CLOSING)
    assert '# %% tags=["question q3"]\ndef third(x):' in master
    assert checks.endswith("    assert_no_side_effects(third)\n")
    assert CHECKS.partition("\n\n\n")[2] in checks
    assert "from grader.inside import graph, inside, torch\n" in checks
    assert answers.startswith(ANSWERS)


def test_all_files_are_written_or_none(root, monkeypatch):
    (root / "tests" / "answers" / "01_tiny.py").unlink()
    before = {path: path.read_bytes() for path in root.rglob("*.py")}
    shutil.rmtree(root / "tests" / "answers")
    (root / "tests" / "answers").write_text("a file in the place of a folder", encoding="utf-8")
    for stem in (TINY, STEM):
        with pytest.raises(BrokenRunError, match=r"answers cannot be written \(File exists\).*was changed"):
            write_new(root, stem, ["third"])
        assert {path: path.read_bytes() for path in root.rglob("*.py")} == before


@pytest.mark.parametrize(
    ("questions", "told"),
    [
        (["third:"], "'' cannot be a parameter"),
        (["third:a,a"], "two parameters have the same name"),
        (["third:torch"], "'torch' cannot be a parameter"),
        (["third:third"], "'third' cannot be a parameter"),
        (["third:2"], "'2' cannot be a parameter"),
        (["double:x"], "solutions/01_tiny.py defines double already"),
        (["third", "third"], "two questions ask for third"),
        (["class:x"], "'class' cannot be what students complete"),
        (["list"], "'list' cannot be what students complete"),
        (["torch"], "'torch' cannot be what students complete"),
    ],
)
def test_a_question_that_cannot_be_is_refused(root, questions, told):
    before = texts(root)
    with pytest.raises(GraderError) as refused:
        write_new(root, TINY, questions)
    assert told in str(refused.value)
    assert texts(root) == before


@pytest.mark.parametrize(
    ("stem", "told"),
    [
        *(
            (stem, "such as 08_branches")
            for stem in ("signs", "4_signs", "../../04_away", "04_über", "", "04_signs\n", "04_" + "n" * 300)
        ),
        ("01_other", "taken by solutions/01_tiny.py; the next that is free is 08: new 08_other"),
        ("07_right", "taken by tests/hidden/test_07_left.py"),
        ("03_list", "'list' cannot be what students complete"),
        (TINY, "or add a question: new 01_tiny --question NAME:x"),
    ],
)
def test_a_name_that_cannot_be_is_refused(root, stem, told):
    """The text says which number is free, and nothing is written; checks alone keep a number."""
    (root / "tests" / "hidden" / "test_07_left.py").write_text("", encoding="utf-8")
    before = sorted(root.rglob("*"))
    with pytest.raises(GraderError) as refused:
        write_new(root, stem)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert sorted(root.rglob("*")) == before


def test_to_a_file_that_is_no_python_nothing_is_added(root):
    (root / PLACES[1].format(TINY)).write_text(CHECKS.replace("own(length", "own(length("))
    with pytest.raises(CourseError, match=r"test_01_tiny\.py, line \d+: this is not valid Python"):
        write_new(root, TINY, ["third"])


def test_the_command_begins_the_first_assignment_of_a_course(tmp_path, monkeypatch):
    """In any folder of a course, even of an empty one, it writes three files and says what comes next."""
    (tmp_path / "solutions").mkdir()
    (tmp_path / "tests" / "hidden").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "solutions")
    run = CliRunner().invoke(main, ["new", "01_first", "--function", "begin"])
    assert run.exit_code == 0
    for place in PLACES:
        assert re.search(
            rf"wrote {re.escape(str(tmp_path / place.format('01_first')))}: \d+ TODO", run.output
        )
    assert "def begin(x):" in texts(tmp_path, "01_first")[0]
    assert "doctor --accept --assignment 01_first" in run.output
    again = CliRunner().invoke(main, ["new", "01_first"])
    assert again.exit_code == 2
    assert "the next that is free is 02: new 02_first" in again.output
