"""Outside: JUnit's XML, which continuous integration and many dashboards read: a file for each assignment.

A suite is a student, a case is a check. What a question earned stands in the suite's properties.
"""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree as ET

from grader.course.settings import Feedback
from grader.integrations.export import Export
from grader.results.stored import Stored, StoredAnswer, StoredCheck
from grader.scores import format_points
from grader.text import encodable, straight

_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def export(export: Export) -> None:
    """Write ``<stem>.xml``."""
    for stem, results in export.results.items():
        suites = ET.Element("testsuites", name=_xml(stem))
        for one in results:
            _add_suite(suites, one, export.shows)
        _count(suites, list(suites))
        ET.indent(suites)
        text = io.BytesIO()
        ET.ElementTree(suites).write(text, encoding="utf-8", xml_declaration=True)
        export.write(f"{stem}.xml", text.getvalue() + b"\n")


def _add_suite(suites: ET.Element, one: Stored, shows: Feedback) -> None:
    suite = ET.SubElement(suites, "testsuite", name=_xml(one.student))
    if one.graded_at:
        suite.set("timestamp", _xml(one.graded_at.removesuffix("Z")))
    suite.set("time", "0")
    properties = ET.SubElement(suite, "properties")
    earned = [("", one.score, one.max_score), *((f"{a.id}.", a.score, a.max_score) for a in one.answers)]
    for prefix, score, of in earned:
        ET.SubElement(properties, "property", name=_xml(f"{prefix}score"), value=format_points(score))
        ET.SubElement(properties, "property", name=_xml(f"{prefix}max_score"), value=format_points(of))
    cases = [_add_case(suite, one, answer, check, shows) for answer in one.answers for check in answer.checks]
    suite.set("tests", str(len(cases)))
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(sum(case.find(kind) is not None for case in cases)))
    suite.set("skipped", "0")


def _add_case(
    suite: ET.Element, one: Stored, answer: StoredAnswer, check: StoredCheck, shows: Feedback
) -> ET.Element:
    case = ET.SubElement(
        suite, "testcase", classname=_xml(f"{one.name}.{answer.id}"), name=_xml(check.id), time="0"
    )
    properties = ET.SubElement(case, "properties")
    for name, value in (
        ("title", check.title),
        ("points", format_points(check.points)),
        ("max_points", format_points(check.max_points)),
    ):
        ET.SubElement(properties, "property", name=name, value=_xml(value))
    if check.outcome != "passed":
        broken = one.error is not None or check.outcome == "error"
        message = one.error or (check.message if shows.diagnoses or answer.status != "answered" else None)
        told = ET.SubElement(case, "error" if broken else "failure", message=_xml(message or check.title))
        told.text = _xml(check.hint) if check.hint and shows.hints else None
    return case


def _count(suites: ET.Element, each: list[ET.Element]) -> None:
    """The sums of the suites' counts, as attributes of their root."""
    for name in ("tests", "failures", "errors", "skipped"):
        suites.set(name, str(sum(int(suite.get(name, "0")) for suite in each)))
    suites.set("time", "0")


def _xml(text: str) -> str:
    """The text without what XML 1.0 cannot hold, not even escaped."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", straight(encodable(text)))
