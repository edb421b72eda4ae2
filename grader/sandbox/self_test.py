"""The output of ``doctor --sandbox``: the layers of the sandbox, and the outcome of every attack on it."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

from grader.errors import SandboxError
from grader.sandbox.zygote import Zygote

_FILES = {
    "landlock+seccomp": (
        "version {landlock}: a worker reads only Python's library and the installed packages, and writes "
        "only to /dev/null"
    ),
    "sealed seccomp": (
        "missing in this kernel or container, so the filter refuses to open or look up any file: a notebook "
        "can import only what was loaded before the sandbox closed (torch, numpy, much of the standard "
        "library, and what grader/grading/executor.py lists if a notebook of the class asks for it)"
    ),
}
_USERS = {
    "another": "each worker runs as a separate user, who owns nothing",
    "nobody": (
        "all workers run as the user nobody, because this container has few users: a notebook that starts "
        "many threads can prevent the ones graded at the same time from starting any"
    ),
    "same": (
        "workers run as you (uid {uid}), because only root can make them another user: only the other layers "
        "keep them from your files and processes, and your own tasks count towards the limit"
    ),
}
_CAPABILITIES = (
    "workers keep {kept}, because other users may not enter Python's folder: only Landlock, not permission "
    "bits, limits what a worker reads; a Python in /usr or /opt needs no capability"
)
_LAYERS = """
  Landlock: {files}
  seccomp: only system calls for computing: no process, program, socket, namespace, trace or signal to others
  user: {users}
  capabilities: {capabilities}
  limits: {memory:.1f} GiB of addresses, {cpu_seconds} s of processor time, {descriptors} descriptors, \
{tasks} tasks, no file, no core dump
  descriptors: a worker inherits only its own pipes, and no other process can look in
"""


def run_self_test() -> tuple[str, bool]:
    """Start a zygote, which attacks its own sandbox.

    Returns:
        The report, and whether the sandbox holds.

    Raises:
        BrokenRunError: the zygote could not even be started.
    """
    try:
        with Zygote() as zygote:
            return report(zygote.sandbox.hello), True
    except SandboxError as error:
        return report(error.hello or {}, str(error)), False


def report(hello: Mapping[str, Any], refusal: str = "") -> str:
    """The zygote's first message as text; `refusal` is the sentence with which `grade` refuses, if so."""
    text = f"kernel: {platform.system()} {platform.release()} on {platform.machine()}\n"
    text += (
        f"torch: {hello.get('torch', 'unknown')}\nprotection: {'none' if refusal else hello['protection']}\n"
    )
    if layers := hello.get("layers"):
        text += "\nLayers that were prepared, and are not in force:" if refusal else "\nLayers:"
        capabilities = _CAPABILITIES if layers["kept"] else "none is kept"
        text += _LAYERS.format(
            files=_FILES[hello["protection"]].format(**layers),
            users=_USERS[layers["user"]].format(**layers),
            capabilities=capabilities.format(**layers),
            memory=layers["memory_bytes"] / 2**30,
            **layers,
        )
    findings = hello.get("findings") or {}
    for title, kind, good, bad in (
        ("Attacks from inside the sandbox:", "attacks", "stopped", "GOT THROUGH"),
        ("What must work inside:", "controls", "works", "BROKEN"),
    ):
        if outcomes := findings.get(kind):
            lines = [f"  {name}: {good if holds else bad}" for name, holds in outcomes.items()]
            text += "\n".join(["", title, *lines, ""])
    return f"{text}\n{f'grader: {refusal}.' if refusal else 'The sandbox holds.'}"
