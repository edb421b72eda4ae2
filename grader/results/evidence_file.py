"""A file of evidence: JSON, whose first line alone says on what the rest depends."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from grader.sandbox.evidence import Evidence


@dataclass(frozen=True)
class StoredEvidence:
    """What was observed of a notebook.

    Attributes:
        fingerprint: a hash of all that decides about it.
        seed: of the inputs; None for what the course itself expects.
        reference: the fingerprint of the reference that was observed on the same inputs, or None.
    """

    fingerprint: str
    evidence: Evidence
    seed: int | None = None
    reference: str | None = None


def evidence_text(stored: StoredEvidence) -> str:
    """The text of such a file."""
    head = {"fingerprint": stored.fingerprint, "seed": stored.seed, "reference": stored.reference}
    evidence = json.dumps(stored.evidence.to_json(), separators=(",", ":"))
    return f'{json.dumps(head)[:-1]},\n"evidence":{evidence}}}\n'


def read_fingerprint(path: Path) -> str | None:
    """The fingerprint that a file tells; None where there is none."""
    try:
        with path.open(encoding="utf-8") as file:
            head = json.loads(f"{file.readline().strip().removesuffix(',')}}}")
        return str(head["fingerprint"])
    except (KeyError, OSError, TypeError, ValueError):
        return None


def read_evidence(path: Path) -> StoredEvidence | None:
    """What a file tells; None where there is none, or none that can be read."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        evidence = Evidence.from_json(stored["evidence"])
        return StoredEvidence(stored["fingerprint"], evidence, stored["seed"], stored["reference"])
    except (AttributeError, KeyError, OSError, TypeError, ValueError):
        return None
