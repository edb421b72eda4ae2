"""The benchmarks count rightly and write a report; nothing is benchmarked."""

import sys
from pathlib import Path

import pytest

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(Path(__file__).resolve().parent.parent / "benchmarks")
    import breakdown
    import classroom
    import cold
    import doctor_cost
    import hostile_text
    import measure
    import otter_run
    import report
    import sandbox_cost
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
DEAR = breakdown.ContractCost("distil", 20.5, 1500, 4, "1 with measured memory")
CHEAP = breakdown.ContractCost("picture", 0.5, 100, 0, "a picture")
PARTS = dict.fromkeys(breakdown.PARTS, 1.5)
BROKEN_DOWN = breakdown.sections({"01_a": breakdown.Breakdown(PARTS, [DEAR, CHEAP])})
SECTIONS = {
    "To quote: 37.5 (25.0 to 50.0) times": throughput.section(
        throughput.Throughput(
            {"01_a": [cost(0.1), cost(0.1)], "02_b": [cost(0.3), cost(0.1)]},
            {"01_a": [cost(5.0), cost(5.0)], "02_b": [cost(5.0), cost(5.0)]},
        ),
        2,
    ),
    "| not installed |": throughput.section(throughput.Throughput({"01_a": [cost(0.1)]}, {}), 2),
    "1.60 times": cold.section({cold.GRADE: [cost(3, 4.0)], cold.IMPORT: [cost(2, 2.5)]}),
    "1.050 (0.900 to 1.200)": scale.section(SIZES),
    "| 10.5 |": BROKEN_DOWN[0],
    "Contracts that cost more than 10 ms: 1. `01_a`: distil": BROKEN_DOWN[1],
    "| everything tried |": doctor_cost.section({doctor_cost.WHOLE: cost(9.0)}, ["01_a"]),
    "Above it: flags.": hostile_text.section(
        {"flags": hostile_text.Worst(9, 2.5, 4), "files": hostile_text.Worst(9, 1.5, 4)}
    ),
    "2.00 (2.00 to 2.00)": sandbox_cost.section("weak", {"idle": [((0.2, 0.1), (0.1, 0.1))] * 2}),
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
    texts = {path.read_text() for path in classroom.make_class(tmp_path, classroom.STEM, 3).glob("*/*.ipynb")}
    assert len(texts) == 3


@pytest.mark.parametrize("stem", classroom.COURSE.stems)
def test_a_solved_notebook_has_every_answer(stem):
    """The reference answers stand where the stubs were, and all other cells are as they are handed out."""
    code = [cell["source"] for cell in classroom.solved(stem)["cells"] if cell["cell_type"] == "code"]
    assignment = classroom.COURSE.assignment(stem)
    assert [q.id for q in assignment.questions if q.answer not in code or q.starter_code in code] == []
    assert [cell[:60] for cell in assignment.demonstrations if cell not in code] == []


def test_without_otter_the_rest_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(otter_run, "find_spec", lambda _: None)
    monkeypatch.setattr(throughput, "grade_afresh", lambda folder, _: cost(float(folder.name[-1])))
    found = throughput.throughput(tmp_path, [classroom.STEM], 2, 1)
    assert [each.processor for each in found.ours[classroom.STEM]] == [1.0]
    assert found.otter == {}


@linux
@pytest.mark.long
def test_a_breakdown_counts_workers_from_outside(tmp_path):
    """Each contract and each part has a cost; what requests cost is less than what all workers took."""
    throughput.one_more(
        *(classroom.make_class(tmp_path, classroom.STEM, size) for size in (1, 3)),
        tmp_path / "results" / classroom.STEM,
        2,
    )
    found = breakdown.breakdown(tmp_path, [classroom.STEM], 2)[classroom.STEM]
    rubric = classroom.COURSE.rubric(classroom.STEM)
    assert {contract.name for contract in found.contracts} == {*rubric.contracts, *rubric.pictures}
    assert all(contract.milliseconds > 0 and contract.size > 0 for contract in found.contracts)
    assert found.parts.keys() == set(breakdown.PARTS)
    assert found.parts[breakdown.WORKER] > 0
