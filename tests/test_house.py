"""The house: the contracts of pyproject.toml see whatever breaks them, in every package."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKER = "sandbox/worker"
PACKAGES = sorted(
    folder.relative_to(ROOT / "grader").as_posix()
    for folder in (ROOT / "grader").rglob("*")
    if folder.is_dir() and (folder / "__init__.py").is_file()
)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What import-linter says after a module that breaks the contracts was added to every package."""
    root = tmp_path_factory.mktemp("house")
    shutil.copytree(ROOT / "grader", root / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    for package in PACKAGES:
        breach = "import grader.errors\n" if package == WORKER else "import torch\nimport grader.cli\n"
        folder, dotted = root / "grader" / package, f"grader.{package.replace('/', '.')}"
        (folder / "breach.py").write_text(f"{breach}import grader.sandbox.worker.facts\n")
        (folder / "circle.py").write_text(f"import {dotted}.circular\n")
        (folder / "circular.py").write_text(f"import {dotted}.circle\n")
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return done.stdout


def test_the_contracts_are_kept():
    """As the code stands, no contract is broken."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != WORKER])
def test_a_breach_is_seen_in_every_package(said, package):
    """Torch, the worker and, below the command line, a package above are refused in whichever package."""
    module = f"grader.{package.replace('/', '.')}.breach"
    assert f"{module} -> torch" in said
    assert f"{module} -> grader.sandbox.worker.facts" in said
    assert package in {"cli", "exports"} or f"{module} -> grader.cli" in said


@pytest.mark.parametrize("package", PACKAGES)
def test_a_circle_is_seen_in_every_package(said, package):
    """Two modules that import each other are refused."""
    _, _, circles = said.partition(f"No cycles are allowed in grader.{package.replace('/', '.')}.")
    assert ".circular -> .circle (1 import)" in circles.partition("No cycles are allowed")[0]


def test_the_worker_may_import_nothing_of_the_package(said):
    """Even what is lowest in the house is refused there."""
    assert "grader.sandbox.worker.breach -> grader.errors" in said
