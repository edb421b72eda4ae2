"""Outside: whose the folders of a Gradescope export are, as its ``submission_metadata.yml`` says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import yaml  # type: ignore[import-untyped]

from grader.errors import GraderError
from grader.integrations.collect.source import METADATA, SourceFile, UnreadableError
from grader.text import inert

FOLDER = re.compile(r"submission_\d+")
EXPORT = re.compile(r"assignment_\d+_export(?: ?\(\d+\))?")
"""What Gradescope calls the folder around them, and browsers a second download."""
_MAX_BYTES = 64 << 20
_ENOUGH_NESTING = 100


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Plain data only; what Ruby would make an object of its own stays a mapping."""


def _plainly(loader: Any, _tag: str, node: Any) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=False)
    return loader.construct_sequence(node) if isinstance(node, yaml.SequenceNode) else node.value


_Loader.add_multi_constructor("!", _plainly)


@dataclass(frozen=True)
class Submitter:
    """Who handed in.

    Attributes:
        name: their name, else what else is known of them.
        identity: what tells them from somebody of the same name.
    """

    name: str
    identity: str


@dataclass(frozen=True)
class Entry:
    """A submission: a folder may be a group's; `modified` is in nanoseconds, None where it is not said."""

    submitters: tuple[Submitter, ...]
    modified: int | None


def read_metadata(item: SourceFile) -> dict[str, Entry]:
    """Read who handed in each folder, by the folder's name.

    Raises:
        GraderError: the file is not what Gradescope writes.
    """
    try:
        content = item.read()
        _refuse_bombs(content)
        said = yaml.load(content, _Loader)  # noqa: S506 - a safe loader's heir
        entries = {str(folder): _entry(entry) for folder, entry in said.items() if isinstance(entry, dict)}
    except (UnreadableError, yaml.YAMLError, AttributeError, ValueError, TypeError, RecursionError) as error:
        reason = inert(str(error).partition("\n")[0])
        raise GraderError(
            f"{METADATA} cannot be read ({reason}): download the export again, or collect without that file,"
            " which names the students by their folders."
        ) from error
    return entries


def _refuse_bombs(content: bytes) -> None:
    """Refuse what would overflow the stack, and merge keys, by which a small file multiplies itself."""
    if len(content) > _MAX_BYTES:
        raise UnreadableError("is too large")
    depth = 0
    for event in yaml.parse(content, _Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _ENOUGH_NESTING:
            raise UnreadableError("is nested too deeply")
        if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
            raise UnreadableError("merges mappings, which Gradescope's never does")


def _entry(entry: Mapping[Any, Any]) -> Entry:
    submitters = entry.get(":submitters")
    people = submitters if isinstance(submitters, list) else []
    return Entry(tuple(_submitters(people)), _nanoseconds(entry.get(":created_at")))


def _submitters(people: list[Any]) -> Iterator[Submitter]:
    for person in people:
        if isinstance(person, dict):
            known = [str(person[key]).strip() for key in (":name", ":email", ":sid") if person.get(key)]
            if known:
                yield Submitter(known[0], known[-1])


def _nanoseconds(when: Any) -> int | None:
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when.strip())
        except ValueError:
            return None
    if not isinstance(when, datetime):
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(int(aware.timestamp()), 0) * 10**9
