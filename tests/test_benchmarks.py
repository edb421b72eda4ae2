"""The benchmarks count rightly and write a report; nothing is benchmarked."""

import sys
from pathlib import Path

import pytest

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(Path(__file__).resolve().parent.parent / "benchmarks")
    import baselines
    import breakdown
    import cage_cost
    import classroom
    import cold
    import measure
    import report
    import scale
    import throughput
    from report import Spread

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own counts are Linux's")
BUSY = "import time\nwhile time.process_time() < 0.3: pass"
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"


def cost(processor, wall=1.0, peak=50e6):
    return measure.Cost(wall, processor, int(peak))


SIZES = [
    scale.Size(1, [cost(3.0), cost(4.0)], [cost(0.5), cost(0.5)]),
    scale.Size(11, [cost(4.0), cost(5.0)], [cost(0.5), cost(0.5)]),
    scale.Size(111, [cost(16.0, peak=70e6), cost(14.0, peak=60e6)], [cost(0.5, 1.5), cost(0.5, 2.5)]),
]
SECTIONS = {
    "105.00 (100.00 to 110.00)": throughput.section(
        throughput.Throughput({"ours": [0.05, 0.06], "`otter run`": [5.0, 6.6]}, {"pytest": "failed"})
    ),
    "1.60 times": cold.section({cold.GRADE: [cost(3, 4.0)], cold.IMPORT: [cost(2, 2.5)]}),
    "1.050 (0.900 to 1.200)": scale.section(SIZES),
    "1500.00": breakdown.section((2, {"json": 3.0, "grader.results": 1.0})),
    "2.00 (2.00 to 2.00)": cage_cost.section("weak", {"idle": [((0.2, 0.1), (0.1, 0.1))] * 2}),
}


def test_every_table_is_in_the_report(tmp_path):
    """A ratio is taken within its round; each table has a cell for every column."""
    assert Spread.of_ratios([10.0, 30.0], [1.0, 3.0]) == Spread(10.0, 10.0, 10.0, 2)
    report.write(tmp_path / "RESULTS.md", report.machine("make bench"), list(SECTIONS.values()))
    text = " ".join((tmp_path / "RESULTS.md").read_text(encoding="utf-8").split())
    assert [word for word in [*SECTIONS, "| repeat | `make bench` |"] if word not in text] == []
    assert all({len(row) for row in section.rows} == {len(section.head)} for section in SECTIONS.values())


@linux
def test_a_command_is_counted_with_what_it_starts():
    """The processor time of a child of the command is the command's; one that fails is no measurement."""
    assert measure.run([sys.executable, "-c", CHILD]).processor > 0.3
    with pytest.raises(measure.MeasureError, match=r"exit status 3\n.*no luck"):
        measure.run([sys.executable, "-c", "import sys; print('no luck'); sys.exit(3)"])


def test_a_class_has_as_many_answers_as_students(tmp_path):
    """No two notebooks are alike."""
    texts = {path.read_text() for path in classroom.make_class(tmp_path, 3).glob("*/*.ipynb")}
    assert len(texts) == 3


def test_a_baseline_that_cannot_be_had_is_named(tmp_path, monkeypatch):
    """`make bench` measures what is there and says what is not installed."""
    monkeypatch.setattr(baselines, "find_spec", lambda name: None if name == "otter" else name)
    monkeypatch.setattr(baselines, "run", lambda *_, **__: cost(1.0))
    ready, missing = baselines.baselines(tmp_path)
    assert ([one.name for one in ready], missing) == ([baselines.PLAIN], {baselines.OTTER: "not installed"})
