"""Outside: when the files of a clone were last committed; their own times only say when it was cloned."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from grader.integrations.collect.listing import NOTEBOOK

_SECONDS = 30.0
_COMMIT = "\x01"  # begins the entry of a commit, which no path does

#: Nothing a clone's own configuration names may be run, and nothing is fetched.
_HARMLESS = (
    *("-c", "core.sshCommand=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "protocol.allow=never"),
)
_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


def commit_times(clone: Path) -> dict[tuple[str, ...], int]:
    """The time of the last commit of each notebook.

    Args:
        clone: the folder that holds ``.git``.

    Returns:
        Nanoseconds since 1970 by the names of folders and file below the clone; empty where git is not
        installed or has nothing to say.
    """
    git = shutil.which("git")
    if git is None:
        return {}
    place = ["-C", str(clone), f"--git-dir={clone / '.git'}"]
    asked = ["log", "-z", f"--format=tformat:{_COMMIT}%ct", "--name-only", "--no-renames", "--no-ext-diff"]
    try:
        said = subprocess.run(  # noqa: S603 - git itself; what a clone configures is switched off
            [git, *place, *_HARMLESS, *asked],
            env={"PATH": os.environ.get("PATH", ""), **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return _read(said.stdout.decode("utf-8", "surrogateescape"))


def _read(said: str) -> dict[tuple[str, ...], int]:
    """What git said, the newest commit first, so that the first time of a file is its last."""
    times: dict[tuple[str, ...], int] = {}
    time = 0
    for entry in said.split("\0"):
        if entry.startswith(_COMMIT):
            time = int(entry.removeprefix(_COMMIT)) * 10**9
        elif NOTEBOOK.fullmatch(path := entry.removeprefix("\n")):
            times.setdefault(tuple(path.split("/")), time)
    return times
