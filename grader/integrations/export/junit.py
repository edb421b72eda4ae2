"""JUnit's XML, a file for each assignment: a suite is a student, a case is a check; properties are points."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree as ET

from grader.course.settings import Feedback
from grader.integrations.export import Export, plain_text
from grader.results.model import CheckResult, QuestionResult, Result
from grader.scores import format_points

_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_files(export: Export) -> None:
    """Write ``<stem>.xml``."""
    for stem, results in export.results.items():
        suites = ET.Element("testsuites", name=_xml(stem))
        for result in results:
            _add_suite(suites, result, export.shows)
        for name in ("tests", "failures", "errors", "skipped"):
            suites.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
        suites.set("time", "0")
        ET.indent(suites)
        text = io.BytesIO()
        ET.ElementTree(suites).write(text, encoding="utf-8", xml_declaration=True)
        export.write(f"{stem}.xml", text.getvalue() + b"\n")


def _add_suite(suites: ET.Element, result: Result, shows: Feedback) -> None:
    suite = ET.SubElement(suites, "testsuite", name=_xml(result.student))
    if result.provenance.graded_at:
        suite.set("timestamp", _xml(result.provenance.graded_at.removesuffix("Z")))
    suite.set("time", "0")
    properties = ET.SubElement(suite, "properties")
    earned = [("", result.score, result.max_score)]
    earned += [(f"{a.id}.", a.score, a.max_score) for a in result.questions]
    for prefix, score, of in earned:
        ET.SubElement(properties, "property", name=_xml(f"{prefix}score"), value=format_points(score))
        ET.SubElement(properties, "property", name=_xml(f"{prefix}max_score"), value=format_points(of))
    cases = [
        _add_case(suite, result, answer, check, shows)
        for answer in result.questions
        for check in answer.checks
    ]
    suite.set("tests", str(len(cases)))
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(sum(case.find(kind) is not None for case in cases)))
    suite.set("skipped", "0")


def _add_case(
    suite: ET.Element, result: Result, answer: QuestionResult, check: CheckResult, shows: Feedback
) -> ET.Element:
    case = ET.SubElement(
        suite, "testcase", classname=_xml(f"{result.name}.{answer.id}"), name=_xml(check.id), time="0"
    )
    properties = ET.SubElement(case, "properties")
    for name, value in (
        ("title", check.title),
        ("points", format_points(check.points)),
        ("max_points", format_points(check.max_points)),
    ):
        ET.SubElement(properties, "property", name=name, value=_xml(value))
    if check.outcome != "passed":
        broken = result.error is not None or check.outcome == "error"
        message = result.error or (check.message if shows.diagnoses or answer.status != "answered" else None)
        fault = ET.SubElement(case, "error" if broken else "failure", message=_xml(message or check.title))
        fault.text = _xml(check.hint) if check.hint and shows.hints else None
    return case


def _xml(text: str) -> str:
    """The text without characters that XML 1.0 cannot hold, not even escaped."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", plain_text(text))
