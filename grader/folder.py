"""Outside: the folder of a run's results; every file in it is complete or not there."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

from grader.errors import BrokenRunError, GraderError
from grader.evidence import Evidence
from grader.result import Result

RUN_SCHEMA = "autograd-grader/run/v1"


class ResultsFolder:
    """``--out``: what was graded before, and where new results go.

    Args:
        path: the folder; it is made where it is missing.

    Raises:
        GraderError: it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            trial = path / f".trial-{secrets.token_hex(4)}"
            trial.write_bytes(b"")
            trial.unlink()
        except OSError as error:
            raise GraderError(
                f"results cannot be written to {path} ({error.strerror}): choose another --out"
            ) from error

    def seed(self, *, forget: bool) -> int:
        """The secret seed of the run before, so that resuming asks the same; a new one for a new folder."""
        seed = None if forget else self.run().get("seed")
        return seed if isinstance(seed, int) else secrets.randbits(63)

    def run(self) -> dict[str, Any]:
        """What is known of the run before; empty where there was none."""
        run = self._read(self.path / "run.json")
        return run if isinstance(run, dict) else {}

    def write_run(self, run: dict[str, Any]) -> None:
        """Keep what the next run needs to go on from here."""
        self.write(self.path / "run.json", json.dumps({"schema": RUN_SCHEMA, **run}, indent=1) + "\n")

    def result(self, student: str, name: str) -> Result | None:
        """The stored result of a submission, or None."""
        stored: Result | None = self._read(self._result_path(student, name))
        return stored

    def write_result(self, result: Result, name: str) -> None:
        """Store a result."""
        text = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        self.write(self._result_path(result["student"], name), text)

    def evidence(self, student: str, name: str, fingerprint: str) -> Evidence | None:
        """What was observed of a submission before, if by the same questions asked of the same notebook."""
        return self._evidence(self._evidence_path(student, name), fingerprint)

    def write_evidence(self, student: str, name: str, fingerprint: str, evidence: Evidence) -> None:
        """Store what was observed, so that a changed assertion need not run anybody's code again."""
        self._write_evidence(self._evidence_path(student, name), fingerprint, evidence)

    def reference(self, stem: str, fingerprint: str) -> Evidence | None:
        """What was observed of a reference before; whoever reads it knows the expected values."""
        return self._evidence(self.path / "reference" / f"{stem}.json", fingerprint)

    def write_reference(self, stem: str, fingerprint: str, evidence: Evidence) -> None:
        """Store what was observed of a reference."""
        self._write_evidence(self.path / "reference" / f"{stem}.json", fingerprint, evidence)

    def _evidence(self, path: Path, fingerprint: str) -> Evidence | None:
        stored = self._read(path)
        if not isinstance(stored, dict) or stored.get("fingerprint") != fingerprint:
            return None
        with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
            return Evidence.from_json(stored["evidence"])
        return None

    def _write_evidence(self, path: Path, fingerprint: str, evidence: Evidence) -> None:
        self.write(path, json.dumps({"fingerprint": fingerprint, "evidence": evidence.to_json()}))

    def write(self, path: Path, text: str) -> None:
        """Write a file under a temporary name and rename it.

        Raises:
            BrokenRunError: the disk is full or the folder has gone.
        """
        unfinished = path.with_name(f".{path.name[:100]}.{os.getpid()}.unfinished")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_text(text, encoding="utf-8", errors="replace")
            unfinished.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise BrokenRunError(
                f"{path} cannot be written ({error.strerror}): make room and run the same again"
            ) from error

    def _result_path(self, student: str, name: str) -> Path:
        return self.path / "submissions" / student / f"{name}.json"

    def _evidence_path(self, student: str, name: str) -> Path:
        return self.path / "evidence" / student / f"{name}.json"

    @staticmethod
    def _read(path: Path) -> Any:
        """JSON of a file of ours, or None where there is none that can be read."""
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
