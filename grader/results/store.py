"""The folder of a run's results; every file in it is either complete or missing.

A run takes a file that it cannot read for one that is missing, and makes it again. What goes to other systems
is read strictly by `read_results`: a file that is no result is refused, and not left out.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Self

import msgspec

from grader.errors import BrokenRunError, GraderError
from grader.files import lock_file, write_atomic
from grader.results.model import SCHEMA, Result
from grader.sandbox.decoding import MalformedError
from grader.sandbox.evidence import Evidence
from grader.text import file_name, some

_MOST_NAMED = 12
RUN_SCHEMA = "autograd-grader/run/v2"
_UNFINISHED = ".unfinished"
_FEEDBACK_FORMS = ("md", "html")

#: A student, and the name of a result or an assignment.
Key = tuple[str, str]


@dataclass(frozen=True)
class Head:
    """The first line of stored evidence, which is read without the rest.

    Attributes:
        fingerprint: a hash of all that decides about the evidence.
        seed: of the inputs.
        protection: the sandbox in which it was observed, see `Provenance`.
        torch: the version of torch there.
    """

    fingerprint: str
    seed: int
    protection: str
    torch: str


@dataclass(frozen=True)
class Run:
    """The last run according to ``run.json``; missing entries have their defaults.

    Attributes:
        seed: of the inputs of a run that has to be completed.
        forced: whether such a run was asked to grade existing results again.
        finished: whether it came to its end; False for a run that was stopped.
        current: student and name of each result in the gradebook of the last run that ended.
        excused: student and assignment of each who is excused and has no result.
        gradebook_sha256: the hashes of gradebooks that runs wrote.
        submissions: the folder that was graded.
        submissions_from_here: its path from the results folder.
        protection: the sandbox of the results in the gradebook.
    """

    seed: int | None = None
    forced: bool = False
    finished: bool | None = None
    current: tuple[Key, ...] | None = None
    excused: tuple[Key, ...] = ()
    gradebook_sha256: tuple[str, ...] = ()
    submissions: str | None = None
    submissions_from_here: str | None = None
    grader: str | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    protection: str | None = None


class ResultsStore:
    """``--out``: earlier and new results; inside a ``with`` no other run may write.

    Args:
        path: the folder; it is made where it is missing.

    Raises:
        GraderError: it cannot be written, or another run is writing there.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._numbers = path, count()
        self._lock: int | None = None

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = lock_file(self.path / ".lock")
            if self._lock is not None:  # no other run is here: these are of a run that was killed
                shutil.rmtree(self.path / _UNFINISHED, ignore_errors=True)
            (self.path / _UNFINISHED).mkdir(exist_ok=True)
            trial = self.path / _UNFINISHED / f"{os.getpid()}-trial"
            trial.write_bytes(b"")
            trial.unlink()
        except BlockingIOError as error:
            raise GraderError(
                f"another run is grading into {self.path}: wait until it has ended, or choose another --out"
            ) from error
        except OSError as error:
            self.__exit__()
            raise GraderError(
                f"results cannot be written to {self.path} ({error.strerror}): choose another --out"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            shutil.rmtree(self.path / _UNFINISHED, ignore_errors=True)
            os.close(self._lock)
            self._lock = None

    def write(self, path: str | Path, content: str | bytes) -> None:
        """Write a file under a temporary name and rename it.

        Raises:
            BrokenRunError: the disk is full or the folder has gone.
        """
        unfinished = self.path / _UNFINISHED / f"{os.getpid()}-{next(self._numbers)}"
        try:
            encoded = content.encode(errors="replace") if isinstance(content, str) else content
            write_atomic(Path(path), encoded, unfinished=unfinished)
        except OSError as error:
            raise BrokenRunError(
                f"{path} cannot be written ({error.strerror}): make room and run the same again"
            ) from error

    def write_run(self, run: Run) -> None:
        """Store the data that the next run needs to continue from here."""
        self.write(self.path / "run.json", json.dumps({"schema": RUN_SCHEMA, **asdict(run)}, indent=1) + "\n")

    def result(self, student: str, name: str) -> Result | None:
        """A submission's stored result; None if there is none, or none that can be read."""
        try:
            return _read_result(self._place("submissions", student, name))
        except (OSError, ValueError, RecursionError):
            return None

    def results(self) -> dict[tuple[str, str], Result]:
        """All stored results that can be read, by student and name."""
        paths = sorted((self.path / "submissions").glob("*/*.json"))
        keys = ((path.parent.name, path.stem) for path in paths)
        return {key: result for key in keys if (result := self.result(*key)) is not None}

    def students(self) -> set[str]:
        """The students with results here."""
        return {path.name for path in (self.path / "submissions").glob("*") if path.is_dir()}

    def find(self, student: str, name: str) -> Result:
        """The result of a student for an assignment or, where that is unknown, of a notebook by its name.

        Raises:
            GraderError: there is no such result, with the nearest that there is, or it is spoiled.
        """
        students = self.students()
        if not students:
            raise GraderError(f"{self.path} holds no results: grade first, or name their folder by --results")
        if student not in students:
            raise GraderError(f"{self.path} has no result of {student}: nothing of theirs was graded")
        names = {path.stem for path in (self.path / "submissions" / student).glob("*.json")}
        if name not in names:
            there = ", ".join(some(sorted(names), _MOST_NAMED)) or "nothing"
            raise GraderError(f"{self.path} has no result of {student} for {name}; there is {there}")
        result = self.result(student, name)
        if result is None:
            place = self._place("submissions", student, name)
            raise GraderError(f"{place} is spoiled: run the same `grade` again")
        return result

    def write_result(self, result: Result) -> None:
        """Store a result."""
        text = json.dumps(result.to_json(), ensure_ascii=False, allow_nan=False) + "\n"
        self.write(self._place("submissions", result.student, result.name), text)

    def has_feedback(self, student: str, name: str) -> bool:
        """Whether both forms of a submission's feedback are there."""
        return all(self._place("feedback", student, name, form).exists() for form in _FEEDBACK_FORMS)

    def remove_feedback(self, student: str, name: str) -> None:
        """Remove both forms of a submission's feedback, and their folder where nothing else is in it.

        Raises:
            BrokenRunError: a page cannot be removed.
        """
        for form in _FEEDBACK_FORMS:
            _remove(self._place("feedback", student, name, form))
        with suppress(OSError):  # it holds other files, or is not there
            (self.path / "feedback" / student).rmdir()

    def head(self, student: str, name: str) -> Head | None:
        """The head of a submission's stored evidence; None if there is none that can be read."""
        return _read_head(self._place("evidence", student, name))

    def evidence(self, student: str, name: str) -> tuple[Head, Evidence] | None:
        """The stored evidence of a submission; None if there is none that can be read."""
        return _read_evidence(self._place("evidence", student, name))

    def write_evidence(self, student: str, name: str, head: Head, evidence: Evidence) -> None:
        """Store evidence, so that a changed assertion need not run student code again."""
        self.write(self._place("evidence", student, name), _evidence_text(head, evidence))

    def expected(self, kind: str, stem: str, seed: int) -> tuple[Head, Evidence] | None:
        """The stored evidence of the course's own notebooks, which contains the expected values.

        Args:
            kind: ``reference`` or ``stubs`` (the notebook with its starter code).
            seed: of the inputs.
        """
        return _read_evidence(self._expected_path(kind, stem, seed))

    def write_expected(self, kind: str, stem: str, head: Head, evidence: Evidence) -> None:
        """Store evidence of such a notebook, beside that with other inputs."""
        self.write(self._expected_path(kind, stem, head.seed), _evidence_text(head, evidence))

    def prune_expected(self) -> None:
        """Remove evidence of the course's notebooks whose inputs no stored submission has.

        Raises:
            BrokenRunError: a file cannot be removed.
        """
        paths = (self.path / "evidence").glob("*/*.json")
        heads = ((path.stem, head) for path in paths if (head := _read_head(path)) is not None)
        needed = {_expected_name(stem, head.seed) for stem, head in heads}
        for path in (self.path / "reference").rglob("*.json"):
            if path.name not in needed:
                _remove(path)

    def _expected_path(self, kind: str, stem: str, seed: int) -> Path:
        folder = self.path / "reference"
        return (folder if kind == "reference" else folder / kind) / _expected_name(stem, seed)

    def _place(self, folder: str, student: str, name: str, form: str = "json") -> Path:
        return self.path / folder / student / f"{name}.{form}"


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise BrokenRunError(
            f"{path} cannot be removed ({error.strerror}): remove it and run the same again"
        ) from error


def _expected_name(stem: str, seed: int) -> str:
    return f"{stem}-{seed}.json"


_EVIDENCE = '\n"evidence":'


def _evidence_text(head: Head, evidence: Evidence) -> str:
    """JSON whose first line alone says on what the rest depends, so that it can be read without the rest."""
    return f"{json.dumps(asdict(head))[:-1]},{_EVIDENCE}{evidence.to_json()}}}\n"


def _read_head(path: Path) -> Head | None:
    """The head of the evidence in a file; None if there is none that can be read."""
    try:
        with path.open(encoding="utf-8") as file:
            return _head_of(file.readline().rstrip().removesuffix(","))
    except (OSError, ValueError):
        return None


def _head_of(line: str) -> Head:
    return msgspec.json.decode(f"{line}}}", type=Head)


def _read_evidence(path: Path) -> tuple[Head, Evidence] | None:
    """The evidence in a file, with its head; None if there is none, or none that can be read."""
    try:
        head, _, rest = path.read_text(encoding="utf-8").partition(f",{_EVIDENCE}")
        return _head_of(head), Evidence.from_json(rest.removesuffix("}\n"))
    except (MalformedError, OSError, ValueError):
        return None


def read_run(folder: Path, *, makes_again: bool = False) -> Run:
    """The last run of a results folder; the defaults if it has no such file.

    Where results were moved together with what was graded, as a branch of a repository is, `submissions` is
    where that lies now.

    Args:
        makes_again: whether the file is written again, so that a spoiled one is taken for a missing one.

    Raises:
        GraderError: another version of the grader wrote it, or it is spoiled.
    """
    path = folder / "run.json"
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        _require_version(path, stored, RUN_SCHEMA)
        run = msgspec.convert(stored, Run)
    except FileNotFoundError:
        return Run()
    except (OSError, ValueError, RecursionError) as error:
        if makes_again:
            return Run()
        raise GraderError(f"{path} cannot be read ({error}): run the same `grade` again") from error
    if run.submissions is None or run.submissions_from_here is None or Path(run.submissions).is_dir():
        return run
    now = (folder.resolve() / run.submissions_from_here).resolve()
    return replace(run, submissions=str(now)) if now.is_dir() else run


def _require_version(path: Path, stored: object, schema: str) -> None:
    """Refuse what another version of the grader wrote; what no grader wrote is not its concern.

    Raises:
        GraderError: the text says what to do.
    """
    found = stored.get("schema") if isinstance(stored, dict) else None
    if isinstance(found, str) and found != schema and found.startswith(schema.rpartition("/")[0]):
        raise GraderError(
            f"{path} was written by another version of the grader ({found}, this one writes {schema}): go on"
            " with that version, or grade again into another folder"
        )


def read_current(results: Path) -> tuple[list[Result], list[str]]:
    """The stored results whose notebooks are still there, and where the notebooks of the others were.

    A result outlives its notebook, in case that comes back; exports and the gradebook are without it. Where
    ``run.json`` does not say which notebooks there are, as after a stopped run, all of them are taken.

    Raises:
        GraderError: as `read_results`.
    """
    stored, run = read_results(results), read_run(results)
    if not run.finished or run.current is None:
        return stored, []
    keys = {*run.current}
    gone = [result.notebook for result in stored if (result.student, result.name) not in keys]
    return [result for result in stored if (result.student, result.name) in keys], gone


def read_results(results: Path) -> list[Result]:
    """All stored results below ``--out`` of ``grade``, sorted by student and name.

    Raises:
        GraderError: there are none, or a file of them is not a result.
    """
    folder = results / "submissions"
    try:
        paths = sorted(
            path
            for student in folder.iterdir()
            if student.is_dir() and not student.is_symlink()
            for path in student.iterdir()
            if path.suffix == ".json" and path.is_file() and not path.is_symlink()
        )
    except OSError as error:
        raise GraderError(
            f"{folder} cannot be read ({error.strerror}): grade a class first, or name the folder of its"
            " results by --results"
        ) from error
    if not paths:
        raise GraderError(f"{folder} holds no results: grade a class first, or name another by --results")
    found = []
    for path in paths:
        try:
            found.append(_read_result(path))
        except OSError as error:
            raise GraderError(f"{path} cannot be read ({error.strerror}): make it readable") from error
        except (ValueError, RecursionError) as error:
            raise GraderError(
                f"{path} is not a result of this grader ({str(error)[:100]}): delete it and run grade again"
            ) from error
    return found


def _read_result(path: Path) -> Result:
    """The result in a file; OSError, RecursionError and ValueError if there is none.

    Raises:
        GraderError: another version of the grader wrote it.
    """
    decoded = msgspec.json.decode(path.read_bytes())
    _require_version(path, decoded, SCHEMA)
    stored = result_from_json(decoded, path.stem)
    if stored.student != path.parent.name:
        raise ValueError(f"it is a result of {stored.student!r}")
    return stored


def result_from_json(stored: Any, name: str) -> Result:
    """Read a stored result from its JSON, decoded.

    Args:
        name: of its file, without the suffix.

    Raises:
        ValueError: it has not the form of a result; the text says where.
    """
    if not isinstance(stored, dict) or stored.get("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    result = msgspec.convert({**stored, "name": name}, Result)
    if file_name(result.student) != result.student:
        raise ValueError("the student's name is not a valid folder name")
    if result.assignment not in {None, name}:
        raise ValueError(f"it is a result of {result.assignment!r}")
    if min(_points(result)) < 0:
        raise ValueError("points are negative")
    return result


def _points(result: Result) -> Iterator[float]:
    yield from (result.score, result.max_score)
    for question in result.all_questions:
        yield from (question.score, question.max_score)
        for check in question.checks:
            yield from (check.points, check.max_points)
