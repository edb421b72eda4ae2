"""Outside: the charts of the report, kept from run to run, so that only those whose data change are drawn."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from grader.errors import BrokenRunError
from grader.results.statistics import AssignmentSummary
from grader.version import code_hash

if TYPE_CHECKING:
    from grader.results.store import ResultsStore

CHARTS = ".charts"


class Charts:
    """Charts as SVG that may stand in a page as it is.

    Args:
        stored: charts of the run before, by what they were drawn from.
    """

    def __init__(self, stored: Mapping[str, str] | None = None) -> None:
        self._stored = stored or {}
        self._used: dict[str, str] = {}

    @classmethod
    def load(cls, folder: Path) -> Charts:
        """The charts that lie in a results folder; none where they are not what was stored."""
        try:
            digest, _, text = (folder / CHARTS).read_text(encoding="utf-8").partition("\n")
        except (OSError, ValueError):
            return cls()
        return cls(json.loads(text) if digest == _sha256(text) else None)

    def save(self, folder: ResultsStore) -> None:
        """Keep what was used for the next run; without it that run draws again."""
        if self._used != self._stored:
            text = json.dumps(self._used)
            with contextlib.suppress(BrokenRunError):
                folder.write(folder.path / CHARTS, f"{_sha256(text)}\n{text}")

    def scores(self, summary: AssignmentSummary) -> Markup:
        """How many submissions have which score."""
        counts = sorted(Counter(summary.scores).items())
        greatest = max(summary.max_score, *summary.scores)  # of an older course, with more points

        def draw() -> str:
            from grader.reports import chart_svg  # noqa: PLC0415 - half a second, which only a changed class pays

            return chart_svg.scores(counts, greatest)

        return self._kept(draw, "scores", counts, greatest)

    def questions(self, summary: AssignmentSummary) -> Markup:
        """Which part of the submissions earned each question in full, in part, not at all."""
        outcomes = [(question.id, question.outcomes) for question in summary.questions]

        def draw() -> str:
            from grader.reports import chart_svg  # noqa: PLC0415 - as above

            return chart_svg.questions(outcomes)

        return self._kept(draw, "questions", outcomes)

    def _kept(self, draw: Callable[[], str], kind: str, *data: object) -> Markup:
        """The chart of this kind and these data, drawn only if nobody has yet."""
        key = _sha256(json.dumps([code_hash(), kind, *data]))
        svg = self._used.get(key) or self._stored.get(key) or draw()
        self._used[key] = svg
        return Markup(svg)  # noqa: S704 - drawn here, and its texts are escaped by the one who draws


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
