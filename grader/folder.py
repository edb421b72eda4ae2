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

    def seeds(self) -> list[int]:
        """The secret seeds of the runs before that were not forgotten, the newest first."""
        run = self.run()
        earlier = run.get("earlier_seeds")
        known = [run.get("seed"), *(earlier if isinstance(earlier, list) else [])]
        return [seed for seed in known if isinstance(seed, int)]

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

    def observed(self, student: str, name: str) -> str | None:
        """The fingerprint of what was observed of a submission before, or None."""
        return self._fingerprint(self._evidence_path(student, name))

    def evidence(self, student: str, name: str) -> Evidence | None:
        """What was observed of a submission before."""
        return self._evidence(self._evidence_path(student, name))

    def write_evidence(self, student: str, name: str, fingerprint: str, evidence: Evidence) -> None:
        """Store what was observed, so that a changed assertion need not run anybody's code again."""
        self._write_evidence(self._evidence_path(student, name), fingerprint, evidence)

    def reference(self, stem: str, fingerprint: str) -> Evidence | None:
        """What was observed of a reference before; whoever reads it knows the expected values."""
        path = self._reference_path(stem, fingerprint)
        return self._evidence(path) if self._fingerprint(path) == fingerprint else None

    def write_reference(self, stem: str, fingerprint: str, evidence: Evidence) -> None:
        """Store what was observed of a reference, beside what was by other questions."""
        self._write_evidence(self._reference_path(stem, fingerprint), fingerprint, evidence)

    def _reference_path(self, stem: str, fingerprint: str) -> Path:
        return self.path / "reference" / f"{stem}-{fingerprint[:16]}.json"

    @staticmethod
    def _fingerprint(path: Path) -> str | None:
        """The first line, so that the rest need not be read."""
        try:
            with path.open(encoding="utf-8") as file:
                return file.readline().strip()
        except (OSError, ValueError):
            return None

    @staticmethod
    def _evidence(path: Path) -> Evidence | None:
        with contextlib.suppress(AttributeError, KeyError, OSError, TypeError, ValueError):
            return Evidence.from_json(json.loads(path.read_text(encoding="utf-8").partition("\n")[2]))
        return None

    def _write_evidence(self, path: Path, fingerprint: str, evidence: Evidence) -> None:
        self.write(path, f"{fingerprint}\n{json.dumps(evidence.to_json())}\n")

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
