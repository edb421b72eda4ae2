"""Pictures of what students' functions made, for feedback; drawn once where the facts are equal."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache

from grader.course.rubric import Rubric
from grader.graphs.diagram import diagram_of
from grader.graphs.model import Graph, read_graph
from grader.graphs.picture import Picture, draw, mermaid
from grader.sandbox.evidence import Evidence
from grader.sandbox.facts import MalformedError, decode

_MAX_FACTS = 50_000  # characters; an honest graph at its largest has two thirds of it


def pictures_of(rubric: Rubric, evidence: Evidence, reference: Evidence) -> dict[str, list[Picture]]:
    """The pictures of one submission, by the id of the question each belongs to.

    What is no graph, was not observed, has another form or cannot be drawn gives no picture, and never an
    error.
    """
    found: dict[str, list[Picture]] = {}
    for name, asked in rubric.pictures.items():
        seen = picture_of(evidence, name, asked.caption)
        if seen is None:
            continue
        expected = picture_of(reference, name, asked.caption) if asked.reference else None
        if expected is not None:
            same = expected.svg == seen.svg
            seen = replace(seen, reference=None if same else expected, is_the_references=same)
        found.setdefault(rubric.shows[name], []).append(seen)
    return found


def picture_of(evidence: Evidence, name: str, caption: str) -> Picture | None:
    """What one picture shows of a submission; None where it shows nothing that can be drawn."""
    picture = _drawn(_stored(evidence, name))
    return None if picture is None else replace(picture, caption=caption)


def text_of(evidence: Evidence, name: str) -> str:
    """The same as a text that tells it from other pictures; empty where it shows nothing."""
    graph = _graph(_stored(evidence, name))
    return "" if graph is None else mermaid(diagram_of(graph))


def _stored(evidence: Evidence, name: str) -> str:
    """The facts of a picture as JSON; nothing, where they are more than a picture can show."""
    text = json.dumps(evidence.probes.get(name, {}).get("facts"))
    return text if len(text) <= _MAX_FACTS else "null"


def _graph(facts: str) -> Graph | None:
    """The graph of a picture's facts; None where they are none."""
    try:
        return read_graph(decode(json.loads(facts)))
    except (MalformedError, KeyError, TypeError):  # evidence that somebody else wrote
        return None


@lru_cache(maxsize=512)  # a class of solved notebooks shows a handful of graphs
def _drawn(facts: str) -> Picture | None:
    """The picture of a probe's facts, as the text they are stored as; None where none can be drawn of them.

    Whatever Graphviz raises costs this picture, and not the feedback of a class.
    """
    graph = _graph(facts)
    try:
        return None if graph is None else draw(graph, "")
    except Exception:  # noqa: BLE001 - what a C library raises is for nobody to know
        return None
