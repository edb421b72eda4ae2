"""The student repository, which contains only the files for students.

`contents` says file by file what is in it: nothing is copied that is not named there. `wheel` builds the
grader's part of it, and `write_release` brings the folder up to date. Decisions:

* **A release remembers in ``.handout/release.json`` what it wrote.** It replaces or removes a file that is
  still as written. A file that a person changed stays, unless ``--overwrite`` is given.
* **The manifest is written last.** The same command goes on with a release that was stopped, because what is
  written already is what it wants to write. If the course changed in between, those files count as changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from grader.course.assignment import name_of
from grader.course.build import outdated, stem_of
from grader.course.course import Course
from grader.errors import CourseError, GraderError
from grader.files import write_atomic
from grader.integrations.release.classroom50 import bundles
from grader.integrations.release.wheel import SOURCES, build_wheel
from grader.notebooks.files import RELEASE_MANIFEST as MANIFEST
from grader.scores import format_points, total
from grader.text import markdown_text, some

__all__ = ["MANIFEST", "Changes", "Released", "release"]

_SCHEMA = "autograd-grader/release/v1"
_GIT = ".git"  # a repository that was made for the first release
_TEMPLATES = {
    "README.md": "README.md",
    "requirements.txt": "requirements.txt",
    "gitignore": ".gitignore",
    "gitattributes": ".gitattributes",
    "devcontainer.json": ".devcontainer/devcontainer.json",
    "classroom.yml": ".github/workflows/classroom.yml",
}
_PINNED = ("torch", "jupyterlab")
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
#: Fetches the CPU build of PyTorch, without dependencies, because its index has older versions of them. Where
#: it is not reached, the requirements bring the default build. There is no double quote: this is in JSON too.
_CPU_TORCH = (
    "--no-deps --retries 1 --timeout 15 --index-url https://download.pytorch.org/whl/cpu torch=={torch}"
)
_INSTALL_TORCH = (
    f"python -m pip install {_CPU_TORCH} || echo 'download.pytorch.org cannot be reached. Go on with the next"
    " line: it takes a larger build, of about 5 GB, which works as well.'"
)
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Changes:
    """The changes of a release's files, sorted."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    edited: tuple[str, ...]  # unchanged, because a person edited them


@dataclass(frozen=True)
class Released:
    """The assignments of a release, and what it changed in its folder."""

    stems: tuple[str, ...]
    changes: Changes
    unfinished: tuple[str, ...] = ()  # assignments that were left out
    of_other_terms: tuple[str, ...] = ()  # assignments that were left out, too


def release(  # noqa: PLR0913 - four of them by name only
    course: Course,
    folder: Path,
    wanted: Sequence[str] = (),
    *,
    overwrite: bool = False,
    solutions: bool = False,
    classroom50: bool = False,
) -> Released:
    """Write the student repository into a folder that is missing, empty or an earlier release.

    Files that no release wrote are left alone. Without `wanted` all finished assignments of the term are
    released; with `overwrite` files of an earlier release are replaced although a person has changed them
    since; with `solutions` the folder also holds every answer, and why it is right; with `classroom50` the
    bundles for it are written instead.

    Raises:
        GraderError: ``assignments/`` is outdated, an assignment is unknown, none of the term is finished, or
            the folder cannot be written.
        CourseError: a file of the course is wrong.
    """
    finished = course.without_unfinished(wanted)
    unfinished = () if wanted else tuple(stem for stem in course.stems if stem not in finished.stems)
    stems = finished.select(wanted)
    of_other_terms: tuple[str, ...] = ()
    if course.settings.assignments and not wanted:
        of_other_terms = tuple(stem for stem in stems if stem not in course.settings.assignments)
        stems = tuple(stem for stem in stems if stem in course.settings.assignments)
    if not stems:
        raise GraderError(
            "no assignment of this term (course.toml, [term]) is finished: name one by --assignment"
        )
    _require_current(finished, stems)
    with tempfile.TemporaryDirectory() as temporary:
        notebooks = {
            f"{stem}.ipynb": _read(finished.root / "assignments" / f"{stem}.ipynb") for stem in stems
        }
        wheel = build_wheel(SOURCES, Path(temporary), notebooks)
        if classroom50:
            install = (_CPU_TORCH.format(**_pins()), "torch=={torch}".format(**_pins()))
            files = bundles(finished, stems, wheel, install, _PYTHON)
        else:
            files = contents(finished, stems, wheel)
            files |= {f"solutions/{stem}.md": _solutions(finished, stem) for stem in stems if solutions}
    changes = write_release(folder, files, overwrite=overwrite)
    return Released(stems, changes, unfinished, of_other_terms)


def _require_current(course: Course, stems: Sequence[str]) -> None:
    folder = course.root / "assignments"
    assignments = [course.assignment(stem) for stem in stems]
    points = {stem: course.points(stem) for stem in stems}
    try:
        old = [path for path in outdated(assignments, folder, points) if stem_of(path) in stems]
    except OSError as error:
        raise CourseError(f"{error.filename} cannot be read ({error.strerror}): make it readable.") from error
    if old:
        names = ", ".join(some((str(path.relative_to(course.root)) for path in old), 3))
        raise GraderError(f"{names}: out of date. Run `make build`, review the changes, and release again.")


def contents(course: Course, stems: Sequence[str], wheel: Path) -> dict[str, bytes]:
    """All files of a student repository, by their path in it.

    They are read from ``assignments/`` and the public parts of notebook sources.

    Raises:
        CourseError: a file of the course cannot be read.
    """
    assignments = course.root / "assignments"
    files = {f"wheels/{wheel.name}": wheel.read_bytes()}
    for stem in stems:
        notebook = _read(assignments / f"{stem}.ipynb")
        files[f"{stem}.ipynb"] = files[f".handout/{stem}.ipynb"] = notebook
        for question in course.assignment(stem).questions:
            if question.public_check is not None:
                path = f"tests/{stem}/{question.id}.py"
                files[path] = _read(assignments / path)
    values = _template_values(course, stems, wheel)
    for template, path in _TEMPLATES.items():
        files[path] = _ENVIRONMENT.get_template(template).render(values).encode()
    return files


def _solutions(course: Course, stem: str) -> bytes:
    """The answers of an assignment, each with the text that a student reads once the public check passes."""
    template = _ENVIRONMENT.get_template("answers.md")
    return template.render(assignment=course.assignment(stem)).encode()


def _read(path: Path, advice: str = "run `make build`") -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CourseError(f"{path} cannot be read ({error.strerror}): {advice}.") from error


def _template_values(course: Course, stems: Sequence[str], wheel: Path) -> dict[str, Any]:
    assignments = []
    for stem in stems:
        assignment, points = course.assignment(stem), course.points(stem)
        questions = [
            {"id": q.id, "title": q.title, "function": q.function, "points": points[q.id]}
            for q in assignment.questions
            if not q.is_bonus_task
        ]
        worth = total(points.values())
        assignments.append({"stem": stem, "title": assignment.title, "points": worth, "questions": questions})
    pins = _pins()
    return {
        "assignments": assignments,
        "first": stems[0],
        "install_torch": _INSTALL_TORCH.format(**pins),
        "partial_credit": 100 * course.settings.partial_credit,
        "pins": pins,
        "python": _PYTHON,
        "wheel": wheel.name,
    }


def _pins() -> Mapping[str, str]:
    """The versions of packages for students with which the course is tested."""
    path = SOURCES / "constraints.txt"
    text = _read(path, "it has the versions of packages").decode(errors="replace")
    versions = {pin["name"]: pin["version"] for pin in _PIN.finditer(text)}
    missing = ", ".join(name for name in _PINNED if name not in versions)
    if missing:
        raise CourseError(f"{path} names no version of {missing}: add a line such as `torch==2.13.0`.")
    return {name: versions[name] for name in _PINNED}


#: Workflows have braces of their own, so these templates are written with brackets.
_ENVIRONMENT = Environment(
    loader=PackageLoader("grader", "templates/release"),
    autoescape=False,  # noqa: S701 - no HTML; what the author wrote goes through `text`
    undefined=StrictUndefined,
    block_start_string="[%",
    block_end_string="%]",
    variable_start_string="[[",
    variable_end_string="]]",
    comment_start_string="[#",
    comment_end_string="#]",
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_ENVIRONMENT.filters.update(name=name_of, number=format_points, text=markdown_text)


def write_release(folder: Path, files: Mapping[str, bytes], *, overwrite: bool) -> Changes:
    """Make a folder hold these files, by their path with ``/``, each complete or not at all.

    Raises:
        GraderError: the folder is neither, a link leads out of it, or it cannot be written; where that is
            known before, nothing has been changed.
    """
    try:
        earlier = _earlier(folder)
        known = earlier or {}
        for path in {*files, *known, MANIFEST}:
            _require_plain(folder, path)
        if known and known.keys().isdisjoint(files):
            raise GraderError(
                f"{folder} holds another kind of release (a student repository, or autograders for"
                " Classroom 50): choose another folder"
            )
        new = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
        there = {path: _sha256_of(folder / path) for path in {*new, *known}}
        different = {path for path in new if there[path] != new[path]}
        obsolete = {path for path in known if path not in new and there[path]}
        foreign = {path for path in different | obsolete if there[path] not in {None, known.get(path)}}
        edited = set() if overwrite else foreign
        if earlier is None:
            write_atomic(
                folder / MANIFEST, _manifest({})
            )  # so that a release that is stopped is known as one
        for path in sorted(different - edited):
            write_atomic(folder / path, files[path])
        for path in obsolete - edited:
            _remove(folder, path)
        if known != new:
            write_atomic(folder / MANIFEST, _manifest(new))
    except OSError as error:
        raise GraderError(
            f"{error.filename or folder} cannot be written ({error.strerror}): fix that, or choose another"
            " folder; then run the same command again."
        ) from error
    return Changes(*(tuple(sorted(paths)) for paths in (different - edited, obsolete - edited, edited)))


def _earlier(folder: Path) -> dict[str, str] | None:
    """The hashes of the files of the previous release; None in an empty folder."""
    if folder.exists() and not folder.is_dir():
        raise GraderError(f"{folder} is a file: name a folder for the student repository.")
    if not folder.is_dir() or all(entry.name == _GIT for entry in folder.iterdir()):
        return None
    path = folder / MANIFEST
    if path.is_symlink() or not path.is_file():
        raise GraderError(
            f"{folder} is not empty and not an earlier release (it has no {MANIFEST}): choose another folder."
        )
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        files: dict[str, list[str]] = {_SCHEMA: manifest["files"]}[manifest["schema"]]
        return {str(name): str(hashes[0]) for name, hashes in files.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise GraderError(
            f"{path} is damaged, so it doesn't show which files were released: release into an empty folder."
        ) from error


def _require_plain(folder: Path, path: str) -> None:
    """Refuse a path by which something outside of the folder would be written or removed."""
    root = os.path.realpath(folder)
    target = Path(root, path)
    if os.path.realpath(target) != str(target) or not target.is_relative_to(root):
        raise GraderError(
            f"{folder / path} is a link or leads out of {folder}, where nothing is written: remove it."
        )
    if target.is_dir():
        raise GraderError(f"{folder / path} is a folder, where the release has a file: move it away.")


def _remove(folder: Path, path: str) -> None:
    """Remove a file, and the folders that are empty then."""
    (folder / path).unlink()
    with contextlib.suppress(OSError):
        for parent in PurePosixPath(path).parents[:-1]:
            (folder / parent).rmdir()


def _manifest(files: Mapping[str, str]) -> bytes:
    manifest = {"schema": _SCHEMA, "files": {path: [files[path]] for path in sorted(files)}}
    return (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()


def _sha256_of(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
