"""Outside: what became of one known answer, and how that is remembered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from grader.checks.check import Check
from grader.grading.judge import Verdict
from grader.grading.scoring import is_passed


@dataclass(frozen=True)
class Tried:
    """What the hidden checks of its question say of one answer.

    Attributes:
        verdicts: by the check's id, with the first seed.
        otherwise: the same by seed, of those with which other checks fail.
        pictures: for each picture, a hash of what it shows with the first seed; empty where it shows nothing.
        complaints: of the reference, what is wrong with its probes and pictures, a sentence each.
    """

    verdicts: dict[str, Verdict]
    otherwise: dict[int, dict[str, Verdict]] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        checks: Collection[Check],
        by_seed: Mapping[int, dict[str, Verdict]],
        pictures: dict[str, str],
    ) -> Tried:
        """The same, of all verdicts by seed, the one that is told first."""
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
        """Whether another look would find the same, so that it is worth remembering."""
        return not self.complaints and all(v.cause is None for _, v in self.all_verdicts())

    def is_doubtful(self, checks: Sequence[Check], fails: Collection[str]) -> bool:
        """Whether it fails other checks than it should, with any seed, or something is wrong with it."""
        return {*self.failed(checks)} != {*fails} or bool(self.otherwise) or bool(self.complaints)

    def to_json(self) -> dict[str, Any]:
        """The form that is remembered."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Tried:
        """What a remembered form says."""
        read: Callable[[Any], dict[str, Verdict]] = lambda found: {c: Verdict(**v) for c, v in found.items()}  # noqa: E731
        otherwise = {int(seed): read(found) for seed, found in stored["otherwise"].items()}
        return cls(read(stored["verdicts"]), otherwise, stored["pictures"])


def _failed(checks: Collection[Check], verdicts: Mapping[str, Verdict]) -> list[str]:
    return [check.id for check in checks if not is_passed(check, verdicts)]
