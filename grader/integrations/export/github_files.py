"""Outside: results as files for GitHub, for each student and assignment a folder."""

from __future__ import annotations

from grader.course.settings import Feedback
from grader.integrations.export.exported import Export
from grader.integrations.export.exports_github import action_output, notices, step_summary
from grader.integrations.export.scored import Scored
from grader.integrations.export.wording import told
from grader.reports.templates import markdown_text
from grader.results.stored import Stored


def export(export: Export) -> None:
    """Write ``<student>/<stem>/``: the outputs, one a line as for ``$GITHUB_OUTPUT``, notices and summary."""
    for stem, results in export.results.items():
        for one in results:
            scored = scored_of(one, export.shows)
            folder = f"{one.student}/{stem}"
            outputs = (f"{answer.id}_{stem}={action_output(answer)}\n" for answer in scored)
            export.write(f"{folder}/outputs.txt", "".join(outputs))
            export.write(f"{folder}/notices.txt", "\n".join([*notices(scored), ""]))
            summary = step_summary(scored, export.titles.get(stem, stem))
            told_first = (
                f"**This notebook could not be graded.** {markdown_text(one.error)}\n\n" if one.error else ""
            )
            export.write(f"{folder}/summary.md", told_first + summary)


def scored_of(one: Stored, shows: Feedback) -> list[Scored]:
    """The questions of a result."""
    return [
        Scored(
            answer.id,
            answer.title,
            answer.score,
            answer.max_score,
            "error" if one.error else "pass" if answer.in_full else "fail",
            told(answer, shows),
        )
        for answer in one.answers
    ]
