"""Other ways to grade the same notebook by the same public checks, one command per notebook each."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from classroom import CHECKS, NOTEBOOK
from measure import Cost, MeasureError, run

_PROGRAMS = Path(sys.executable).parent
_OTTER_CONFIG = {"show_hidden": True}


@dataclass(frozen=True)
class Baseline:
    """A command that grades one notebook."""

    name: str
    command: Sequence[str]
    folder: Path  # where it is run
    environment: dict[str, str] = field(default_factory=dict)  # to add
    confirm: Callable[[], None] = lambda: None  # raises MeasureError where the command has not graded

    def grade(self) -> Cost:
        """Grade the notebook once, and make sure of it."""
        cost = run(self.command, folder=self.folder, environment=self.environment)
        self.confirm()
        return cost


OTTER = "`otter run`"
PLAIN = "pytest in a fresh interpreter"


def baselines(folder: Path) -> tuple[list[Baseline], dict[str, str]]:
    """The baselines that work here, prepared below a folder and tried once, and why others are missing."""
    ready: list[Baseline] = []
    missing: dict[str, str] = {}
    for name, package, prepare in ((OTTER, "otter", _otter), (PLAIN, "pytest", _plain)):
        if find_spec(package) is None:
            missing[name] = "not installed"
            continue
        (folder / package).mkdir(parents=True)
        try:
            baseline = prepare(name, folder / package)
            baseline.grade()
        except MeasureError as error:
            sys.stderr.write(f"benchmarks: {name} is left out: {error}\n")
            missing[name] = "failed"
        else:
            ready.append(baseline)
    return ready, missing


def _plain(name: str, folder: Path) -> Baseline:
    command = [sys.executable, "-m", "pytest", *f"-q -c {os.devnull} -p no:cacheprovider".split()]
    environment = {"PLAIN_NOTEBOOK": str(NOTEBOOK), "PLAIN_CHECKS": str(CHECKS)}
    return Baseline(name, [*command, str(Path(__file__).with_name("plain_checks.py"))], folder, environment)


def _otter(name: str, folder: Path) -> Baseline:
    """As an instructor does it: one archive of the tests, then `otter run` for each notebook."""
    otter = str(_PROGRAMS / "otter")
    shutil.copytree(CHECKS, folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(NOTEBOOK, folder / "s.ipynb")
    (folder / "otter_config.json").write_text(json.dumps(_OTTER_CONFIG), encoding="utf-8")
    (folder / "out").mkdir()
    generate = "generate -t tests -o ag.zip -c otter_config.json --no-requirements --no-environment"
    run([otter, *generate.split()], folder=folder)

    def confirm() -> None:
        tests = json.loads((folder / "out" / "results.json").read_text(encoding="utf-8"))["tests"]
        scores = [(test["score"], test["max_score"]) for test in tests if "max_score" in test]
        if len(scores) != len(list(CHECKS.glob("*.py"))) or any(score != most for score, most in scores):
            raise MeasureError("otter run: the solved notebook has not got full marks")

    command = [otter, "run", "-a", "ag.zip", "-o", "out", "--no-logo", "s.ipynb"]
    return Baseline(name, command, folder, confirm=confirm)
