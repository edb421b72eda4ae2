"""Pictures of what students' functions made, for feedback; drawn once where the facts are equal."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache

from grader.course.rubric import Rubric
from grader.graphs.diagram import diagram_of
from grader.graphs.model import Graph, read_graph
from grader.graphs.picture import Picture, draw, mermaid
from grader.sandbox.decoding import MalformedError, decode
from grader.sandbox.evidence import Evidence

_MAX_FACTS = 50_000  # characters; an honest graph at its largest has two thirds of it


def pictures_of(rubric: Rubric, evidence: Evidence, reference: Evidence) -> dict[str, list[Picture]]:
    """The pictures of a submission, by the id of the question each belongs to.

    Facts that are no graph, are missing or cannot be drawn give no picture, and never an error.
    """
    pictures: dict[str, list[Picture]] = {}
    for name, probe in rubric.pictures.items():
        seen = picture_of(evidence, name, probe.caption)
        if seen is None:
            continue
        expected = picture_of(reference, name, probe.caption) if probe.reference else None
        if expected is not None:
            same = expected.svg == seen.svg
            seen = replace(seen, reference=None if same else expected, is_the_references=same)
        pictures.setdefault(rubric.shows[name], []).append(seen)
    return pictures


def picture_of(evidence: Evidence, name: str, caption: str) -> Picture | None:
    """The picture of a submission by its name; None where its facts cannot be drawn."""
    picture = _drawn(_stored(evidence, name))
    return None if picture is None else replace(picture, caption=caption)


def text_of(evidence: Evidence, name: str) -> str:
    """A text that is equal for equal pictures; empty where the facts are no graph."""
    graph = _graph(_stored(evidence, name))
    return "" if graph is None else mermaid(diagram_of(graph))


def _stored(evidence: Evidence, name: str) -> str:
    """The facts of a picture as JSON; ``null`` where they are more than a picture can show."""
    text = json.dumps(evidence.probes.get(name, {}).get("facts"))
    return text if len(text) <= _MAX_FACTS else "null"


def _graph(facts: str) -> Graph | None:
    """The graph that facts describe; None where they describe none."""
    try:
        return read_graph(decode(json.loads(facts)))
    except (MalformedError, KeyError, TypeError):  # the evidence was not written by the grader
        return None


@lru_cache(maxsize=512)  # a class of solved notebooks shows a handful of graphs
def _drawn(facts: str) -> Picture | None:
    """The picture of stored facts; None where they cannot be drawn.

    An error of Graphviz costs this picture, and not the feedback of a class.
    """
    graph = _graph(facts)
    try:
        return None if graph is None else draw(graph, "")
    except Exception:  # noqa: BLE001 - a C library may raise anything
        return None
