"""Which folders are students', and what in their names is the assignment's.

GitHub Classroom and its successors call a repository ``assignment-student``, and ``gh classroom clone`` puts
them into ``assignment-submissions/``. Both names may contain hyphens.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence

from grader.errors import GraderError
from grader.integrations.collect.source import MOST_NAMED, Parts, Source
from grader.text import inert, some

CONTAINER = "-submissions"

Prefixes = tuple[str, ...]
"""What names of folders begin with that is no part of a student's name, each with its hyphen."""


def student_folder_of(source: Source) -> dict[Parts, Parts]:
    """The folder that stands for a student, for each notebook that lies in a folder.

    It is the outermost one, or the second where all the outermost are containers of clones: beside ordinary
    folders a student could have made what looks like another student's clone.
    """
    notebooks = [file.parts for file in source.files if len(file.parts) > 1]
    students = {parts[0] for parts in notebooks if len(parts) == 2}
    students |= {parts[0] for parts in source.repositories if len(parts) == 1}
    inner: dict[str, set[Parts]] = defaultdict(set)
    for parts in [*notebooks, *source.repositories]:
        inner[parts[0]].add(parts[:2])
    in_containers = not students and all(
        _is_container(top, folders, source.clones) for top, folders in inner.items()
    )
    return {parts: parts[: 2 if in_containers else 1] for parts in notebooks}


def _is_container(name: str, inner: set[Parts], clones: set[Parts]) -> bool:
    """Whether a folder holds nothing but clones, as git or the names of ``gh classroom clone`` tell."""
    begin = _prefix_of_container(name)
    is_named = begin is not None and all(parts[1].startswith(begin) for parts in inner)
    return is_named or inner <= clones


def _prefix_of_container(name: str) -> str | None:
    return name.removesuffix(CONTAINER) + "-" if name.endswith(CONTAINER) else None


def prefixes_of(folders: Sequence[Parts], source: Source, given: Sequence[str] | None) -> Prefixes:
    """The prefixes of students' folders which lie beside each other; `given` is what ``--prefix`` says.

    In a folder all that lie beside each other are taken for clones, as a download has no mark of being a
    clone; in a zip, which a learning-management system may have made, only what is a clone for certain.

    Raises:
        GraderError: they are clones that share no prefix, though their names look as if they had a prefix.
    """
    if given is not None:
        return tuple(prefix.rstrip("-") + "-" for prefix in given if prefix.rstrip("-"))
    names = sorted(folder[-1] for folder in folders)
    begin = _prefix_of_container("/".join(folders[0][:-1]))
    if begin and all(name.startswith(begin) for name in names):
        return (begin,)
    are_clones = all(folder in source.repositories for folder in folders)
    if source.is_archive and not are_clones:
        return ()
    shared = common_prefix(names)
    if are_clones and not shared and all("-" in name for name in names):
        why = "these clones share no prefix" if len(names) > 1 else "a clone alone shares no prefix"
        raise GraderError(
            f"{inert(', '.join(some(names, MOST_NAMED)))}: {why}, which would tell where a student's name"
            f" begins. Say --prefix {inert(names[0].partition('-')[0])}, once for each assignment"
            ' (--prefix "" takes folders\' names whole).'
        )
    return (shared,) if shared else ()


def common_prefix(names: Sequence[str]) -> str:
    """What several names begin with, up to a hyphen."""
    if len(names) < 2:
        return ""
    shared = os.path.commonprefix(names)  # noqa: RUF071 - of names, not of paths
    return shared[: shared.rfind("-") + 1]


def without_prefix(name: str, prefixes: Prefixes) -> str:
    """The student's part of a folder's name."""
    return name.removeprefix(max(_fitting(name, prefixes), key=len, default=""))


def scope_of(name: str, prefixes: Prefixes) -> str:
    """The assignment: of two prefixes that fit, the longer may be the beginning of another student's name."""
    return min(_fitting(name, prefixes), key=len, default="")


def _fitting(name: str, prefixes: Prefixes) -> list[str]:
    return [prefix for prefix in prefixes if name.startswith(prefix) and name != prefix]
