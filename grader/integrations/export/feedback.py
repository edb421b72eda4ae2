"""Returns feedback to the sources of the notebooks: clones, Canvas and Moodle."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from grader.errors import GraderError
from grader.integrations.export import Export, Format
from grader.people.record import Entry
from grader.reports.document import Block, Heading, Paragraph, Span, Table, Text
from grader.reports.markdown import markdown
from grader.results.model import Result
from grader.results.store import read_current
from grader.scores import points_text

_THEN = (1980, 1, 1, 0, 0, 0)  # the same pages give the same bytes
#: The part of a path that Canvas and Moodle read when a zip is uploaded: ids behind the student's name.
_NAMES = {
    "canvas": re.compile(r"[^/]+_\w+_\d+_[^/]+$"),
    "moodle": re.compile(r"(?:^|(?<=/))[^/]+?_\d+_assignsubmission_[a-z]+"),
}


def _write(export: Export) -> None:
    """Write the pages of each repository, and a zip for each assignment in Canvas and in Moodle.

    Raises:
        GraderError: a page is not there, or nothing was collected from any of them.
    """
    elsewhere, nameless = [], []
    repositories = defaultdict[str, list[Result]](list)
    zips = defaultdict[str, dict[str, bytes]](dict)
    for result, entry in _collected(export):
        if entry and not entry.system and "/" in entry.origin:
            repositories[entry.repository].append(result)
        elif entry is None or entry.system not in _NAMES:
            elsewhere.append(result.notebook)
        elif name := _NAMES[entry.system].search(entry.origin):
            zips[f"{result.name}-{entry.system}.zip"] |= _member(export, result, entry.system, name[0])
        else:
            nameless.append(result.notebook)
    export.note(
        "Left out, because collected.csv lacks the name under which they were downloaded: `collect` the"
        " downloaded zip again, and grade again",
        nameless,
    )
    export.note("Left out, because they were not collected from a clone, Canvas or Moodle", elsewhere)
    if not repositories and not zips:
        raise GraderError(
            f"{export.folder} has no page of what was collected from clones, Canvas or Moodle: `collect` what"
            f" students submitted there, and grade again. {' '.join(export.notes)}".rstrip()
        )
    for repository, own in repositories.items():
        for result in own:
            for form in ("html", "md"):
                export.add_file(f"{repository}/{result.name}.{form}", _page(export, result, form))
        export.add_file(f"{repository}/README.md", _index(own))
    for file, members in zips.items():
        export.add_file(file, _zipped(members))


def _collected(export: Export) -> Iterator[tuple[Result, Entry | None]]:
    """The requested results, each with the record of its notebook."""
    results, _ = read_current(export.folder)
    asked = (result for result in results if export.stem in {None, result.assignment})
    return ((result, export.collected(result)) for result in asked)


def _page(export: Export, result: Result, form: str) -> bytes:
    page = export.folder / "feedback" / result.student / f"{result.name}.{form}"
    try:
        return page.read_bytes()
    except OSError as error:
        raise GraderError(f"{page} cannot be read ({error.strerror}): run the same `grade` again") from error


def _member(export: Export, result: Result, system: str, name: str) -> Mapping[str, bytes]:
    """The feedback on a notebook as a file in a zip.

    Canvas shows whatever is uploaded by the submitted file's own name. So it gets a notebook, whose one cell
    is the feedback.
    """
    if system == "canvas":
        return {name: _notebook(_page(export, result, "md"))}
    return {f"{name}_/{result.name}.html": _page(export, result, "html")}


def _notebook(markdown_page: bytes) -> bytes:
    cell = {"cell_type": "markdown", "id": "feedback", "metadata": {}, "source": markdown_page.decode()}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return f"{json.dumps(notebook, indent=1)}\n".encode()


def _zipped(members: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            member = zipfile.ZipInfo(name, _THEN)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, members[name])
    return made.getvalue()


def _index(results: Sequence[Result]) -> str:
    """Markdown that lists the pages of a repository."""
    rows: list[list[Text]] = []
    for result in sorted(results, key=lambda result: result.name):
        points = "could not be graded" if result.error else points_text(result.score, result.max_score)
        rows.append([Span(result.what, target=f"{result.name}.md"), points])
    blocks: list[Block] = [Heading("Feedback", 1), Table(rows, ("notebook", "points"))]
    return markdown([*blocks, Paragraph("The HTML pages say the same, and are for downloading.")]) + "\n"


FORMAT = Format(
    "feedback",
    _write,
    help="`<repository>/<assignment>.html` and `.md`, for each clone\n"
    "`<assignment>-canvas.zip`, for submissions collected from Canvas\n"
    "`<assignment>-moodle.zip`, for submissions collected from Moodle",
    advice="push each folder to its repository. In Canvas choose *Upload Submissions*; students get their"
    " feedback as a notebook. In Moodle switch on *feedback files* for the assignment, and choose *Upload"
    " multiple feedback files in a zip*",
)
