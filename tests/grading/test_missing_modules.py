"""What the instructor reads of a module that is not installed."""

import pytest
from tiny_course import RIGHT

TORCH, DOUBLE, LEAF = RIGHT


def grade(klass, **notebooks):
    for student, sources in notebooks.items():
        klass.hand_in(student, sources)
    ended = klass.run("grade", klass.submissions, "--out", klass.out)
    assert ended.exit_code == 0, ended.output
    return [line for line in ended.stderr.splitlines() if "not installed" in line]


def test_a_module_that_cost_points_is_named_once_for_the_class(klass):
    """The notebooks that import it are named, with what to do; the report asks for a look at each."""
    decorated = f"from nowhere.typing import checked\n\n@checked\n{DOUBLE}"
    remarks = grade(klass, ada=[TORCH, decorated, LEAF], ben=[TORCH, "import nowhere", decorated, LEAF])
    (remark,) = remarks
    about, _, what_to_do = remark.partition(". ")
    assert about == (
        "2 notebooks import nowhere, which is not installed here, and may have lost points for that:"
        " ada, 01_tiny; ben, 01_tiny"
    )
    assert what_to_do == (
        "Install it in .venv and grade again. If it is a file of the student, its code must be in the"
        " notebook."
    )
    report = (klass.out / "report.html").read_text(encoding="utf-8")
    assert report.count("Not installed here, which may have cost points: nowhere.") == 2


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        ([TORCH, "from my_helper import double", LEAF], ["my_helper"]),
        ([TORCH, "def double(x):\n    import nowhere\n    return x + x", LEAF], ["nowhere"]),
        (["import nowhere as no", TORCH, "def double(x):\n    return no.double(x)", LEAF], ["nowhere"]),
        (["import nowhere", *RIGHT], []),
        (["import nowhere", TORCH, DOUBLE.replace("+", "-"), LEAF], []),
    ],
)
def test_only_a_module_that_may_have_cost_points_is_named(klass, cells, names):
    """An answer that is missing, or stops with the error itself or with an unknown name, may need it."""
    remarks = grade(klass, ada=cells)
    assert [line.partition(",")[0] for line in remarks] == [f"1 notebook imports {name}" for name in names]
