"""A table of the class: a row for each student, a column for each assignment."""

from __future__ import annotations

import csv
import io

from grader.integrations.export import Export, Format
from grader.scores import format_points, total
from grader.text import without_formula


def _write(export: Export) -> None:
    """Write ``grades.csv``: a row for each student, missing ones too, and a column for each assignment.

    The cell of an excused student is empty, and the assignment is not part of the student's maximum.
    """
    scores = {(r.student, stem): r.score for stem, results in export.results.items() for r in results}
    stems = sorted(export.results)
    worth = {stem: max((r.max_score for r in export.results[stem]), default=0.0) for stem in stems}
    excused = {(student, stem) for stem in stems for student in export.excused(stem)}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["student", "name", "email", *stems, "total", "max", "percent"])
    for student in sorted({*(student for student, _ in (*scores, *excused)), *export.listed}):
        counting = [stem for stem in stems if (student, stem) not in excused]
        own = {stem: scores.get((student, stem), 0.0) for stem in counting}
        earned, most = total(own.values()), total(worth[stem] for stem in counting)
        cells = [format_points(own[stem]) if stem in own else "" for stem in stems]
        person = export.person(student)
        name = person.name if person.line else ""
        names = [without_formula(text) for text in (student, name, person.ids.get("email", ""))]
        share = f"{100 * earned / most:.1f}" if most else ""
        writer.writerow([*names, *cells, format_points(earned), format_points(most), share])
    export.add_file("grades.csv", text.getvalue())


FORMAT = Format(
    "wide",
    _write,
    advice="for a spreadsheet",
    help="`grades.csv`: a row per student, a column per assignment, total and percent",
)
