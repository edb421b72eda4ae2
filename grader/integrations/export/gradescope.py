"""Gradescope's ``results.json``, and the autograder zip, which grades there.

* **All of a result is visible**: a test for each question, with its checks in the test's text. A single
  hidden test would hide the total from the student.
* **Otter-grader is the frame of the zip**, and ``otter_plugin`` grades in the sandbox. The zip contains
  the notebook source and the hidden checks of an assignment, so it is for instructors only. They are beside
  Otter's ``files/``, because Otter copies that folder into the submission's, where a student's files win.
"""

from __future__ import annotations

import io
import json
import platform
import re
import tempfile
import tomllib
import zipfile
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from grader import __version__
from grader.course.course import Course
from grader.course.settings import Feedback, Settings
from grader.errors import GraderError
from grader.integrations.export import Export, Format, plain_number, plain_text
from grader.integrations.release.wheel import SOURCES, build_wheel
from grader.reports.document import Paragraph
from grader.reports.feedback import about_question, about_submission
from grader.reports.markdown import markdown
from grader.results.model import Result
from grader.scores import points_text

_PLUGIN = "grader.integrations.otter_plugin.SandboxedGrader"
_SOURCE = "/autograder/source"  # where Gradescope unpacks the zip
_EXECUTABLE = {"run_autograder", "setup.sh"}
_THEN = (1980, 1, 1, 0, 0, 0)  # the same course gives the same bytes

_CONFIG = {
    "show_stdout": False,
    "show_hidden": True,
    "show_all_public": True,
    "force_public_test_summary": False,
}
_PLACEHOLDER = '''\
"""Otter wants a test; this asks nothing and is worth nothing. The plugin grades."""

from otter.test_files import test_case

OK_FORMAT = False
name = "placeholder"
points = 0


@test_case()
def test_nothing():
    """Nothing is asked."""
'''
_RUN = '''\
"""Run Otter's autograder with nothing of the student's to read; its plugin grades in the sandbox."""

from grader.integrations.otter_plugin import set_aside
from otter.run.run_autograder import main

if __name__ == "__main__":
    set_aside("/autograder")
    main("/autograder")
'''


def _write(export: Export) -> None:
    """Write ``<stem>.zip``, the autograder, and ``<stem>/<student>/results.json``, if anything is graded."""
    graded = export.results if export.has_results else {}
    if not graded:
        export.note(
            f"{export.folder} has no results of {', '.join(export.stems)}, so no results.json was written."
        )
    for stem in export.stems:
        export.add_file(f"{stem}.zip", autograder(export.course, stem))
    export.note(
        "Each zip contains the reference solution and hidden checks: upload it to Gradescope, and share it"
        " with no one. Give its container 2 CPUs and 6 GB: the default of 768 MB is too small for torch."
    )
    for stem, results in graded.items():
        for result in results:
            made = results_json(result, export.shows, export.course.settings.visibility)
            document = json.dumps(made, indent=1, allow_nan=False)
            export.add_file(f"{stem}/{result.student}/results.json", document + "\n")


def results_json(result: Result, shows: Feedback, visibility: str) -> dict[str, Any]:
    """A result as Gradescope reads it: exactly its numbers, and what the student may see.

    Args:
        visibility: of the score and of each test, in Gradescope's words: a hidden test hides the total too.
    """
    points = Paragraph(f"{result.name}: {points_text(result.score, result.max_score)} points")
    tests = [
        {
            "score": plain_number(answer.score),
            "max_score": plain_number(answer.max_score),
            "status": "passed" if answer.in_full else "failed",
            "name": plain_text(f"{answer.id} · {answer.title}"),
            "number": str(index),
            "output": markdown(about_question(result, answer, shows)),
            "output_format": "md",
            "visibility": visibility,
        }
        for index, answer in enumerate(result.questions, 1)
    ]
    return {
        "score": plain_number(result.score),
        "output": markdown([*about_submission(result), points]),
        "output_format": "md",
        "visibility": visibility,
        "stdout_visibility": "hidden",
        "tests": tests,
    }


def autograder(course: Course, stem: str) -> bytes:
    """The zip for an assignment, made without a network.

    Raises:
        GraderError: otter-grader is missing, or the grader's wheel cannot be built.
    """
    if find_spec("otter") is None:
        raise GraderError("otter-grader is missing, which makes the zip: pip install 'otter-grader[grading]'")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wheel = build_wheel(SOURCES, folder / "wheels")
        generated = _generate(folder, {**_CONFIG, "plugins": [{_PLUGIN: {"stem": stem}}]}, wheel.name)
        members = generated | _course_files(course, stem)
        members["run_otter.py"] = _RUN.encode()
        members[f"wheels/{wheel.name}"] = wheel.read_bytes()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            member = zipfile.ZipInfo(name, _THEN)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o100755 if name in _EXECUTABLE else 0o100644) << 16
            archive.writestr(member, members[name])
    return made.getvalue()


def _generate(folder: Path, config: dict[str, object], wheel: str) -> dict[str, bytes]:
    """The members of the zip that ``otter generate`` writes."""
    from otter.generate import (  # type: ignore[import-untyped]  # noqa: PLC0415 - takes a second
        main as otter_generate,
    )

    tests = folder / "tests"
    tests.mkdir()
    (tests / "placeholder.py").write_text(_PLACEHOLDER, encoding="utf-8")
    settings, requirements = folder / "otter_config.json", folder / "requirements.txt"
    settings.write_text(json.dumps(config), encoding="utf-8")
    requirements.write_text("\n".join(_requirements(wheel)) + "\n", encoding="utf-8")
    otter_generate(
        tests_dir=str(tests),
        output_path=str(folder / "otter.zip"),
        config=str(settings),
        requirements=str(requirements),
        no_environment=True,
        python_version=".".join(platform.python_version_tuple()[:2]),
    )
    with zipfile.ZipFile(folder / "otter.zip") as made:
        return {name: made.read(name) for name in made.namelist()}


def _requirements(wheel: str) -> list[str]:
    """Pip's lines: the wheel, and the packages that verdicts depend on in the versions installed here."""
    project = tomllib.loads((SOURCES / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["instructor"], *extras["notebooks"]]
    names = sorted({re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in wanted})
    try:
        versions = [metadata.version(name).partition("+")[0] for name in names]  # without the build's name
    except metadata.PackageNotFoundError as error:
        raise GraderError(
            f"{error.name} is not installed, so its version is not known: pip install"
            " '.[instructor,notebooks]'"
        ) from error
    return [
        "--extra-index-url https://download.pytorch.org/whl/cpu",
        *(f"{name}=={version}" for name, version in zip(names, versions, strict=True)),
        f"{_SOURCE}/wheels/{wheel}[instructor]",
    ]


def _course_files(course: Course, stem: str) -> dict[str, bytes]:
    """The files of a course that grade an assignment, by their names in the zip."""
    files = {"course/course.toml": settings_toml(course.settings, stem).encode()}
    helpers = course.root / "tests" / "hidden" / "inside.py"
    paths = [course.assignment(stem).path, course.check_file(stem), *([helpers] if helpers.is_file() else [])]
    for path in paths:
        try:
            files[f"course/{path.relative_to(course.root).as_posix()}"] = path.read_bytes()
        except OSError as error:
            raise GraderError(f"{path} cannot be read ({error.strerror}): make it readable") from error
    return files


def settings_toml(settings: Settings, stem: str) -> str:
    """The settings of an assignment, as a ``course.toml`` that names no other assignment."""
    limits, feedback = settings.limits, settings.feedback
    lines = [
        f"# Written by grader {__version__} for {stem}.",
        *("[score]", f"partial_credit = {settings.partial_credit!r}"),
        *("[limits]", *(f"{key} = {value!r}" for key, value in vars(limits).items())),
        *("[feedback]", *(f"{key} = {str(value).lower()}" for key, value in vars(feedback).items())),
        *("[gradescope]", f'visibility = "{settings.visibility}"'),
        f"[points.{stem}]",
        *(f"{question} = {worth!r}" for question, worth in settings.points.get(stem, {}).items()),
    ]
    return "\n".join(lines) + "\n"


FORMAT = Format(
    "gradescope",
    _write,
    help="`<assignment>.zip`: an autograder that grades in the sandbox\n"
    "`<assignment>/<student>/results.json`",
    advice="upload the zip, and give the container 2 CPUs and 6 GB",
)
