"""Classroom 50: results in a classroom's ``scores.json``, as overrides, which its collection keeps.

Without that file each result is written as the ``result.json`` of a submission, for a grader of your own.

* An override is an entry with ``"override": true``, whose first submission is the result, dated after all
  others.
* Nothing else in the file changes. An override that was set by hand there stays: it has no tests.
* Scores are whole numbers: all points of an assignment are multiplied by the smallest factor that makes them
  so. The names of the tests say the points themselves.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from grader.errors import GraderError
from grader.integrations.classroom50 import is_whole, rounded_down, slug_of, smallest_factor
from grader.integrations.export import Export, Format, plain_text
from grader.people.directory import Directory, Person
from grader.people.roster import people_of_rows
from grader.results.model import Result
from grader.scores import format_points, points_text, total
from grader.sheets import read_sheet

_MANUAL = "submit/manual-"  # the prefix of its own overrides; the time follows
#: The environment of an autograder, by the fields of a result.
_VARIABLES = {
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
    "review": "REVIEW_URL",
}
_ROSTERS = ("roster.csv", "students.csv")  # the second in older classrooms
_Shape = TypeVar("_Shape")


class _Submission(msgspec.Struct):
    submission: str
    datetime: str
    tests: list[Any]


class _Entry(msgspec.Struct):
    owner: str
    submissions: list[_Submission]


class _Bucket(msgspec.Struct):
    type: str
    entries: list[_Entry]


class _Scores(msgspec.Struct):
    """The part of ``scores.json`` that is read; the rest is preserved."""

    schema: Literal["classroom50/scores/v1"]
    assignments: dict[str, _Bucket]


class _Assignment(msgspec.Struct):
    slug: str
    mode: str = "individual"


class _Assignments(msgspec.Struct):
    """The part of ``assignments.json`` that is read."""

    schema: Literal["classroom50/assignments/v1"]
    assignments: list[_Assignment]


def _write(export: Export) -> None:
    """Write ``scores.json`` or, where none is named, ``<student>/<stem>/result.json``.

    The environment of an autograder says whose classroom, assignment and submission a single result is of.

    Raises:
        GraderError: a file of the classroom cannot be read, or nothing could be filled in.
    """
    if export.gradebook is not None:
        _write_scores(export, export.gradebook.resolve())
        return
    is_single = sum(map(len, export.results.values())) == 1
    known = {name: os.environ.get(variable, "") for name, variable in _VARIABLES.items()}
    if not is_single:
        known = {"classroom": known["classroom"]}
    for stem, results in export.results.items():
        factor = _common_factor(export, stem, results)
        for result in results:
            record = _record(result, "classroom", "individual", result.student, factor, ())
            names = {name: text for name, text in known.items() if text}
            document = record | {"assignment": slug_of(stem)} | names
            text = json.dumps(document, indent=1, allow_nan=False)
            export.add_file(f"{result.student}/{stem}/result.json", f"{text}\n")


def _write_scores(export: Export, path: Path) -> None:
    """Write ``scores.json``: the classroom's own, with an override for each result.

    Args:
        path: of that file, in the classroom's folder.

    Raises:
        GraderError: a file of the classroom cannot be read, or nothing could be filled in.
    """
    scores, _ = _read(path, _Scores)
    _, registered = _read(path.with_name("assignments.json"), _Assignments)
    modes = {assignment.slug: assignment.mode for assignment in registered.assignments}
    filled = 0
    for stem, results in export.results.items():
        slug = export.columns.get(stem) or slug_of(stem)
        if slug not in modes:
            export.note(
                f"{stem}, left out: {path.parent.name} has no assignment {slug}. Register it, or say what"
                f" it is called there, as in --column {stem}=NAME; there are {', '.join(modes) or 'none'}."
            )
            continue
        factor = _common_factor(export, stem, results)
        bucket = scores["assignments"].get(slug) or {"type": modes[slug], "entries": []}
        if count := _fill(export, path.parent, bucket, results, factor):
            scores["assignments"][slug] = bucket
        filled += count
    if not filled:
        raise GraderError(f"{path}: nothing could be filled in. {' '.join(export.notes)}")
    export.add_file("scores.json", json.dumps(scores, indent=2, allow_nan=False) + "\n")


def _read(path: Path, shape: type[_Shape]) -> tuple[dict[str, Any], _Shape]:
    """A file of a classroom: its whole content, and the part that is read.

    Raises:
        GraderError: it is missing, or not what Classroom 50 writes.
    """
    line = ""
    try:
        text = path.read_bytes()
        try:
            content = msgspec.json.decode(text)  # refuses NaN, as theirs does
        except msgspec.DecodeError as error:
            at = re.search(r"\(byte (\d+)\)", str(error))
            line = f", line {text[: int(at[1])].count(10) + 1}" if at else ""
            raise
        return content, msgspec.convert(content, shape)
    except OSError as error:
        raise GraderError(
            f"{path} cannot be read ({error.strerror}): clone the repository classroom50 of your organization"
            " and name CLASSROOM/scores.json in it"
        ) from error
    except (ValueError, RecursionError) as error:
        raise GraderError(
            f"{path}{line} is not as Classroom 50 writes it ({error}): take the version of the last commit"
        ) from error


def _fill(
    export: Export, folder: Path, bucket: dict[str, Any], results: Sequence[Result], factor: int
) -> int:
    """Add results to the entries of an assignment; return how many, and note who is left out."""
    entries: dict[str, dict[str, Any]] = {entry["owner"].casefold(): entry for entry in bucket["entries"]}
    people = _people(folder, [entry["owner"] for entry in entries.values()])
    pairs = export.pairs(results, people)
    overridden, without_group, filled = [], [], 0
    for result in results:
        if result.student not in pairs.places:
            continue
        login = people.people[pairs.places[result.student]].ids["login"]
        entry = entries.get(login.casefold())
        if entry is None:
            if bucket["type"] != "individual":
                without_group.append(result.student)
                continue
            entry = {"owner": login, "submissions": []}
            bucket["entries"].append(entry)
        before = entry["submissions"]
        if entry.get("override") is True and not (before and _is_ours(before[0])):
            overridden.append(login)
            continue
        collected = [one for one in before if not one["submission"].startswith(_MANUAL)]
        record = _record(result, folder.name, bucket["type"], entry["owner"], factor, collected)
        record |= {"late": True} if result.late else {}
        entry |= {"override": True, "submissions": [record, *collected]}
        filled += 1
    export.note(f"Not in {folder.name}, so left out", pairs.unknown)
    export.note(f"Left out, because more than one person in {folder.name} may be meant", pairs.several)
    export.note("Left out, because Classroom 50 has collected nothing from their group", without_group)
    export.note(
        "Unchanged, because they were set by hand in Classroom 50 (clear them there to use these)", overridden
    )
    return filled


def _people(folder: Path, owners: Iterable[str]) -> Directory:
    """The people of a classroom, each with a login: those of the roster, and owners of repositories."""
    path = next((folder / name for name in _ROSTERS if (folder / name).is_file()), None)
    sheet = read_sheet(path) if path else None
    listed = people_of_rows(sheet).people if sheet and sheet.rows else ()
    people = [person for person in listed if "login" in person.ids]
    known = {person.ids["login"].casefold() for person in people}
    others = [Person("", owner, {"login": owner}) for owner in owners if owner.casefold() not in known]
    return Directory([*people, *others])


def _is_ours(submission: Mapping[str, Any]) -> bool:
    return submission["submission"].startswith(_MANUAL) and bool(submission["tests"])


def _record(  # noqa: PLR0913, PLR0917 - whose result it is, and where
    result: Result,
    classroom: str,
    mode: str,
    owner: str,
    factor: int,
    collected: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """A result as a submission, dated by its submission time, but after all collected submissions."""
    submitted = _time(result.handed_in or result.provenance.graded_at)
    times = [submitted, *(_time(one["datetime"], timedelta(seconds=1)) for one in collected)]
    time = max(times).strftime("%Y-%m-%dT%H:%M:%SZ")
    name = _MANUAL + time.replace(":", "-")
    tests = _tests(result, factor)
    most = sum(test["max-score"] for test in tests)
    return {
        "schema": "classroom50/result/v1",
        "classroom": classroom,
        "assignment_type": mode,
        "owner": owner,
        "submission": name,
        "commit": name,
        "release": name,
        "review": name,
        "datetime": time,
        "score": min(most, rounded_down(factor * result.score)),
        "max-score": most,
        "tests": tests,
    }


def _time(iso: str | None, later: timedelta = timedelta()) -> datetime:
    """So much later than a time, in UTC; long ago for none, and for one that is none. Students write them."""
    try:
        time = datetime.fromisoformat(iso or "")
        return time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC) + later
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def _tests(result: Result, factor: int) -> list[dict[str, Any]]:
    """The questions, and what else moved the total: that is worth nothing, because no score is below 0."""
    tests = []
    for answer in result.questions:
        points = points_text(answer.score, answer.max_score)
        most, score = (rounded_down(factor * value) for value in (answer.max_score, answer.score))
        tests.append(
            {
                "test-name": plain_text(f"{answer.id} · {answer.title} ({points} points)"),
                "passed": answer.in_full,
                "score": most if answer.in_full else score,
                "max-score": most,
            }
        )
    moved = total([result.score, *(-answer.score for answer in result.questions)])
    if moved:
        name = f"Late, or changed by hand: {'+' if moved > 0 else ''}{format_points(moved)} points"
        tests.append({"test-name": name, "passed": moved > 0, "score": 0, "max-score": 0})
    return tests


def _common_factor(export: Export, stem: str, results: Sequence[Result]) -> int:
    """The factor for an assignment's points, with notes about it.

    Points earned have no part in it, so another notebook does not change it.
    """
    part = export.course.settings.partial_credit
    checks = (check for result in results for answer in result.questions for check in answer.checks)
    possible = {points for check in checks for points in (check.max_points, part * check.max_points)}
    factor = smallest_factor(possible)
    points = {p for result in results for a in result.questions for p in (a.score, a.max_score)}
    points |= {result.score for result in results}
    if not all(is_whole(factor * value) for value in points):
        export.note(f"{stem}: points were rounded down, because Classroom 50 takes whole numbers only.")
    if factor > 1:
        export.note(
            f"{stem}: all points are multiplied by {factor}, because Classroom 50 takes whole numbers"
            " only; the names of the tests say the points themselves."
        )
    return factor


FORMAT = Format(
    "classroom50",
    _write,
    help="`scores.json`: the classroom's file, with each result as an override\n"
    "without that file, `<student>/<assignment>/result.json`",
    advice="see [Classroom 50](classroom50.md), which needs whole numbers: `export` may multiply all points"
    " of an assignment, and says so",
    gradebook="the classroom's scores.json, in a clone of the repository classroom50",
    takes_columns=True,
)
