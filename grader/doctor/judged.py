"""Known answers and questions with the verdicts on them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from grader.checks.check import Check
from grader.course.assignment import Question
from grader.course.probes import PictureProbe
from grader.doctor.known_answers import Answer
from grader.doctor.outcomes import Outcome
from grader.grading.judge import Verdict
from grader.grading.scoring import is_passed

#: The first line of each failure that a student sees, by the call of the public check.
PublicFailures = dict[str, str]


@dataclass(frozen=True)
class JudgedAnswer:
    """The verdicts of a question's hidden checks on an answer.

    Attributes:
        verdicts: by the check's id, with the first seed.
        otherwise: the same for each seed with which other checks fail.
        pictures: a hash of what each picture shows with the first seed; empty if it shows nothing.
        complaints: sentences about the reference's probes and pictures.
    """

    verdicts: dict[str, Verdict]
    otherwise: dict[int, dict[str, Verdict]] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        checks: Sequence[Check],
        by_seed: Mapping[int, dict[str, Verdict]],
        pictures: dict[str, str],
    ) -> JudgedAnswer:
        """From the verdicts of all seeds, the first seed first."""
        first, *others = by_seed
        failed = _failed(checks, by_seed[first])
        otherwise = {seed: by_seed[seed] for seed in others if _failed(checks, by_seed[seed]) != failed}
        return cls(by_seed[first], otherwise, pictures)

    def failed(self, checks: Sequence[Check]) -> list[str]:
        """The ids of the checks it fails with the first seed."""
        return _failed(checks, self.verdicts)

    def all_verdicts(self) -> Iterator[tuple[str, Verdict]]:
        """Every verdict with its check's id, of all seeds that are kept."""
        for verdicts in (self.verdicts, *self.otherwise.values()):
            yield from verdicts.items()

    @property
    def is_certain(self) -> bool:
        """Whether another trial would find the same, so that it is worth remembering."""
        return not self.complaints and all(v.cause is None for _, v in self.all_verdicts())

    def is_doubtful(self, checks: Sequence[Check], fails: Collection[str]) -> bool:
        """Whether it fails other checks than it should, with any seed, or there are complaints."""
        return {*self.failed(checks)} != {*fails} or bool(self.otherwise) or bool(self.complaints)

    def to_json(self) -> dict[str, Any]:
        """The form in the doctor's memory."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> JudgedAnswer:
        """From the form in the doctor's memory."""
        return msgspec.convert(stored, cls, str_keys=True)


def _failed(checks: Sequence[Check], verdicts: Mapping[str, Verdict]) -> list[str]:
    return [check.id for check in checks if not is_passed(check, verdicts)]


@dataclass(frozen=True)
class JudgedQuestion:
    """A question, and the outcome of its known answers, its reference and its stub.

    Attributes:
        tried: the outcome of hidden checks by the answer's name; also of the reference and the stub.
        public_failures: the failures of the public check, by the answer's name.
        path: the file of answers.
        partial_credit: the largest part of its points that a wrong answer may earn.
    """

    question: Question
    checks: Sequence[Check]
    answers: Sequence[Answer]
    tried: dict[str, JudgedAnswer]
    public_failures: dict[str, PublicFailures]
    pictures: Mapping[str, PictureProbe]
    path: Path
    seeds: Sequence[int]
    partial_credit: float

    @property
    def wrong(self) -> list[Answer]:
        """Its wrong answers."""
        return [answer for answer in self.answers if answer.is_wrong]

    @property
    def is_certain(self) -> bool:
        """Whether another trial would find the same."""
        return all(tried.is_certain for tried in self.tried.values())

    def failed(self, name: str) -> list[str]:
        """The checks that an answer fails with the first seed."""
        return self.tried[name].failed(self.checks)

    def killed_by(self, answer: Answer) -> list[str]:
        """The checks that an answer fails, without those that judged nothing because it stopped before."""
        verdicts = self.tried[answer.name].verdicts
        return [c for c in self.failed(answer.name) if c not in verdicts or not verdicts[c].ending]

    def outcome(self, answer: Answer) -> Outcome:
        """What became of an answer with the first seed."""
        verdicts, failed = self.tried[answer.name].verdicts, self.failed(answer.name)
        stops = {verdicts[check].ending for check in failed if check in verdicts} - {""}
        return Outcome(tuple(failed), tuple(sorted(map(str, stops))), self.passes_public(answer))

    def placed(self, text: str, answer: Answer) -> str:
        """A text about an answer, with lines of its file for cells of its notebook."""
        return answer.in_file(text, self.path)

    def passes_public(self, answer: Answer) -> bool:
        """Whether there is a public check, and an answer passes it."""
        return not self.public_failures.get(answer.name, {"": "there is none"})
