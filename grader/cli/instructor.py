"""The commands for instructors: release, collect, grade, explain, export."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from grader.sandbox.plan import TimeLimits

if TYPE_CHECKING:
    from grader.course.course import Course

_SHOWN = 12  # lines of one kind
_PATH = click.Path(path_type=Path)
_Command = TypeVar("_Command", bound=Callable[..., object])


# As many as there are processors that this process may use.
_JOBS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
jobs_option = click.option(
    "--jobs", type=click.IntRange(1), default=_JOBS, show_default="processors", help="Workers at a time."
)
assignment_option = click.option(
    "--assignment",
    "assignments",
    multiple=True,
    metavar="STEM",
    help="Only this assignment (may be repeated).",
)


@click.command()
@click.option("--out", type=_PATH, required=True, help="The folder: empty, or an earlier release.")
@assignment_option
@click.option("--overwrite", is_flag=True, help="Also replace files that somebody changed since.")
@click.option("--classroom50", is_flag=True, help="Write autograders for Classroom 50 instead.")
def release(out: Path, assignments: tuple[str, ...], overwrite: bool, classroom50: bool) -> None:
    """Write the student repository: notebooks, public checks, instructions, instant feedback.

    Nothing of solutions/ and of the hidden checks gets into it. Releasing again brings the folder up to
    date; files that no release wrote, and files that somebody changed, stay as they are.

    With --classroom50, what runs the public checks there: a folder for each assignment in autograders/,
    runtime.json with the version of Python, and slugs.json with the names the assignments have there.
    """
    from grader.course.course import Course
    from grader.integrations.release import release as write

    released = write(Course.find(), out, assignments, overwrite=overwrite, classroom50=classroom50)
    changes = released.changes
    count = f"{len(released.stems)} assignment{'s' if len(released.stems) > 1 else ''}"
    click.echo(f"{out} holds {count}: {len(changes.written)} files written, {len(changes.removed)} removed.")
    for stem in released.unfinished:
        click.echo(f"left out, because it is not written yet: {stem}")
    for path in changes.kept:
        click.echo(f"kept, because somebody changed it: {path} (--overwrite: take the release's)")


@click.command()
@click.argument("source", type=_PATH)
@click.option("--out", type=_PATH, required=True, help="The folder to lay them out in.")
@click.option(
    "--prefix",
    "prefixes",
    multiple=True,
    metavar="TEXT",
    help="What clones' names begin with, before the student's (may be repeated; empty: nothing).",
)
@click.option(
    "--unread",
    type=_PATH,
    metavar="FILE",
    help="A file with the names of repositories that could not be cloned this time, or none. What came from"
    " them before stays and is marked, and so is what the others do not hold any more.",
)
def collect(source: Path, out: Path, prefixes: tuple[str, ...], unread: Path | None) -> None:
    """Lay out the notebooks of SOURCE for `grade`: one folder for each student.

    SOURCE is a folder of cloned repositories or of students' folders, or the zip (or the folder unpacked
    from it) that Canvas, Moodle or Gradescope hands out. Collecting again, or from another source, adds to
    the folder. No link is followed, nothing but notebooks is copied, and nothing is run.
    """
    from grader.course.course import Course
    from grader.integrations.collect import collect as lay_out
    from grader.notebooks.recognition import holds_answers
    from grader.people.deadlines import closing_times

    names = None if unread is None else _names_in(unread)
    course = Course.find()
    closing = closing_times(out, course.settings, course.stems)
    is_answered = partial(holds_answers, functions=course.functions, starter_code=course.starter_code)
    collected = lay_out(source, out, prefixes or None, names, closing, is_answered)
    changes = collected.changes
    students = f"{collected.students} student{'' if collected.students == 1 else 's'}"
    click.echo(
        f"{out}: {students} from {source}. Notebooks: {len(changes.written)} new,"
        f" {len(changes.replaced)} replaced, {len(changes.unchanged)} unchanged,"
        f" {len(changes.skipped)} skipped."
    )
    _echo(collected.notes)
    _echo([f"replaced by a newer one: {path}" for path in changes.replaced])
    _echo([f"skipped: {path} {why}" for path, why in changes.skipped])
    _echo([f"no notebook: {name}" for name in collected.empty])


def _names_in(path: Path) -> list[str]:
    """The names in a file, between blanks or on lines; GraderError where it cannot be read."""
    from grader.errors import GraderError

    try:
        return path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise GraderError(f"{path} cannot be read ({error}): name a file of repositories' names") from error


def _echo(lines: Sequence[str]) -> None:
    from grader.text import some, terminal_text

    for line in some(lines, _SHOWN):
        click.echo(terminal_text(line))


def _limit(name: str, text: str, usual: float) -> Callable[[_Command], _Command]:
    help_text = f"{text}  [default: as course.toml says, else {usual:g}]"
    return click.option(name, type=click.FloatRange(min=0.1), help=help_text)


@click.command()
@click.argument("submissions", type=_PATH)
@click.option("--out", type=_PATH, default=Path("results"), show_default=True, help="Where results go.")
@assignment_option
@click.option(
    "--student", "students", multiple=True, metavar="NAME", help="Only this student (may be repeated)."
)
@jobs_option
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Have the machines of a Dask cluster run the notebooks, as in tcp://host:8786.",
)
@click.option("--force", is_flag=True, help="Grade again what is already graded, with a new seed.")
@click.option(
    "--no-sandbox", is_flag=True, help="Run students' code without protection; every result will say so."
)
@_limit("--cell-seconds", "The longest a cell may take.", TimeLimits.cell)
@_limit("--question-seconds", "The same for a question.", TimeLimits.question)
@_limit("--notebook-seconds", "The same for a notebook.", TimeLimits.notebook)
def grade(  # noqa: PLR0913, PLR0917 - one for each option
    submissions: Path,
    out: Path,
    assignments: tuple[str, ...],
    students: tuple[str, ...],
    jobs: int,
    force: bool,
    no_sandbox: bool,
    scheduler: str | None,
    cell_seconds: float | None,
    question_seconds: float | None,
    notebook_seconds: float | None,
) -> None:
    """Grade every notebook below SUBMISSIONS, whose sub-folders name the students.

    Exit status: 0 when every submission has a result, whatever the scores; 2 when this command, a
    folder or the course has to be mended; 3 when students' code cannot be confined; 1 when grading
    itself failed.
    """
    from grader.sandbox.zygote import ZygoteProcess

    # Into a new folder all is observed anew: torch is imported for that while the rest is read.
    is_new = scheduler is None and (force or not out.exists())
    with ZygoteProcess() if is_new else nullcontext() as started:
        from grader.course.course import Course
        from grader.grading.run import Options
        from grader.grading.run import grade as grade_class
        from grader.reports.terminal import class_progress, print_class

        course = Course.find()
        usual = course.settings.limits
        options = Options(
            assignments=assignments,
            students=students,
            jobs=jobs,
            force=force,
            sandbox=not no_sandbox,
            limits=TimeLimits(
                cell_seconds or usual.cell,
                question_seconds or usual.question,
                notebook_seconds or usual.notebook,
            ),
            scheduler=scheduler,
        )
        go_on = "the same command, without --force, goes on" if force else "the same command goes on"
        if not assignments:
            tell_left_out(course)
        with class_progress(go_on) as progress:
            outcome = grade_class(course, submissions, out, options, progress, started)
        print_class(outcome, out)


def tell_left_out(course: Course) -> None:
    """Say which assignments are left out because they are not finished, and where that stands."""
    from grader.course.author_file import todos_of

    for stem in course.stems:
        if todos := todos_of(course.root, stem):
            more = f", and {len(todos) - 1} more" if todos[1:] else ""
            click.echo(f"left out {stem}, which still says TODO: {todos[0]}{more}", err=True)


@click.command()
@click.argument("student")
@click.argument("stem")
@click.argument("question", required=False)
@click.option(
    "--results",
    type=_PATH,
    default=Path("results"),
    show_default=True,
    help="Where `grade` has put its results.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Show more than what failed, of all questions: facts, code, checks, probes, the seed.",
)
@click.option(
    "--smallest",
    is_flag=True,
    help="Run the notebook again, and show the smallest case of a contract that fails (with all else).",
)
def explain(  # noqa: PLR0913, PLR0917 - one for each option
    student: str, stem: str, question: str | None, results: Path, everything: bool, smallest: bool
) -> None:
    """Explain the result of STUDENT for the assignment STEM, or for one QUESTION of it, as for an appeal.

    Shows what failed, and which line of the student's a diagnosis quotes. With QUESTION or --all also the
    student's own code, and what was seen of it beside what was expected; that is judged again. It runs
    nobody's code, unless you ask for the smallest case that fails. For your eyes only: it tells expected
    values, hidden checks and the seed.
    """
    from rich.console import Console
    from rich.text import Text

    from grader.course.course import Course
    from grader.grading.regrade import regrade
    from grader.reports.explain import explanation
    from grader.text import terminal_text

    course = Course.find().without_unfinished()
    regraded = regrade(course, results, student, stem)
    if smallest:
        from grader.grading.smallest_case import with_smallest_cases

        regraded = with_smallest_cases(course, regraded, question)
    console = Console(emoji=False)
    everything = everything or smallest or question is not None
    for line in explanation(regraded, question, everything=everything):
        console.print(Text(terminal_text(line.text), line.style), soft_wrap=True)


def _known_format(context: click.Context, parameter: click.Parameter, form: str) -> str:
    """The format; the table of formats is imported only where ``export`` is run."""
    from grader.integrations.export.formats import FORMATS

    return str(click.Choice([*FORMATS]).convert(form, parameter, context))


@click.command()
@click.argument("form", metavar="FORMAT", callback=_known_format)
@click.argument("stem", required=False)
@click.option("--out", type=_PATH, required=True, help="Where the files go.")
@click.option(
    "--results", type=_PATH, default=Path("results"), show_default=True, help="The --out of `grade`."
)
@click.option(
    "--gradebook",
    type=_PATH,
    help="canvas, moodle: the gradebook that you exported there, as CSV; classroom50: the scores.json.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="[STEM=]HEADING",
    help="canvas: the heading, title or number of the column to fill; classroom50: the assignment's slug"
    " (may be repeated).",
)
def export(  # noqa: PLR0913, PLR0917 - one for each option
    form: str, stem: str | None, out: Path, results: Path, gradebook: Path | None, columns: tuple[str, ...]
) -> None:
    """Write results in another system's FORMAT, of one assignment STEM or of all.

    \b
    canvas       the gradebook you exported there, its columns filled (--gradebook FILE)
    classroom50  the scores.json of a classroom, each result in it as an override (--gradebook FILE);
                 without it, a result.json for each student and assignment
    feedback     the feedback pages of each repository that was collected as a clone
    github       outputs of actions, notices and a step's summary, for each student and assignment
    gradescope   an autograder zip for each assignment, and a results.json for each student
    junit        an XML file for each assignment
    moodle       a CSV file for each assignment, of the users in --gradebook FILE; or, where that is
                 a grading worksheet, the same filled in
    wide         a CSV file with a row for each student and a column for each assignment
    """  # noqa: D301 - click reads the backspace as "do not rewrap"
    from grader.course.course import Course
    from grader.integrations.export import Export
    from grader.integrations.export.formats import columns_of, write_export
    from grader.text import terminal_text

    to_fill = columns_of(form, stem, gradebook, columns)
    course = Course.find().without_unfinished([stem] if stem else [])
    done = Export(course, stem, results, out, gradebook, to_fill)
    write_export(form, done)
    for note in done.notes:
        click.echo(terminal_text(note))
    written = str(done.files[0]) if len(done.files) == 1 else f"{len(done.files)} files to {out}"
    click.echo(f"wrote {terminal_text(written)}")
