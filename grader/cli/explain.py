"""Outside: ``explain``, the command that shows how one result came about."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("student")
@click.argument("stem")
@click.argument("question", required=False)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Where `grade` has put its results.",
)
def explain(student: str, stem: str, question: str | None, results: Path) -> None:
    """Explain the result of STUDENT for the assignment STEM, or for one QUESTION of it, as for an appeal.

    Shows the student's own code, what was seen of it beside what was expected, and judges that again. It runs
    nobody's code. For your eyes only: it tells expected values, hidden checks and the seed.
    """
    from rich.console import Console
    from rich.text import Text

    from grader.course.course import Course
    from grader.errors import GraderError
    from grader.grading.replay import replay
    from grader.reports.explanation import Explanation
    from grader.text import did_you_mean, inert

    found = replay(Course.find().finished(), results, student, stem)
    known = [asked["id"] for asked in found.result["questions"]]
    if question is not None and question not in known:
        raise GraderError(f"{stem} has no question {question}; {did_you_mean(question, known)}")
    console = Console(emoji=False)
    for line in Explanation(found, question).lines():
        console.print(Text(inert(line.text), line.style), soft_wrap=True)
