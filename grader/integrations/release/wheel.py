"""A wheel of this package, without the course, for students' machines and other systems' graders.

setuptools builds it in a process of its own (PEP 517, without pip): it reads no configuration and asks no
index, and the same sources give the same bytes, on any machine.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from grader.errors import BrokenRunError, GraderError
from grader.files import write_atomic

SOURCES = Path(__file__).resolve().parents[3]
"""The folder with ``pyproject.toml``, unless this package was itself installed from a wheel."""

_README = """\
# autograd-grader

The commands of an autograd course in notebooks. For students: `python -m grader check NOTEBOOK`, `hint`,
`status`, `watch`, `submit` and `reset`. Solutions and graded checks are not in this package.
"""
_BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
_EPOCH = "1577836800"  # 2020-01-01; an archive cannot hold times before 1980
_LONGEST_ERROR = 300


def build_wheel(root: Path, folder: Path, handout: Mapping[str, bytes] | None = None) -> Path:
    """Build the wheel into a folder, and return its path; an equal wheel is left alone.

    It is built from a copy: nothing is left beside the sources, and nothing that was left there gets in.

    Args:
        root: holds ``pyproject.toml`` and ``grader/``, such as `SOURCES`.
        folder: the folder for the wheel.
        handout: the released files, by name. They are in the wheel as ``grader/handout/``, and its version
            has a hash of its content, because pip does not replace a package by one of the same version.

    Raises:
        GraderError: `root` has no sources, setuptools is missing, or `folder` cannot be written.
        BrokenRunError: building failed.
    """
    if not (root / "pyproject.toml").is_file():
        raise GraderError(
            f"{root} has no pyproject.toml, which the grader's wheel needs: run this command in a copy of the"
            " course's repository, with the grader installed by `pip install -e '.[instructor]'`"
        )
    if find_spec("setuptools") is None:
        raise GraderError("setuptools is missing, which builds the wheel: pip install 'setuptools>=77'")
    with tempfile.TemporaryDirectory() as temporary:
        sources, built = Path(temporary, "sources"), Path(temporary, "built")
        built.mkdir()
        try:
            _copy(root, sources)
            if handout is not None:
                _add_handout(sources, handout)
            _fix_modes(sources)
            _run_setuptools(sources, built)
            wheel = next(built.glob("*.whl"))
            target, content = folder / wheel.name, wheel.read_bytes()
            if not target.is_file() or target.read_bytes() != content:
                write_atomic(target, content)
        except OSError as error:
            raise GraderError(
                f"{error.filename or folder}: the grader's wheel cannot be written ({error.strerror}): fix"
                " that or choose another folder."
            ) from error
    return target


def _copy(root: Path, sources: Path) -> None:
    """Copy the files for the wheel."""
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(root / "grader", sources / "grader", ignore=ignored, copy_function=shutil.copyfile)
    shutil.copyfile(root / "pyproject.toml", sources / "pyproject.toml")
    if (root / "LICENSE").is_file():
        shutil.copyfile(root / "LICENSE", sources / "LICENSE")
    (sources / "README.md").write_text(_README, encoding="utf-8")  # the course's own is for instructors


def _add_handout(sources: Path, handout: Mapping[str, bytes]) -> None:
    """Add the released files, and a version that is different for different content."""
    folder = sources / "grader" / "handout"
    folder.mkdir()
    for name, content in handout.items():
        (folder / name).write_bytes(content)
    digest = hashlib.sha256()
    for path in sorted(path for path in sources.rglob("*") if path.is_file()):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(sources).as_posix()} {len(content)}\n".encode() + content)
    label = f"+h{digest.hexdigest()[:8]}"  # a letter first: a number loses its leading zeros
    (sources / "setup.cfg").write_text(f"[egg_info]\ntag_build = {label}\n", encoding="utf-8")


def _fix_modes(sources: Path) -> None:
    """Give files the modes for the wheel, which don't depend on the user who builds it."""
    for path in sources.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _run_setuptools(sources: Path, built: Path) -> None:
    """Build in a process of its own: setuptools changes the one it runs in."""
    command = [sys.executable, "-I", "-W", "ignore", "-c", _BUILD, str(built)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": _EPOCH}
    done = subprocess.run(  # noqa: S603 - our own interpreter, our own sources
        command,
        cwd=sources,
        env=environment,
        umask=0o022,  # modes of what setuptools adds get into the wheel as well
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode or not any(built.glob("*.whl")):
        last = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2][:_LONGEST_ERROR]
        raise BrokenRunError(f"the grader's wheel could not be built (setuptools says: {last or 'nothing'}).")
