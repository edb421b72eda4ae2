"""Writes students' notebooks from the notebook sources, and public checks as Otter tests."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader.course.assignment import BONUS_TASK, Assignment, SourceCell
from grader.course.author_file import todos_of
from grader.course.pictures import NO_PICTURES, LessonPictures, drawing
from grader.course.public_check import otter_test
from grader.errors import CourseError, GraderError
from grader.files import write_atomic

Points = Mapping[str, float]
"""The points of an assignment's questions, by id."""

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

# Otter looks into `tests_dir` first, and uses the notebook's metadata if there is no such folder. Its
# default, `./tests`, would be taken from any folder of that name beside the notebook.
_SETUP = """\
# Run this cell first. It needs PyTorch and the course package; README.md explains how to install both.
# On Google Colab, first upload the .whl file of the folder `wheels`, and run
# `!pip install ./autograd_grader-*.whl`.
try:
    from grader.notebook import Notebook
except ImportError:  # Gradescope does not have the course package; there Otter-Grader runs the same checks
    from otter import Notebook

grader = Notebook("{stem}.ipynb", tests_dir="tests/{stem}")"""

_HOW_TO_WORK = """\
**How to work with this notebook**

1. Run the cells from top to bottom. Each section explains one idea with a few lines of code. Where the text
   says *guess first*, write down your guess before you run the cell.
2. Each question gives you starter code with a bug. Fix it in its own cell, and keep the name of the function
   or class.
3. Run the check below it and read its message. This check only tests for the bug in the starter code. The
   hidden checks that grade your work test everything that the task says. Each task lists their inputs: after
   the description of an argument, each part between two semicolons is a property that some or all of the
   inputs have."""

_NO_POINTS = "*no points; your feedback says what you found*"
_SUBMIT = """\
## Submit

1. Restart the kernel and run all cells from top to bottom, to find code that depends on a deleted cell.
2. Save the notebook.
3. Submit this file, `{stem}.ipynb`. The grader runs its code and ignores its outputs.

The checks in this notebook test one example each. The graded checks also test other shapes and values, a
second training step, and side effects. If you can explain *why* your solution is right, it will pass them."""


def student_notebook(
    assignment: Assignment, points: Points, pictures: LessonPictures = NO_PICTURES
) -> NotebookNode:
    """The students' notebook: starter code, no outputs, and public checks and input levels in the metadata.

    A cell that draws but has no picture is omitted.

    Raises:
        CourseError: a question is worth nothing yet.
    """
    for question in assignment.questions:
        if not points.get(question.id) and not question.is_bonus_task:
            raise CourseError(
                f"{assignment.path}, {question.id}: no hidden check gives it points; write one first."
            )
    first, *rest = assignment.cells
    cells = [
        _cell(assignment, "markdown", "title", f"{first.source}\n\n{_HOW_TO_WORK}"),
        _cell(assignment, "code", "setup", _SETUP.format(stem=assignment.stem)),
        *(
            _student_cell(assignment, points, pictures, index, cell)
            for index, cell in enumerate(rest, start=1)
            if cell.role != "afterword" and (cell.role != "drawn" or index in pictures)
        ),
        _cell(assignment, "markdown", "hand in", _SUBMIT.format(stem=assignment.stem)),
    ]
    tests = {
        q.id: otter_test(q.id, q.public_check, points.get(q.id, 0.0), q.afterword, returns=q.returns_a_value)
        for q in assignment.questions
        if q.public_check is not None
    }
    otter = {"OK_FORMAT": False, "assignment_name": assignment.stem, "tests": tests}
    levels = {q.id: {name: list(of) for name, of in q.levels.items()} for q in assignment.questions}
    metadata = {**_METADATA, "otter": otter, "grader": {"levels": levels}}
    notebook: NotebookNode = new_notebook(cells=cells, metadata=metadata)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    return notebook


def build(assignments: Iterable[Assignment], folder: Path, points: Mapping[str, Points]) -> list[Path]:
    """Write `NN_name.ipynb` and `tests/NN_name/qK.py` of each assignment; return the files that changed.

    `points` has the points of questions by stem and id.

    Raises:
        CourseError: a question is worth nothing yet, or a picture cannot be drawn.
        GraderError: a file cannot be written.
    """
    built = _files(assignments, folder, points)
    changed = _changed(built)
    for path in changed:
        try:
            write_atomic(path, built[path].encode())
        except OSError as error:
            raise GraderError(
                f"{path} cannot be written ({error.strerror}): fix that, and run `build` again."
            ) from error
    return changed


def outdated(assignments: Iterable[Assignment], folder: Path, points: Mapping[str, Points]) -> list[Path]:
    """The files that `build` would change, and files in `folder` that belong to no notebook source.

    Files of an assignment that says TODO again may stay.
    """
    built = _files(assignments, folder, points)
    existing = [*folder.glob("*.ipynb"), *folder.glob("tests/*/*.py")]
    stray = (path for path in existing if path not in built and not todos_of(folder.parent, stem_of(path)))
    return _changed(built) + sorted(stray)


def stem_of(path: Path) -> str:
    """The stem of the assignment that a built file belongs to."""
    return path.stem if path.suffix == ".ipynb" else path.parent.name


def _files(assignments: Iterable[Assignment], folder: Path, points: Mapping[str, Points]) -> dict[Path, str]:
    files = {}
    with drawing(folder.parent) as draw:
        for assignment in assignments:
            notebook = student_notebook(assignment, points.get(assignment.stem, {}), draw(assignment))
            text: str = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
            files[folder / f"{assignment.stem}.ipynb"] = text.rstrip("\n") + "\n"
            for question, source in notebook.metadata["otter"]["tests"].items():
                files[folder / "tests" / assignment.stem / f"{question}.py"] = source
    return files


def _changed(built: Mapping[Path, str]) -> list[Path]:
    return [path for path, text in built.items() if not path.is_file() or path.read_bytes() != text.encode()]


def _student_cell(
    assignment: Assignment, points: Points, pictures: LessonPictures, index: int, cell: SourceCell
) -> NotebookNode:
    if cell.role == "drawn":
        return _cell(assignment, "markdown", str(index), pictures[index].markdown)
    if cell.question is None:
        return _cell(assignment, "code" if cell.role == "code" else "markdown", str(index), cell.source)
    name = f"{cell.role} {cell.question}"
    match cell.role:
        case "task":
            heading, _, text = cell.source.partition("\n")
            worth = _NO_POINTS if cell.question == BONUS_TASK else f"*{points[cell.question]:g} points*"
            return _cell(assignment, "markdown", name, f"{heading}\n\n{worth}\n\n{text.lstrip()}")
        case "question":
            starter_code = next(
                question.starter_code for question in assignment.questions if question.id == cell.question
            )
            return _cell(assignment, "code", name, starter_code)
        case _:
            return _cell(assignment, "code", name, f'grader.check("{cell.question}")')


def _cell(assignment: Assignment, kind: str, name: str, source: str) -> NotebookNode:
    """A cell with an id that is the same in every build, so that a diff shows only what changed."""
    identity = hashlib.sha256(f"{assignment.stem} {name}".encode()).hexdigest()[:12]
    new_cell = new_code_cell if kind == "code" else new_markdown_cell
    cell: NotebookNode = new_cell(source, id=identity)  # type: ignore[no-untyped-call]
    return cell
