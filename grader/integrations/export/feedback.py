"""The feedback pages of each repository that was collected as a clone, to be pushed there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from urllib.parse import quote

from grader.errors import GraderError
from grader.integrations.export import Export
from grader.results.model import Result
from grader.results.store import read_current
from grader.scores import points_text
from grader.text import markdown_text

_FORMS = ("html", "md")


def write_files(export: Export) -> None:
    """Write ``<repository>/<name>.html`` and ``.md`` of all that was collected from that repository.

    Its ``README.md``, which GitHub shows first, lists them with their points.

    Raises:
        GraderError: a page is not there, or nothing was collected from a clone.
    """
    results, _ = read_current(export.folder)
    elsewhere, pages = [], defaultdict[str, list[Result]](list)
    for result in results:
        repository = export.repository_of(result)
        if repository is None:
            elsewhere.append(result.notebook)
            continue
        if export.stem in {None, result.assignment}:
            pages[repository].append(result)
            for form in _FORMS:
                page = export.folder / "feedback" / result.student / f"{result.name}.{form}"
                try:
                    export.write(f"{repository}/{page.name}", page.read_bytes())
                except OSError as error:
                    raise GraderError(
                        f"{page} cannot be read ({error.strerror}): run the same `grade` again"
                    ) from error
    if not export.files:
        raise GraderError(
            f"{export.folder} has no page of what was collected from clones: `collect` them, and grade again"
        )
    for repository, own in pages.items():
        export.write(f"{repository}/README.md", _index(own))
    export.note("Left out, because they were not collected from a clone", elsewhere)


def _index(results: Sequence[Result]) -> str:
    """Markdown that lists the pages of a repository."""
    lines = ["# Feedback", "", "| notebook | points |", "|---|--:|"]
    for result in sorted(results, key=lambda result: result.name):
        points = "could not be graded" if result.error else points_text(result.score, result.max_score)
        lines.append(f"| [{markdown_text(result.what)}]({quote(result.name)}.md) | {points} |")
    return "\n".join([*lines, "", "The `.html` pages say the same, and are for downloading.", ""])
