"""The command line, ``python -m grader`` or ``grader``, with a module for each audience.

Each command imports its modules when it runs, so that ``--help`` and the students' commands start quickly.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from pathlib import Path
from typing import IO, Any

import click

from grader.cli.author import build, doctor, new, try_answers
from grader.cli.effects import refuse_useless_options
from grader.cli.instructor import collect, explain, export, forget, grade, release
from grader.cli.student import check, hint, reset, status, submit, watch
from grader.errors import GraderError
from grader.version import __version__

#: Audiences and their commands, in the order of `--help`: students come first.
_SECTIONS = {
    "For students": (check, watch, hint, status, reset, submit),
    "For instructors": (release, collect, grade, explain, export, forget),
    "For authors": (new, try_answers, doctor, build),
}


_ALL = "grader.all"  # the key in the context that asks for every command


def _is_in_a_course() -> bool:
    """Whether the current folder is in a course, which has a solutions/ that students never get."""
    try:
        here = Path.cwd()
    except OSError:  # the folder was deleted
        return False
    return any((folder / "solutions").is_dir() for folder in (here, *here.parents))


def _help_all(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


class _UsageError(click.UsageError):
    """An error of click's, which `put` prints."""

    def __init__(self, error: click.UsageError) -> None:
        super().__init__(error.message, error.ctx)
        self._error = error

    def show(self, file: IO[Any] | None = None) -> None:  # noqa: ARG002 - always on the terminal
        said = io.StringIO()
        self._error.show(said)
        _complain(*said.getvalue().splitlines())


def _complain(*lines: str) -> None:
    """Print lines to standard error."""
    from grader.console import console, put

    to = console(stderr=True)
    for line in lines:
        put(to, line)


class _Commands(click.Group):
    """Prints an error that a user can cause as a sentence, and exits with its status."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **options)
        except click.UsageError as error:
            raise _UsageError(error) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by audience; outside a course, list the students' commands only."""
        width = formatter.width - 6 - max(map(len, self.commands))
        shows_all = _ALL in ctx.meta or _is_in_a_course()
        for heading, commands in _SECTIONS.items() if shows_all else [*_SECTIONS.items()][:1]:
            with formatter.section(heading):
                formatter.write_dl(
                    [(str(command.name), command.get_short_help_str(width)) for command in commands]
                )
        if not shows_all:
            formatter.write_paragraph()
            formatter.write_text("For instructors and authors: python -m grader --help-all")

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise _UsageError(error) from error
        except GraderError as error:
            _complain(f"grader: {error}")
            ctx.exit(error.exit_status)
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing in {"", "grader", *sys.stdlib_module_names}:
                raise  # that is our mistake
            _complain(
                f"grader: this command needs {missing}, which is not installed here: run"
                " `pip install '.[instructor]'` in the folder of the course"
            )
            ctx.exit(GraderError.exit_status)


def run() -> None:
    """Run a command, and leave at once: to take every object apart and to join threads takes time."""
    # Modules, notebooks and observations contain hardly any reference cycles. With the default threshold of
    # 700, garbage collection took a sixth of the time that grading spends outside the workers, and 0.1 s of a
    # start; the memory use is the same.
    gc.set_threshold(20_000, 20, 20)
    try:
        main(prog_name="grader")
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        if end.code is None or isinstance(end.code, int):
            os._exit(end.code or 0)
        raise


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option(
    "--help-all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_help_all,
    help="Show commands for instructors and authors, too.",
)
def main() -> None:
    """Check, submit and grade notebooks about PyTorch autograd."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows ASCII only shows names all the same
            stream.reconfigure(errors="backslashreplace")


for _commands in _SECTIONS.values():
    for _command in _commands:
        refuse_useless_options(_command)
        main.add_command(_command)
