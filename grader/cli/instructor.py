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
from grader.text import counted

if TYPE_CHECKING:
    from grader.course.course import Course
    from grader.integrations.export import Format

_SHOWN = 12  # lines of one kind
_PATH = click.Path(path_type=Path)
_Command = TypeVar("_Command", bound=Callable[..., object])


def _results_option(name: str) -> Callable[[_Command], _Command]:
    """The option with the folder that `grade` wrote."""
    return click.option(
        name,
        type=_PATH,
        default=Path("results"),
        show_default=True,
        help="Folder with the results of `grade`.",
    )


# As many as there are processors that this process may use.
_JOBS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(1),
    default=_JOBS,
    show_default="processors",
    help="Run N workers in parallel.",
    metavar="N",
)
assignment_option = click.option(
    "--assignment",
    "assignments",
    multiple=True,
    metavar="STEM",
    help="Select one assignment (repeatable).",
)


@click.command()
@click.option("--out", type=_PATH, required=True, help="Folder to write: empty, or an earlier release.")
@assignment_option
@click.option("--overwrite", is_flag=True, help="Replace files that you changed, too.")
@click.option("--solutions", is_flag=True, help="Add every answer, with the reason why it is right.")
@click.option("--classroom50", is_flag=True, help="Write autograders for Classroom 50 instead.")
def release(
    out: Path, assignments: tuple[str, ...], overwrite: bool, solutions: bool, classroom50: bool
) -> None:
    """Write the repository that students get.

    Releases the assignments that course.toml lists for this term ([term]), or all of them if it lists none;
    --assignment releases the ones you name, listed or not. Deadlines are ignored.

    The repository contains the notebooks, public checks, instructions and a workflow for instant feedback on
    GitHub, and nothing from solutions/ or the hidden checks. Releasing again updates the folder and keeps
    files that you added or changed.

    Use --solutions after the deadline: it adds a page with all answers for each assignment.

    --classroom50 writes an autograder for each assignment, which runs the public checks, into autograders/,
    plus runtime.json (the Python version) and slugs.json (the assignments' names there).
    """
    from grader.course.course import Course
    from grader.integrations.release import release as write

    released = write(
        Course.find(), out, assignments, overwrite=overwrite, solutions=solutions, classroom50=classroom50
    )
    changes = released.changes
    count, written = counted(len(released.stems), "assignment"), counted(len(changes.written), "file")
    click.echo(f"{out} holds {count}: {written} written, {len(changes.removed)} removed.")
    for stem in released.unfinished:
        click.echo(f"left out, because it is not written yet: {stem}")
    for stem in released.of_other_terms:
        click.echo(f"not released, because course.toml doesn't list it in [term]: {stem}")
    for path in changes.edited:
        click.echo(f"unchanged, because it was edited: {path} (--overwrite replaces it)")


class _Collect(click.Command):
    """A command whose help ends with the names that known systems give to downloads."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the table of systems, which is imported only here and where ``collect`` is run."""
        from grader.integrations.collect.systems import all_systems

        with formatter.section("Systems"):
            formatter.write_dl([(system.title, system.pattern) for system in all_systems()])


@click.command(cls=_Collect)
@click.argument("source", type=_PATH)
@click.option("--out", type=_PATH, required=True, help="Folder to write, with a sub-folder for each student.")
@click.option(
    "--prefix",
    "prefixes",
    multiple=True,
    metavar="TEXT",
    help="Strip TEXT from the start of repositories' names (repeatable).",
)
@click.option(
    "--unread",
    type=_PATH,
    metavar="FILE",
    help="Read the names of repositories that could not be cloned.",
)
def collect(source: Path, out: Path, prefixes: tuple[str, ...], unread: Path | None) -> None:
    """Sort cloned or downloaded notebooks into a folder per student.

    SOURCE is a folder of cloned repositories or of students' folders, or the zip (or unpacked folder) that
    you downloaded from one of the systems below. You can collect repeatedly, and from several sources, into
    one folder. Copies only notebooks, follows no links and runs nothing.

    --prefix '' strips nothing. --unread keeps notebooks collected earlier, and marks those whose repository
    is listed in FILE or no longer contains them. FILE may be empty.
    """
    from zoneinfo import ZoneInfo

    from grader.course.course import Course
    from grader.integrations.collect import collect as lay_out
    from grader.notebooks.recognition import holds_answers
    from grader.people.deadlines import closing_times

    names = None if unread is None else _names_in(unread)
    course = Course.find()
    closing = closing_times(out, course.settings, course.stems)
    is_answered = partial(holds_answers, functions=course.functions, starter_code=course.starter_code)
    zone = ZoneInfo(course.settings.time_zone or "UTC")
    collected = lay_out(source, out, prefixes or None, names, closing, is_answered, zone)
    changes = collected.changes
    students = f"{collected.students} student{'' if collected.students == 1 else 's'}"
    click.echo(
        f"{out}: {students} from {source}. Notebooks: {len(changes.written)} new,"
        f" {len(changes.replaced)} replaced, {len(changes.unchanged)} unchanged,"
        f" {len(changes.skipped)} ignored."
    )
    _echo(collected.notes)
    _echo([f"replaced by a newer one: {path}" for path in changes.replaced])
    ignored = [f"ignored: {_shown(path)} {why}" for path, why in (*changes.skipped, *collected.others)]
    _echo(ignored)
    if len(ignored) > _SHOWN:
        click.echo(f"{out / 'ignored.csv'} lists all that was ignored.")
    _echo([f"no notebook: {name}" for name in collected.empty])


def _shown(path: str) -> str:
    """The path, in quotes if blanks begin or end one of its names."""
    return path if all(name == name.strip() for name in path.split("/")) else f'"{path}"'


def _names_in(path: Path) -> list[str]:
    """The names in a file, between blanks or on lines; GraderError if it cannot be read."""
    from grader.errors import GraderError

    try:
        return path.read_text(encoding="utf-8").split()
    except OSError as error:
        raise GraderError(
            f"{path} cannot be read ({error.strerror}): name a file of repositories' names"
        ) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise GraderError(
            f"{path}, line {line} is not UTF-8: write the names of repositories in UTF-8"
        ) from error


def _echo(lines: Sequence[str]) -> None:
    from grader.text import some, terminal_text

    for line in some(lines, _SHOWN):
        click.echo(terminal_text(line))


def _limit(name: str, text: str, usual: float) -> Callable[[_Command], _Command]:
    help_text = f"{text}  [default: from course.toml, otherwise {usual:g}]"
    return click.option(name, type=click.FloatRange(min=0.1), metavar="N", help=help_text)


@click.command()
@click.argument("submissions", type=_PATH)
@click.option("--out", type=_PATH, default=Path("results"), show_default=True, help="Folder for the results.")
@assignment_option
@click.option("--student", "students", multiple=True, metavar="NAME", help="Select one student (repeatable).")
@jobs_option
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Run notebooks on a Dask cluster, such as tcp://host:8786.",
)
@click.option("--force", is_flag=True, help="Grade everything again, with a new secret seed.")
@click.option("--no-sandbox", is_flag=True, help="Run students' code without the sandbox; results say so.")
@_limit("--cell-seconds", "Time limit for each cell, in seconds.", TimeLimits.cell)
@_limit("--question-seconds", "Time limit for each question, in seconds.", TimeLimits.question)
@_limit("--notebook-seconds", "Time limit for each notebook, in seconds.", TimeLimits.notebook)
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
    """Grade every notebook in SUBMISSIONS, one sub-folder per student.

    Run the same command again to grade only new and changed notebooks.

    \b
    Exit status:
      0  every submission has a result
      1  grading failed
      2  usage error, or a folder or the course must be fixed
      3  the sandbox is not available here
    """  # noqa: D301 - click reads the backspace as "do not rewrap"
    from grader.sandbox.zygote import ZygoteProcess

    # For a new folder everything must be observed: torch is imported while the other files are read.
    is_new = scheduler is None and (force or not out.exists())
    with ZygoteProcess() if is_new else nullcontext() as started:
        from grader.course.course import Course
        from grader.grading.run import Options
        from grader.grading.run import grade as grade_class
        from grader.grading.terminal import class_progress, print_class

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
        go_on = f"run the same command{' without --force' if force else ''} to continue"
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
@_results_option("--results")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Show the code, every check, the observations and the seed, too.",
)
def explain(student: str, stem: str, question: str | None, results: Path, everything: bool) -> None:
    """Explain a student's result, for example in an appeal.

    Example: explain ada 01_leaves q2. Shows on one screen what failed and why, the student's line that each
    diagnosis quotes, and the cell whose definition counted.

    --all adds the student's code, every check and the observations beside the expected ones, and judges them
    again. The student's code is not run.

    Don't forward the output: it contains expected values, hidden checks and the seed.
    """
    from grader.course.course import Course
    from grader.grading.explain import COLUMNS, explanation
    from grader.grading.regrade import regrade
    from grader.reports.plain import plain

    course = Course.find().without_unfinished()
    regraded = regrade(course, results, student, stem)
    click.echo(plain(explanation(regraded, question, everything=everything), COLUMNS))


@click.command()
@click.argument("student")
@_results_option("--out")
def forget(student: str, out: Path) -> None:
    """Remove everything about a student from the results.

    Example: forget ada. Lists every file that was removed, and the lines of files about several students.
    Submissions stay: remove the student's folder there first, or the next `grade` grades it again.
    """
    from grader.grading import forget as forgetting
    from grader.text import terminal_text

    for path in forgetting.forget(out, student):
        click.echo(f"removed {terminal_text(path)}")


class _Export(click.Command):
    """A command whose help lists the formats; their modules are imported only where that is needed."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        from grader.integrations.export.formats import all_formats

        with formatter.section("Formats"):
            formatter.write_dl(
                [
                    (form.name, form.help.replace("`", "").replace("\n", "; "))
                    for form in all_formats().values()
                ]
            )


def _known_format(context: click.Context, parameter: click.Parameter, name: str) -> Format:
    from grader.integrations.export.formats import all_formats

    return all_formats()[click.Choice([*all_formats()]).convert(name, parameter, context)]


@click.command(cls=_Export)
@click.argument("form", metavar="FORMAT", callback=_known_format)
@click.argument("stem", required=False)
@click.option("--out", type=_PATH, required=True, help="Folder for the files.")
@_results_option("--results")
@click.option(
    "--gradebook",
    type=_PATH,
    help="Gradebook to fill: a CSV from Canvas or Moodle, or scores.json.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="[STEM=]HEADING",
    help="Canvas column to fill, or Classroom 50 slug (repeatable).",
)
def export(  # noqa: PLR0913, PLR0917 - one for each option
    form: Format, stem: str | None, out: Path, results: Path, gradebook: Path | None, columns: tuple[str, ...]
) -> None:
    """Write results in the format of another system.

    Example: export canvas 01_leaves --gradebook grades.csv --out lms. Exports every assignment unless you
    name one (STEM).

    --column takes a heading, title or number; with STEM= in front, it applies to that assignment.
    """
    from grader.course.course import Course
    from grader.integrations.export import Export
    from grader.integrations.export.formats import columns_of, write_export
    from grader.text import terminal_text

    course = Course.find().without_unfinished([stem] if stem else [])
    to_fill = columns_of(form, course.stems, stem, gradebook, columns)
    done = Export(course, stem, results, out, gradebook, to_fill)
    write_export(form, done)
    for note in done.notes:
        click.echo(terminal_text(note))
    files = [*map(str, done.contents)]
    written = files[0] if len(files) == 1 else f"{len(files)} files to {out}"
    click.echo(f"wrote {terminal_text(written)}")
