"""What torch says when it refuses; only the part of its sentences that has been stable for years."""

from collections.abc import Callable

SECOND_BACKWARD = "Trying to backward through the graph a second time"
OVERWRITTEN = "modified by an inplace operation"
LEAF_WRITTEN = "leaf Variable that requires grad"


def error_of(call: Callable[[], object]) -> str:
    """The type and the text of the exception that a call raises; empty where it raises none."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it is, a claim compares what it says
        return f"{type(error).__name__}: {error}"
    return ""
