"""Outside: what the doctor found out about one assignment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from grader.doctor.kill_matrix import Diagnosis


@dataclass
class Examination:
    """What was examined of one assignment, and what was found.

    Attributes:
        stem: the assignment's.
        complaints: one sentence for each contradiction.
        kills: for each check, how many wrong answers it fails, without those that stopped before.
        diagnoses: of each wrong answer, what became of it.
        answers: how many accepted and wrong answers there are.
        public: (question, name) of each wrong answer that its public check passes.
        accepted: names of the wrong answers whose lists were written, because another was observed.
        blanks: where its author has still to write; what has a blank was left out.
    """

    stem: str
    complaints: list[str] = field(default_factory=list)
    kills: dict[str, int] = field(default_factory=dict)
    diagnoses: list[Diagnosis] = field(default_factory=list)
    answers: tuple[int, int] = (0, 0)
    public: list[tuple[str, str]] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    blanks: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The form that is remembered."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Examination:
        """What a remembered form says."""
        return cls(
            stem=stored["stem"],
            complaints=stored["complaints"],
            kills=stored["kills"],
            diagnoses=[Diagnosis(*one) for one in stored["diagnoses"]],
            answers=tuple(stored["answers"]),
            public=[(question, name) for question, name in stored["public"]],
            blanks=stored["blanks"],
        )
