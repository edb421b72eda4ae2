"""The doctor's cache: it examines again only what has changed.

There is a JSON file for each assignment, in a folder that may be deleted at any time. The key of a value is a
hash of all it depends on, so no value is ever out of date.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from grader.files import write_atomic
from grader.version import code_hash

FOLDER = ".doctor"


class Memory:
    """The cached results about an assignment, in a file; without a file, for this run only."""

    def __init__(self, path: Path | None, *, forget: bool = False) -> None:
        self._path = path
        self._stored = {} if path is None or forget else _values_in(path)
        self._values = dict(self._stored)
        self._used: dict[str, Any] = {}

    def recall(self, key: str) -> Any | None:
        """The value of a fingerprint; None if there is none."""
        if key in self._values:
            self._used[key] = self._values[key]
        return self._values.get(key)

    def remember(self, key: str, value: Any) -> None:
        """Keep a JSON value by its fingerprint."""
        self._values[key] = self._used[key] = value

    def save(self, *, everything: bool) -> None:
        """Write the file, unless it holds the same.

        Args:
            everything: whether the whole assignment was examined, so that values that were not used can go.
        """
        kept = self._used if everything else self._values
        if self._path is None or kept == self._stored:
            return
        if not self._path.parent.is_dir():
            self._path.parent.mkdir(parents=True)
            (self._path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        write_atomic(self._path, json.dumps(kept, ensure_ascii=False).encode())


def fingerprint(*parts: Any) -> str:
    """SHA-256 of some JSON values, and of the program that judges by them."""
    return sha256(json.dumps([_program(), *parts], sort_keys=True).encode()).hexdigest()


def contents(paths: Iterable[Path]) -> list[str | None]:
    """SHA-256 of each file; None if there is none."""
    return [sha256(path.read_bytes()).hexdigest() if path.is_file() else None for path in paths]


@cache
def _program() -> list[str]:
    return [code_hash(), version("torch"), sys.version]


def _values_in(path: Path) -> dict[str, Any]:
    """The file's content; nothing if it is missing or spoiled."""
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}
