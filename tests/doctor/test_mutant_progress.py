"""Outside: what a person sees while mutants are tried, on a terminal and in a log."""

from io import StringIO

import pytest
from rich.console import Console

from grader.doctor.terminal import mutant_progress


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_has_a_bar_and_a_log_a_line(is_terminal):
    """Each assignment's number of mutants stays in both; how many have been tried is on a terminal only."""
    screen = StringIO()
    console = Console(file=screen, force_terminal=is_terminal, width=100)
    with mutant_progress(console) as show:
        for stem in ("01_tiny", "02_tiny"):
            for done in (0, 2, 4):
                show(stem, done, 4)
    lines = screen.getvalue().splitlines()
    assert [line for line in lines if line.endswith("tiny: 4 mutants")]
    assert any("4/4" in line for line in lines) == is_terminal
    if not is_terminal:
        assert lines == ["01_tiny: 4 mutants", "02_tiny: 4 mutants"]
