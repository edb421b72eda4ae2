"""The words that a declaration may use, and the error for other words, which names the nearest one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase

from grader.errors import CourseError

#: Further observations that a contract may record (`Call.record`).
RECORDED = (
    *("calls", "recorded", "given", "entered", "graphs", "graphs+1", "graphs left", "warnings", "steps"),
    "random numbers",
    *("left", "peak", "peak+1", "half"),
)
#: The argument that a pattern such as ``model.fc*:grad`` begins with.
_ARGUMENT = re.compile(r"(?:\[[^\]]*\]|[^.:\[*])*")


def require_known(place: str, words: Iterable[object], known: Collection[object]) -> None:
    """Fail unless each word is a known one, or a pattern that fits one.

    Raises:
        CourseError: with the place of the first that is not, and the nearest known word.
    """
    names = [str(one) for one in known]
    for word in map(str, words):
        if word not in names and not any(fnmatchcase(name, word) for name in names):
            nearest = get_close_matches(word, names, n=1, cutoff=0.5)
            offer = f"did you mean {nearest[0]!r}?" if nearest else f"known: {', '.join(names)}"
            raise CourseError(f"{place}: {word!r} is not known; {offer}")


def require_known_paths(
    place: str, patterns: Iterable[str], arguments: Collection[str], parts: Collection[str]
) -> None:
    """Fail unless each pattern of ``path:part`` begins with an argument, and its part is a known one.

    Raises:
        CourseError: as `require_known` does.
    """
    for pattern in patterns:
        begin = _ARGUMENT.match(pattern)
        argument = begin[0] if begin else ""
        is_whole = argument == pattern.partition(":")[0]
        known = [*arguments, "result", "torch", "memory around"]
        if not argument.startswith("entry "):
            require_known(place, [argument if is_whole else f"{argument}*"], known)
        if ":" in pattern:
            require_known(place, [pattern.rpartition(":")[2]], [*parts, "inference"])
