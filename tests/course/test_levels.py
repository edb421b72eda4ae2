"""The levels of a factor: each is built by its source, or by the worker's code."""

import pytest
from sandboxed import ROOT

from grader.course.levels import FACTORS, Factor, Level

WITHOUT_SOURCE = [
    (maker, factor, name)
    for maker, factors in FACTORS.items()
    for factor, declared in factors.items()
    for name, level in declared.levels.items()
    if not level.source and name != next(iter(declared.levels))
]


@pytest.mark.parametrize(("maker", "factor", "name"), WITHOUT_SOURCE)
def test_a_level_without_a_source_is_in_the_workers_code(maker, factor, name):
    code = "".join((ROOT / "grader" / "runtime" / f"{file}.py").read_text() for file in ("kinds", "contract"))
    assert f'"{name}"' in code


def test_a_source_that_nothing_runs_is_refused():
    with pytest.raises(ValueError, match="the sources of b need `takes`"):
        Factor({"a": Level(), "b": Level("is b", "make_b()")})
