"""The command line, ``python -m grader`` or ``grader``; a module says whose commands are in it.

Each command imports what it needs when it runs, so that ``--help`` and a student's commands start at once.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import Any

import click

from grader.cli.author import build, doctor, new, try_probes
from grader.cli.instructor import collect, explain, export, grade, release
from grader.cli.student import check, hint, reset, status, watch
from grader.errors import GraderError
from grader.version import __version__

#: Audiences and their commands, in the order of `--help`: students come first.
_SECTIONS = {
    "While you work on a notebook": (check, hint, watch, status, reset),
    "For instructors": (release, collect, grade, explain, export),
    "For authors": (new, try_probes, doctor, build),
}


class _Commands(click.Group):
    """Turns an error that a person can meet into a sentence and its exit status."""

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by audience."""
        room = formatter.width - 6 - max(map(len, self.commands))
        for heading, commands in _SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(str(command.name), command.get_short_help_str(room)) for command in commands]
                )

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except GraderError as error:
            click.echo(f"grader: {error}", err=True)
            ctx.exit(error.exit_status)
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing in {"", "grader", *sys.stdlib_module_names}:
                raise  # that is our mistake
            click.echo(
                f"grader: this command needs {missing}, which is not installed here: run"
                " pip install '.[instructor]' in the folder of the course",
                err=True,
            )
            ctx.exit(GraderError.exit_status)


def run() -> None:
    """Run a command, and leave at once: to take every object apart and to join threads takes time."""
    # Modules, notebooks and facts hold hardly any cycles. With the usual threshold of 700, looking for them
    # took a sixth of what grading takes outside the workers, and 0.1 s of a start; memory stays the same.
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
def main() -> None:
    """Work on the notebooks of the autograd course, grade them, and keep the course in order."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows ASCII only shows names all the same
            stream.reconfigure(errors="backslashreplace")


for _commands in _SECTIONS.values():
    for _command in _commands:
        main.add_command(_command)
