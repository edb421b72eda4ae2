"""On a student's machine: ``watch``, the command that checks a notebook whenever it is saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from grader.cli.check import seconds_option


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@seconds_option
def watch(folder: Path, seconds: float) -> None:
    """Check each notebook as you save it, until Ctrl-C.

    Looks after all notebooks in FOLDER (here, unless you say), which may also be a single notebook, and
    begins with the one that was saved last.
    """
    from grader.student.display import console
    from grader.student.find import notebooks_in
    from grader.student.process import Supply
    from grader.student.watch import Watcher

    paths = notebooks_in(folder)
    with Supply(sentence="stopped watching.") as supply:
        watcher = Watcher(console(), seconds, supply)
        saved = _saved(folder)
        supply.prepare()
        missed = next(saved)  # from here on nothing is
        watcher.watch([missed | {max(paths, key=lambda path: path.stat().st_mtime)}])
        watcher.watch(saved)


def _saved(watched: Path) -> Iterator[set[Path]]:
    """The notebooks that were saved; an empty set now and then, the first one at once."""
    from watchfiles import watch as changes_in

    from grader.student.find import is_notebook

    folder = watched.parent if watched.is_file() else watched

    def is_wanted(_: object, name: str) -> bool:
        return Path(name).name == watched.name if folder != watched else is_notebook(Path(name))

    for changes in changes_in(
        folder, watch_filter=is_wanted, recursive=False, yield_on_timeout=True, rust_timeout=300
    ):
        yield {path for _, name in changes if (path := folder / Path(name).name).is_file()}
