"""Outside: a lookup, one stored result found by the names that a person wrote."""

from __future__ import annotations

from grader.errors import GraderError
from grader.results.folder import ResultsFolder
from grader.results.result import Result
from grader.text import did_you_mean


def stored_result(folder: ResultsFolder, student: str, stem: str) -> Result:
    """The result of a student for an assignment or, where that is unknown, of a notebook by its name.

    Raises:
        GraderError: there is no such result, with the nearest that there is, or it is spoiled.
    """
    students = {path.name for path in (folder.path / "submissions").glob("*") if path.is_dir()}
    if not students:
        raise GraderError(f"{folder.path} holds no results: grade first, or name their folder by --results")
    if student not in students:
        raise GraderError(f"{folder.path} has no result of {student}; {did_you_mean(student, students)}")
    stems = {path.stem for path in (folder.path / "submissions" / student).glob("*.json")}
    if stem not in stems:
        raise GraderError(f"{folder.path} has no result of {student} for {stem}; {did_you_mean(stem, stems)}")
    result = folder.result(student, stem)
    try:
        _ = result["status"], result["assignment"], result["questions"], result["provenance"]["graded_at"]  # type: ignore[index]
    except (KeyError, TypeError):
        raise GraderError(
            f"{folder.path / 'submissions' / student / stem}.json is spoiled: run the same `grade` again"
        ) from None
    return result  # type: ignore[return-value]
