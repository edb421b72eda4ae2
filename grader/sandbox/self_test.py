"""The output of ``doctor --sandbox``: the layers of the sandbox, and the outcome of every attack on it."""

from __future__ import annotations

import platform
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grader.errors import SandboxError
from grader.sandbox.zygote import Zygote

_WIDTH = 79
_INDENT = 17

_FILES = {
    "landlock+seccomp": (
        "only Python's library and the installed packages can be read, and nothing but /dev/null be written"
    ),
    "sealed seccomp": (
        "missing in this kernel or container, so the filter refuses to open or look up any file: a notebook "
        "can import what was loaded before the sandbox closed (torch, numpy, much of the standard library, "
        "and what grader/grading/executor.py lists if a notebook of the class asks for it) and nothing else"
    ),
}
_USERS = {
    "another": "each worker runs as a separate user, who owns nothing",
    "nobody": (
        "all workers run as the user nobody, because this container has few users: a notebook that starts "
        "many threads can prevent the ones graded at the same time from starting any"
    ),
    "same": (
        "workers run as you (uid {uid}), because only root can make them another user: what keeps them from "
        "your files and processes are the other layers alone, and your own tasks count towards the limit"
    ),
}
_CAPABILITIES = (
    "workers keep {kept}, because other users may not enter Python's folder: only Landlock, not permission "
    "bits, limits what a worker reads; a Python in /usr or /opt needs no capability"
)


@dataclass(frozen=True)
class SelfTestReport:
    """The zygote's first message, and the sentence with which `grade` refuses, if it does."""

    hello: Mapping[str, Any]
    refusal: str | None

    def __str__(self) -> str:
        """The whole report as plain text of at most 79 columns."""
        kernel = f"{platform.system()} {platform.release()} on {platform.machine()}"
        machine = [
            *_line("kernel", kernel),
            *_line("torch", self.hello.get("torch") or "unknown"),
            *_line("protection", "none" if self.refusal else self.hello["protection"]),
        ]
        parts = [machine, *self._layers(), *self._preflight()]
        verdict = f"grader: {self.refusal}." if self.refusal else "The sandbox holds."
        parts.append(textwrap.wrap(verdict, _WIDTH, break_on_hyphens=False))
        return "\n\n".join("\n".join(part) for part in parts)

    def _layers(self) -> Iterator[list[str]]:
        if not self.hello.get("layers"):
            return
        sandbox, name = self.hello["layers"], self.hello["protection"]
        version = f"version {sandbox['landlock']}: " if sandbox["landlock"] else ""
        capabilities = _CAPABILITIES.format(**sandbox) if sandbox["kept"] else "none is kept"
        memory = f"{sandbox['memory_bytes'] / 2**30:.1f} GiB of addresses"
        yield [
            "Layers:" if self.refusal is None else "Layers that were prepared, and are not in force:",
            *_line("Landlock", version + _FILES[name]),
            *_line(
                "seccomp",
                "only the system calls that computing needs: no process, program, socket, namespace, "
                "tracing or signal to others",
            ),
            *_line("user", _USERS[sandbox["user"]].format(**sandbox)),
            *_line("capabilities", capabilities),
            *_line(
                "limits",
                f"{memory}, {sandbox['cpu_seconds']} s of processor, {sandbox['descriptors']} descriptors, "
                f"{sandbox['tasks']} tasks, no file, no core dump",
            ),
            *_line(
                "descriptors", "nothing is inherited but the worker's own pipes; no other process may look in"
            ),
        ]

    def _preflight(self) -> Iterator[list[str]]:
        findings = self.hello.get("findings")
        if not findings or findings["trouble"]:
            return
        for title, outcomes, good, bad in (
            ("Attacks the preflight made from inside:", findings["attacks"], "stopped", "GOT THROUGH"),
            ("What has to work inside:", findings["controls"], "works", "BROKEN"),
        ):
            yield [title, *(f"  {name}: {good if holds else bad}" for name, holds in outcomes.items())]


def run_self_test() -> SelfTestReport:
    """Start a zygote, which attacks its own sandbox; BrokenRunError if it could not even be started."""
    try:
        with Zygote() as zygote:
            return SelfTestReport(zygote.sandbox.hello, None)
    except SandboxError as error:
        return SelfTestReport(error.hello or {}, str(error))


def _line(label: str, text: str) -> list[str]:
    """A label, and beside it the text in as many lines as it needs."""
    first = f"  {label:<{_INDENT - 2}}"
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=" " * _INDENT)
