"""Outside: results in the forms of other systems, one module for each form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.course.settings import Feedback
from grader.errors import GraderError
from grader.files import write_atomic
from grader.results.stored import Stored, StoredAnswer
from grader.text import some

MOST = 20
"""So many names a note holds; whoever wants all of them looks into the results."""


@dataclass(frozen=True)
class Export:
    """One export, of results, to a folder.

    Attributes:
        results: those that belong to an assignment, by stem; a student has one for each.
        out: the folder.
        titles: of assignments, by stem, as far as they are known.
        partial_credit: what a question may earn of which a check fails, as a part of its points.
        shows: what students may see.
        files: what has been written.
        notes: sentences for whoever asked.
    """

    results: Mapping[str, Sequence[Stored]]
    out: Path
    titles: Mapping[str, str] = field(default_factory=dict)
    shows: Feedback = field(default_factory=Feedback)
    partial_credit: float = 0.5
    files: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def write(self, place: str, content: str | bytes) -> None:
        """Write a file below the folder, under a temporary name first.

        Raises:
            GraderError: it cannot be written.
        """
        path = self.out / place
        try:
            write_atomic(path, content.encode() if isinstance(content, str) else content)
        except OSError as error:
            raise GraderError(
                f"{path} cannot be written ({error.strerror}): make room there or choose another --out"
            ) from error
        self.files.append(path)

    def note(self, sentence: str) -> None:
        """Have something said at the end."""
        self.notes.append(sentence)


def exportable(results: Sequence[Stored], stem: str | None) -> tuple[dict[str, list[Stored]], list[str]]:
    """The results to export by stem, and what has to be said about the others.

    Raises:
        GraderError: none is left.
    """
    known = _by_assignment(results)
    if stem is not None:
        if stem not in known:
            raise GraderError(f"there is no result of {stem}; there are some of {', '.join(known) or 'none'}")
        known = {stem: known[stem]}
    if not known:
        raise GraderError("no result belongs to an assignment of the course, so there is nothing to export")
    strangers = [] if stem else [one.notebook for one in results if not one.assignment]
    notes = []
    if strangers:
        notes.append(f"Left out, because they belong to no assignment: {', '.join(some(strangers, MOST))}.")
    failed = [one.notebook for found in known.values() for one in found if one.error]
    if failed:
        named = ", ".join(some(failed, MOST))
        notes.append(f"These could not be graded and are exported with 0 points: {named}.")
    return known, notes


def _by_assignment(results: Sequence[Stored]) -> dict[str, list[Stored]]:
    """Results of known assignments, by their stems."""
    stems = sorted({one.assignment for one in results if one.assignment})
    return {stem: [one for one in results if one.assignment == stem] for stem in stems}


def feedback_text(answer: StoredAnswer, shows: Feedback) -> str | None:
    """What a student reads about a question that is not in full, a line for each text; None if it is.

    Args:
        answer: the question.
        shows: what the instructor lets students see.
    """
    if answer.in_full:
        return None
    if answer.status != "answered":
        return next((check.message for check in answer.checks if check.message), "Not answered.")
    lines: list[str] = []
    for check in answer.checks:
        if check.outcome == "passed":
            continue
        told_why = f": {check.message}" if shows.diagnoses and check.message else ""
        lines.append(f"{check.title.rstrip('.') if told_why else check.title}{told_why}")
        if shows.hints and check.hint:
            lines.append(f"Hint: {check.hint}")
    lines += answer.remarks
    return "\n".join(" ".join(line.split()) for line in lines) or None
