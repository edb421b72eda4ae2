"""The house: what imports what, see ``[tool.importlinter]`` in pyproject.toml."""

import subprocess
import sys
from pathlib import Path


def test_the_border_and_the_layers_are_kept():
    """As the code stands no contract is broken: nothing outside imports torch, pickle or the worker."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
