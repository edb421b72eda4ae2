"""`otter run`, the other way to grade a notebook: its public checks, one command for each notebook."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from classroom import solved
from measure import ROOT, Cost, MeasureError, run

OTTER = "`otter run`"
_PROGRAM = str(Path(sys.executable).with_name("otter"))
_CONFIG = {"show_hidden": True}


def is_installed() -> bool:
    """Whether there is an Otter to measure."""
    return find_spec("otter") is not None


def otter_run(folder: Path, stem: str) -> Callable[[], Cost]:
    """What grades the solved notebook of an assignment, as an instructor does it, prepared in a new folder.

    One archive of the tests is written now; each call is one `otter run`.
    """
    checks = ROOT / "assignments" / "tests" / stem
    shutil.copytree(checks, folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "s.ipynb").write_text(json.dumps(solved(stem)), encoding="utf-8")
    (folder / "otter_config.json").write_text(json.dumps(_CONFIG), encoding="utf-8")
    (folder / "out").mkdir()
    generate = "generate -t tests -o ag.zip -c otter_config.json --no-requirements --no-environment"
    run([_PROGRAM, *generate.split()], folder=folder)

    def grade() -> Cost:
        command = [_PROGRAM, "run", "-a", "ag.zip", "-o", "out", "--no-logo", "s.ipynb"]
        cost = run(command, folder=folder)
        results = json.loads((folder / "out" / "results.json").read_text(encoding="utf-8"))
        scores = [(test["score"], test["max_score"]) for test in results["tests"] if "max_score" in test]
        if len(scores) != len(list(checks.glob("*.py"))) or any(score != most for score, most in scores):
            raise MeasureError(f"otter run: the solved notebook of {stem} has not got full marks")
        return cost

    return grade
