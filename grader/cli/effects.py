"""Options that have no effect beside others: their list, and the error that refuses them.

An option that is silently ignored looks like one that works. So each combination in which an option has no
effect is a usage error that names the option and what to do instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource


@dataclass(frozen=True)
class NoEffect:
    """Parameters of a command that do nothing beside another.

    Attributes:
        options: as they are written: ``--jobs``, or ``QUESTION`` for an argument.
        beside: the other parameter.
        advice: the next step, as a sentence without its full stop.
    """

    command: str
    options: tuple[str, ...]
    beside: str
    advice: str


_EXCLUSIVE = "Leave it out, or run the two after each other"

NO_EFFECT = (
    NoEffect(
        "grade",
        ("--jobs",),
        "--scheduler",
        "Each Dask worker runs as many notebooks at a time as it has threads: set them there (dask worker"
        " --nthreads N), and leave --jobs out",
    ),
    NoEffect("release", ("--solutions",), "--classroom50", "Autograders hold no answers: leave it out"),
    NoEffect(
        "check",
        ("--verbose",),
        "--github",
        "A report to GitHub is without a notebook's output: leave --verbose out",
    ),
    NoEffect(
        "doctor",
        ("--verbose", "--accept", "--assignment", "--mutants", "--question", "--seeds", "--force", "--jobs"),
        "--sandbox",
        _EXCLUSIVE,
    ),
    NoEffect("doctor", ("--verbose", "--accept", "--seeds", "--force"), "--mutants", _EXCLUSIVE),
)


def refuse_useless_options(command: click.Command) -> None:
    """Let a command refuse options without effect, as ``NO_EFFECT`` lists them: a usage error."""
    run = command.callback
    assert run is not None

    @wraps(run)
    def checked(*arguments: Any, **options: Any) -> Any:
        context = click.get_current_context()
        given = {
            written(parameter)
            for parameter in command.params
            if context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
        }
        for sentence in useless(str(command.name), given):
            raise click.UsageError(sentence)
        return run(*arguments, **options)

    command.callback = checked


def useless(command: str, given: set[str]) -> Iterator[str]:
    """A sentence for each option of a command line that does nothing."""
    for rule in NO_EFFECT:
        if rule.command == command and rule.beside in given:
            for option in rule.options:
                if option in given:
                    yield f"{option} does nothing beside {rule.beside}. {rule.advice}."


def written(parameter: click.Parameter) -> str:
    """How a parameter is written, in full: ``--verbose``, or ``QUESTION``."""
    return parameter.opts[-1] if isinstance(parameter, click.Option) else parameter.human_readable_name
