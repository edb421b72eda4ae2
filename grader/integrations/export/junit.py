"""JUnit's XML, a file for each assignment: a suite is a student, a case is a check; properties are points."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from xml.etree import ElementTree as ET

from grader.course.settings import Feedback
from grader.integrations.export import Export, Format, plain_text
from grader.reports.feedback import about_check
from grader.reports.plain import plain
from grader.results.model import CheckResult, QuestionResult, Result
from grader.scores import format_points

_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _write(export: Export) -> None:
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
        export.add_file(f"{stem}.xml", text.getvalue() + b"\n")


def _add_suite(suites: ET.Element, result: Result, shows: Feedback) -> None:
    suite = ET.SubElement(suites, "testsuite", name=_xml(result.student), time="0")
    if result.provenance.graded_at:
        suite.set("timestamp", _xml(result.provenance.graded_at.removesuffix("Z")))
    points = {"score": result.score, "max_score": result.max_score}
    for answer in result.questions:
        points |= {f"{answer.id}.score": answer.score, f"{answer.id}.max_score": answer.max_score}
    _add_properties(suite, {name: format_points(value) for name, value in points.items()})
    asked = [(answer, check) for answer in result.questions for check in answer.checks]
    for answer, check in asked:
        _add_case(suite, result, answer, check, shows)
    suite.set("tests", str(len(asked)))
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("skipped", "0")


def _add_case(
    suite: ET.Element, result: Result, answer: QuestionResult, check: CheckResult, shows: Feedback
) -> None:
    name = _xml(f"{result.name}.{answer.id}")
    case = ET.SubElement(suite, "testcase", classname=name, name=_xml(check.id), time="0")
    points, most = format_points(check.points), format_points(check.max_points)
    _add_properties(case, {"title": check.title, "points": points, "max_points": most})
    if check.outcome != "passed":
        broken = result.error is not None or check.outcome == "error"
        message = result.error or (check.message if shows.diagnoses or answer.status != "answered" else None)
        fault = ET.SubElement(case, "error" if broken else "failure", message=_xml(message or check.title))
        fault.text = _xml(plain(about_check(check, shows))) or None


def _add_properties(element: ET.Element, values: Mapping[str, str]) -> None:
    properties = ET.SubElement(element, "properties")
    for name, value in values.items():
        ET.SubElement(properties, "property", name=_xml(name), value=_xml(value))


def _xml(text: str) -> str:
    """The text without characters that XML 1.0 cannot hold, not even escaped."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", plain_text(text))


FORMAT = Format(
    "junit",
    _write,
    advice="for tools that read test reports",
    help="`<assignment>.xml`: a test suite per student, a test case per check",
)
