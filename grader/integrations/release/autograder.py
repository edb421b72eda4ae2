"""Grades a push in Classroom 50, by the public checks of one notebook, and writes ``result.json``.

Each bundle contains this file, so it imports nothing that its runner may lack. Its working directory is the
student's checkout, from which it reads only the notebook.

It exits with 0 whatever a student pushed: otherwise there would be no Release, as if the student had not
submitted. It exits with 1 only if this machine could not be prepared; a regrade continues from there.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

BUNDLE = "bundle.json"
_HERE = Path(__file__).resolve().parent
_SECONDS = 13 * 60  # the job has 15 minutes, and publishes the result at its end
_LONGEST_BODY = 100_000  # characters; GitHub takes 125,000 of a Release
#: Fields of the result, and the variables that Classroom 50 sets for them.
_FIELDS = {
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "assignment_type": "ASSIGNMENT_TYPE",
    "owner": "OWNER",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
    "review": "REVIEW_URL",
}


def main() -> int:
    """Write the result into the working directory, and return the exit status."""
    end = time.monotonic() + _SECONDS
    missing = [name for name in _FIELDS.values() if not os.environ.get(name)]
    if missing:
        return _fail(
            f"{', '.join(missing)} not set: Classroom 50's runner.py starts this file and sets them."
        )
    bundle = json.loads((_HERE / BUNDLE).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        try:
            python = _prepared_python(bundle, Path(temporary), end)
        except (OSError, subprocess.SubprocessError) as error:
            return _fail(f"PyTorch and the grader could not be installed: {error}. Grade this push again.")
        statuses, summary = _check(python, bundle, Path(temporary), end)
    result = _result(bundle["questions"], statuses)
    body = (
        summary or "The public checks did not come to an end, so no question has points. The log says more."
    )
    Path("release-body.md").write_text(_shortened(body), encoding="utf-8")
    Path("result.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


def _fail(why: str) -> int:
    sys.stdout.write(f"::error::{' '.join(why.split())}\n")
    return 1


def _prepared_python(bundle: Mapping[str, Any], folder: Path, end: float) -> str:
    """A Python with the grader and PyTorch: this one, if a teacher's own runner has them, else a new one.

    Raises:
        SubprocessError, OSError: it cannot be installed.
    """
    if find_spec("grader") and find_spec("torch"):
        return sys.executable
    venv.create(folder / "venv", symlinks=True, with_pip=True)
    python = str(folder / "venv" / "bin" / "python")
    *attempts, last = bundle["install"]
    # -P: no file in the student's checkout runs because it is called like a module.
    pip = [python, "-P", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for arguments in attempts:
        _run([*pip, *arguments], end)
    _run([*pip, *last, str(_HERE / bundle["wheel"])], end).check_returncode()
    _run([python, "-c", "import grader, torch"], end, cwd=folder).check_returncode()
    return python


def _run(
    command: Sequence[str], end: float, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run until it ends, or until there is no time left.

    Raises:
        SubprocessError: there is none left.
        OSError: it cannot be started.
    """
    left = max(1, end - time.monotonic())
    return subprocess.run(command, cwd=cwd, env=env, timeout=left, check=False)  # noqa: S603 - our own command


def _check(python: str, bundle: Mapping[str, Any], folder: Path, end: float) -> tuple[dict[str, str], str]:
    """The outcome of each question, by the name of its output, and the student's summary.

    The notebook is checked in a folder without other files of the student, so no file can replace the grader
    or the released files.
    """
    notebook: str = bundle["notebook"]
    place, outputs, summary = folder / "checked", folder / "outputs.txt", folder / "summary.md"
    (place / ".handout").mkdir(parents=True)
    with zipfile.ZipFile(_HERE / bundle["wheel"]) as wheel:
        (place / ".handout" / notebook).write_bytes(wheel.read(f"grader/handout/{notebook}"))
    for path in (outputs, summary):
        path.touch()
    if Path(notebook).is_file() and not Path(notebook).is_symlink():
        shutil.copyfile(notebook, place / notebook)
    environment = {**os.environ, "GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary)}
    try:
        _run([python, "-P", "-m", "grader", "check", notebook, "--github"], end, place, environment)
    except subprocess.TimeoutExpired:
        sys.stdout.write("::warning::The public checks took too long and were stopped.\n")
    lines = outputs.read_text(encoding="utf-8", errors="replace").splitlines()
    return dict(map(_status, lines)), summary.read_text(encoding="utf-8", errors="replace")


def _status(line: str) -> tuple[str, str]:
    """The name of an output, and the status in it; a line that is none has no status."""
    name, _, value = line.partition("=")
    try:
        return name, str(json.loads(base64.b64decode(value))["status"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return name, ""


def _result(questions: Sequence[Mapping[str, Any]], statuses: Mapping[str, str]) -> dict[str, Any]:
    """The result, in which a question has all of its points or none."""
    tests = []
    for question in questions:
        passed = statuses.get(question["output"]) == "pass"
        tests.append(
            {
                "test-name": question["test"],
                "passed": passed,
                "score": question["points"] if passed else 0,
                "max-score": question["points"],
            }
        )
    return {
        "schema": "classroom50/result/v1",
        **{field: os.environ[variable] for field, variable in _FIELDS.items()},
        "datetime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),  # its runner puts the commit's here
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }


def _shortened(text: str) -> str:
    """As many whole lines as a Release takes."""
    if len(text) <= _LONGEST_BODY:
        return text
    return text[: text.rfind("\n", 0, _LONGEST_BODY)] + "\n\nThe log contains the rest.\n"


if __name__ == "__main__":
    sys.exit(main())
