"""Outside: the index of a results folder, from which an unchanged class is known without being read again.

It is only a memory of what other files said. Whoever deletes it, or any of these, loses nothing but time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from grader.grading.gist import Gist
from grader.results.memory import Memory, Signature
from grader.results.row import Answer, Checked, Row
from grader.version import code_hash

INDEX = ".index"
T = TypeVar("T")


@dataclass(frozen=True)
class Index:
    """What a run remembers.

    Attributes:
        key: what decides about the meaning of all this: the course's functions and the grader's own code.
        rows: of results, by student and name.
        observed: fingerprints of evidence, by student and name.
        gists: of notebooks, by their place below the folder of submissions.
    """

    key: str
    rows: Memory[Row] = field(default_factory=Memory)
    observed: Memory[str] = field(default_factory=Memory)
    gists: Memory[Gist] = field(default_factory=Memory)

    @classmethod
    def load(cls, folder: Path, functions: Mapping[str, Collection[str]]) -> Index:
        """The index of a results folder, or an empty one where there is none that can be trusted."""
        key = _sha256(json.dumps([code_hash(), {stem: list(names) for stem, names in functions.items()}]))
        try:
            digest, _, text = (folder / INDEX).read_text(encoding="ascii").partition("\n")
        except (OSError, ValueError):
            return cls(key)
        stored = json.loads(text) if digest == _sha256(text) else {}
        if stored.get("key") != key:
            return cls(key)
        checks = [Checked(*values) for values in stored["checks"]]
        answers = [
            Answer(question, title, status, score, max_score, tuple(checks[number] for number in own))
            for question, title, status, score, max_score, own in stored["answers"]
        ]
        return cls(
            key,
            _memory(stored["rows"], lambda values: _row(values, answers)),
            _memory(stored["observed"], str),
            _memory(stored["gists"], _gist),
        )

    @property
    def has_changed(self) -> bool:
        """Whether it says anything else than what was loaded."""
        return any(memory.has_changed for memory in (self.rows, self.observed, self.gists))

    def text(self) -> str:
        """The form that is stored: a hash of all the rest, then JSON in which what is equal stands once."""
        checks: dict[Checked, int] = {}
        answers: dict[Answer, int] = {}
        for _, row in self.rows.current.values():
            for answer in row.answers:
                answers.setdefault(answer, len(answers))
        for answer in answers:
            for check in answer.checks:
                checks.setdefault(check, len(checks))
        stored = {
            "key": self.key,
            "checks": [[c.id, c.title, c.outcome, c.message] for c in checks],
            "answers": [
                [a.id, a.title, a.status, a.score, a.max_score, [checks[check] for check in a.checks]]
                for a in answers
            ],
            "rows": _entries(self.rows, lambda row: _row_values(row, answers)),
            "observed": _entries(self.observed, str),
            "gists": _entries(self.gists, _gist_values),
        }
        text = json.dumps(stored)
        return f"{_sha256(text)}\n{text}"


def _memory(stored: list[Any], made: Callable[[Any], T]) -> Memory[T]:
    """A memory of entries ``[key, signature, value]``."""
    return Memory({tuple(key): (_signature(signature), made(value)) for key, signature, value in stored})


def _signature(stored: Any) -> Signature:
    return stored if isinstance(stored, str) else tuple(stored)


def _entries(memory: Memory[T], values: Callable[[T], Any]) -> list[Any]:
    return [[key, signature, values(value)] for key, (signature, value) in memory.current.items()]


def _row(values: list[Any], answers: list[Answer]) -> Row:
    name, student, assignment, notebook, status, error, score, max_score, *parts = values
    superseded, flags, stated, own, stopped, end_task = parts
    return Row(
        name,
        student,
        assignment,
        notebook,
        status,
        error,
        score,
        max_score,
        tuple(superseded),
        tuple((what, cell) for what, cell in flags),
        tuple((key, value) for key, value in stated),
        tuple(map(answers.__getitem__, own)),
        tuple((cell, why) for cell, why in stopped),
        end_task,
    )


def _row_values(row: Row, answers: Mapping[Answer, int]) -> list[Any]:
    own = [answers[answer] for answer in row.answers]
    stated = row.name, row.student, row.assignment, row.notebook, row.status, row.error
    seen = row.superseded, row.flags, row.provenance, own, row.stopped, row.end_task
    return [*stated, row.score, row.max_score, *seen]


def _gist(values: list[Any]) -> Gist:
    assignment, error, preload, traces = values
    return Gist(assignment, error, frozenset(preload), tuple((what, cell) for what, cell in traces))


def _gist_values(gist: Gist) -> list[Any]:
    return [gist.assignment, gist.error, sorted(gist.preload), gist.traces]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
