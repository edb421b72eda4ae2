"""A table of the class: a row for each student, a column for each assignment."""

from __future__ import annotations

import csv
import io

from grader.integrations.export import Export, Format
from grader.scores import format_points, total
from grader.text import without_formula


def _write(export: Export) -> None:
    """Write ``grades.csv``: a row for each student, missing ones too, and a column for each assignment."""
    scores = {(r.student, stem): r.score for stem, results in export.results.items() for r in results}
    stems = sorted(export.results)
    most = total(max(result.max_score for result in export.results[stem]) for stem in stems)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", "name", "email", *stems, "total", "max", "percent"])
    for student in sorted({*(student for student, _ in scores), *export.listed}):
        own = [scores.get((student, stem), 0.0) for stem in stems]
        person = export.person(student)
        name = person.name if person.line else ""
        names = [without_formula(text) for text in (student, name, person.ids.get("email", ""))]
        share = f"{100 * total(own) / most:.1f}" if most else ""
        writer.writerow([*names, *map(format_points, [*own, total(own), most]), share])
    export.write("grades.csv", text.getvalue())


FORMAT = Format(
    "wide",
    _write,
    help="`grades.csv`: a row for each student, a column for each assignment, total and percent",
)
