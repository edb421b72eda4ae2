"""The vocabulary of probes, as placeholders; the real things exist only in the worker.

A check file imports these names so that editors, linters and readers know them. A probe's source is sent to
the worker, which has the real ``torch`` (``grader/sandbox/worker/probe_api.py``). Used outside, a placeholder
raises an error.
"""

from typing import Any, TypeVar

from grader.course.probe_source import PLACEHOLDERS, ProbeSource

Definition = TypeVar("Definition")

torch: Any = PLACEHOLDERS["torch"]
nn: Any = PLACEHOLDERS["nn"]
F: Any = PLACEHOLDERS["F"]
math: Any = PLACEHOLDERS["math"]
snap: Any = PLACEHOLDERS["snap"]
state: Any = PLACEHOLDERS["state"]
attempt: Any = PLACEHOLDERS["attempt"]
warned: Any = PLACEHOLDERS["warned"]
spy: Any = PLACEHOLDERS["spy"]
mark: Any = PLACEHOLDERS["mark"]
alive: Any = PLACEHOLDERS["alive"]
nodes: Any = PLACEHOLDERS["nodes"]
reaches: Any = PLACEHOLDERS["reaches"]
freed: Any = PLACEHOLDERS["freed"]
graph: Any = PLACEHOLDERS["graph"]
graph_at: Any = PLACEHOLDERS["graph_at"]
saved: Any = PLACEHOLDERS["saved"]
untouched: Any = PLACEHOLDERS["untouched"]
updates: Any = PLACEHOLDERS["updates"]
gradients: Any = PLACEHOLDERS["gradients"]
vjp: Any = PLACEHOLDERS["vjp"]
reseed: Any = PLACEHOLDERS["reseed"]


def inside(definition: Definition) -> Definition:
    """Mark a helper function or class that is sent with the probes which use it.

    Args:
        definition: a function or class of a check file or of ``tests/hidden/inside.py``.

    Raises:
        CourseError: it uses a name that cannot be sent.
    """
    ProbeSource.of(definition)
    return definition
