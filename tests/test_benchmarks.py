"""Outside: the benchmarks measure what they say, count rightly and write a report; nothing is benchmarked."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(Path(__file__).resolve().parent.parent / "benchmarks")
    import anatomy
    import baselines
    import cage_cost
    import classroom
    import clocked_grade
    import cold
    import group
    import measure
    import plot
    import report
    import scale
    import throughput
    from rounds import Spread, interleaved

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own counts are Linux's")

BUSY = "import time\nwhile time.process_time() < 0.3: pass"
LARGE = """
import os, sys
held = bytes(range(256)) * (1 << 18)
del held
print(os.getpid(), flush=True)
sys.stdin.read()
"""
WITH_A_LARGE_CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LARGE!r}])"
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"


def cost(processor, wall=1.0, peak=50e6):
    return measure.Cost(wall, processor, int(peak))


SIZES = [
    scale.Size(1, [cost(3.0), cost(4.0)], [cost(0.5), cost(0.5)]),
    scale.Size(11, [cost(4.0), cost(5.0)], [cost(0.5), cost(0.5)]),
    scale.Size(111, [cost(16.0, peak=70e6), cost(14.0, peak=60e6)], [cost(0.5, 1.5), cost(0.5, 2.5)]),
]
THROUGHPUT = throughput.Throughput(
    200, {"ours": [0.05, 0.06], "`otter run`": [5.0, 6.6]}, {"`nbgrader autograde`": "not installed"}
)


def test_a_spread_is_the_median_between_the_extremes():
    """The median, the least, the greatest and the number of rounds; a single round shows no spread."""
    assert Spread.of([3.0, 1.0, 2.0, 9.0]) == Spread(2.5, 1.0, 9.0, 4)
    assert Spread.of([3.0, 1.0, 2.0]).text(".1f") == "2.0 (1.0 to 3.0)"
    assert Spread.of([3.0]).text(".1f") == "3.0"


def test_a_ratio_is_taken_within_its_round():
    """A round in which the machine was slow slows both, and does not touch the ratio."""
    assert Spread.of_ratios([10.0, 30.0], [1.0, 3.0]) == Spread(10.0, 10.0, 10.0, 2)


def test_tasks_take_turns():
    """A B A B, not A A B B."""
    done = []
    found = interleaved("t", {name: lambda name=name: done.append(name) or len(done) for name in "ab"}, 2)
    assert (done, found) == (["a", "b", "a", "b"], {"a": [1, 3], "b": [2, 4]})


def test_one_notebook_more_is_what_the_larger_class_adds():
    """The marginal cost is the difference of two classes per notebook, its growth a ratio in each round."""
    assert scale.marginal(SIZES[0], SIZES[1]) == [0.1, 0.1]
    assert scale.marginal(SIZES[1], SIZES[2]) == [0.12, 0.09]
    assert scale.growth(SIZES, 11) == Spread(pytest.approx(1.05), pytest.approx(0.9), pytest.approx(1.2), 2)


@pytest.mark.parametrize(
    ("section", "words"),
    [
        (throughput.section(THROUGHPUT), ["105.00 (100.00 to 110.00)", "not installed", "0.0550"]),
        (cold.section(cold.Cold([cost(3, 4.0)], [cost(2, 2.5)])), ["1.60 times", "1.50 s more", "0.75 s"]),
        (
            scale.section(SIZES),
            ["0.1050 (0.0900 to 0.1200)", "15.0 (10.0 to 20.0) MB", "2.00 (1.50 to 2.50) s"],
        ),
        (
            anatomy.section(
                anatomy.Anatomy(2, "today", {"cells": 3.0}), anatomy.Anatomy(4, "then", {"old": 1.0})
            ),
            ["then", "1500.00", "250.00", "100 %"],
        ),
        (cage_cost.section("weak", {"idle": [((0.2, 0.1), (0.1, 0.1))] * 2}), ["weak", "2.00", "200.0"]),
    ],
)
def test_a_section_says_what_was_measured(section, words):
    """Every table has a cell for every column, and the figures that follow are in it."""
    assert {len(row) for row in section.rows} == {len(section.head)}
    assert [word for word in words if word not in " ".join(section.markdown().split())] == []


def test_the_report_is_one_page_with_its_picture(tmp_path):
    """RESULTS.md holds the machine, every table in Markdown, and a reference to a picture that is there."""
    machine = report.Machine.here("make bench", "by hand")
    plot.draw(tmp_path / scale.PICTURE, SIZES, {"otter run": 5.0})
    report.write(tmp_path / "RESULTS.md", machine, [throughput.section(THROUGHPUT), scale.section(SIZES)])
    text = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    for word in (
        "# What grading costs",
        "| repeat | `make bench` |",
        "by hand",
        f"]({scale.PICTURE})",
        "`otter run`",
    ):
        assert word in text
    assert ET.parse(tmp_path / scale.PICTURE).getroot().tag.endswith("svg")


def test_an_earlier_profile_can_be_kept(tmp_path):
    """What is written is read again; where nothing was kept, there is nothing to compare with."""
    kept = anatomy.Anatomy(200, "2026-01-01", {"cells": 1.5})
    kept.write(tmp_path / "before.json")
    assert anatomy.Anatomy.read(tmp_path / "before.json") == kept
    assert anatomy.Anatomy.read(tmp_path / "no.json") is None
    assert anatomy.Anatomy.read(anatomy.BEFORE).total > 0


def test_every_step_that_is_clocked_exists():
    """A function that was renamed would be missing from the profile."""
    assert {step for step, *_ in clocked_grade.steps()} == set(clocked_grade.STEPS)


def test_a_step_does_not_count_the_steps_within_it():
    """The time of the inner step is the inner's alone, so that all steps add up to the whole."""
    clocks = clocked_grade.Clocks()
    inner = clocks.clocked("inner", lambda: sum(range(1_000_000)))
    clocks.clocked("outer", inner)()
    assert 0 <= clocks.seconds["outer"] < clocks.seconds["inner"]


@linux
@pytest.mark.parametrize("groups", [group.GROUPS, ()], ids=["as it can be here", "without a control group"])
def test_a_command_is_counted_with_what_it_starts(groups, monkeypatch):
    """The processor time of a child of the command is the command's."""
    monkeypatch.setattr(group, "GROUPS", groups)
    assert measure.run([sys.executable, "-c", CHILD]).processor > 0.3


@linux
def test_memory_is_a_process_own():
    """The peak is that of the process asked for, whatever its child has, and stays when memory is freed."""
    command = [sys.executable, "-c", WITH_A_LARGE_CHILD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        child = int(process.stdout.readline())
        assert measure.peak_memory(child) - measure.peak_memory(process.pid) > 50e6
        process.stdin.close()
    assert measure.peak_memory(process.pid) == 0


@linux
def test_a_command_that_fails_is_no_measurement():
    """Neither is one that takes too long, which is ended."""
    with pytest.raises(measure.MeasureError, match=r"exit status 3\n.*no luck"):
        measure.run([sys.executable, "-c", "import sys; print('no luck'); sys.exit(3)"])
    with pytest.raises(measure.MeasureError, match="longer than allowed"):
        measure.run([sys.executable, "-c", "import time; time.sleep(600)"], seconds=0.1)


def test_a_class_has_as_many_answers_as_students(tmp_path):
    """Every notebook is readable, and no two of them are alike."""
    submissions = classroom.make_class(tmp_path, 3)
    texts = {path.read_text(encoding="utf-8") for path in submissions.glob("*/*.ipynb")}
    assert len(texts) == 3
    assert all("# by student " in text for text in texts)


def test_a_baseline_that_cannot_be_had_is_named(tmp_path, monkeypatch):
    """`make bench` measures what is there and says what is not installed, and what does not work."""
    monkeypatch.setattr(baselines, "find_spec", lambda name: None if name == "otter" else name)
    monkeypatch.setattr(baselines, "run", lambda *_, **__: cost(1.0))  # nbgrader leaves no graded notebook
    ready, missing = baselines.baselines(tmp_path)
    assert [baseline.name for baseline in ready] == [baselines.PLAIN]
    assert missing == {baselines.OTTER: "not installed", baselines.NBGRADER: "failed"}


def test_a_cell_of_nbgraders_calls_its_checks():
    """The checks that Otter would collect are called by name, with the functions that they ask for."""
    source = baselines.test_cell(classroom.CHECKS / "q1.py")["source"]
    calls, called = [], {"make_weight": lambda *_: calls.append(1)}
    with pytest.raises(AttributeError):  # of the None that our make_weight returns
        exec(source, called)
    assert calls
    assert os.linesep + "test_a_trainable_weight(make_weight)" in source
