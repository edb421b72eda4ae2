"""Outside: what students read about their results, written into the results folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.course.rubric import Rubric
from grader.course.settings import Feedback
from grader.grading.evidence_store import Observatory
from grader.grading.submission import Submission
from grader.graphs.picture import pictures_of
from grader.reports.pages import failed_cells, feedback_html, feedback_markdown
from grader.results.folder import ResultsFolder
from grader.results.result import Result
from grader.sandbox.evidence import Evidence


class StudentPages:
    """Both forms of every submission's feedback.

    Args:
        folder: where they go.
        rubrics: by assignment, whose pictures are drawn.
        observatory: knows the reference's evidence.
        shows: what students may see.
    """

    def __init__(
        self,
        folder: ResultsFolder,
        rubrics: Mapping[str, Rubric],
        observatory: Observatory,
        shows: Feedback,
    ) -> None:
        self._folder, self._rubrics, self._observatory, self._shows = folder, rubrics, observatory, shows

    def write(
        self, submission: Submission, result: Result, evidence: Evidence | None = None, seed: int = 0
    ) -> None:
        """Write a submission's pages; with evidence, `seed` says by which reference it was judged."""
        cells, pictures = failed_cells(evidence), {}
        if evidence is not None and evidence.fault is None and self._shows.xrays:
            stem = submission.assignment or ""
            pictures = pictures_of(self._rubrics[stem], evidence, self._observatory.reference(stem, seed))
        place = self._folder.path / "feedback" / submission.student / submission.name
        for suffix, written in ((".md", feedback_markdown), (".html", feedback_html)):
            page = written(result, cells, pictures, shows=self._shows)
            self._folder.write(place.with_name(f"{submission.name}{suffix}"), page)

    def write_anew(self, submissions: Sequence[Submission]) -> None:
        """Write the pages of results that stay as they are, because other things are shown now."""
        for submission in submissions:
            result = self._folder.result(submission.student, submission.name)
            if submission.error is not None and result is not None:
                self.write(submission, result)
        observed = [submission for submission in submissions if submission.error is None]
        for submission, seed, evidence in self._observatory.observe(observed):  # from the folder
            result = self._folder.result(submission.student, submission.name)
            if result is not None:
                self.write(submission, result, evidence, seed)
