"""Outside: the command line, ``python -m grader`` or ``grader``."""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import Any

import click

from grader import __version__
from grader.commands.build import build
from grader.commands.check import check
from grader.commands.collect import collect
from grader.commands.doctor import doctor
from grader.commands.explain import explain
from grader.commands.export import export
from grader.commands.grade import grade
from grader.commands.hint import hint
from grader.commands.new import new
from grader.commands.release import release
from grader.commands.reset import reset
from grader.commands.status import status
from grader.commands.watch import watch
from grader.errors import GraderError


class _Commands(click.Group):
    """Turns the errors a person can meet into one sentence and the exit status that belongs to them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except GraderError as error:
            click.echo(f"grader: {error}", err=True)
            ctx.exit(error.exit_status)


def run() -> None:
    """Run a command, and leave without taking every object apart, which would take a third of a second."""
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
    """Grade notebooks of the autograd course, and keep the course itself in order."""
    if not gc.isenabled():  # it was switched off for the time of imports, of which nothing is garbage
        gc.freeze()
        gc.enable()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows ASCII only shows names all the same
            stream.reconfigure(errors="backslashreplace")


for _command in (
    grade,
    build,
    doctor,
    new,
    release,
    collect,
    check,
    explain,
    export,
    hint,
    reset,
    status,
    watch,
):
    main.add_command(_command)
