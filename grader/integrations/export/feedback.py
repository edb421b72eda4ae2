"""The feedback pages of each repository that was collected as a clone, to be pushed there."""

from __future__ import annotations

from grader.errors import GraderError
from grader.integrations.export import Export
from grader.results.gradebook import still_handed_in
from grader.results.store import read_results

_FORMS = ("html", "md")


def write_files(export: Export) -> None:
    """Write ``<repository>/<name>.html`` and ``.md`` of all that was collected from that repository.

    Raises:
        GraderError: a page is not there, or nothing was collected from a clone.
    """
    results, _ = still_handed_in(read_results(export.folder), export.folder)
    elsewhere = []
    for result in results:
        repository = export.repository_of(result)
        if repository is None:
            elsewhere.append(result.notebook)
            continue
        if export.stem in {None, result.assignment}:
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
    export.note("Left out, because they were not collected from a clone", elsewhere)
