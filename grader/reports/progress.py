"""The progress of a long command, as one line on a terminal that is gone at the end."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def progress_bar(console: Console, clock: Callable[[], float] = time.monotonic) -> Progress:
    """A bar with numbers and the time left; where there is no terminal, nothing is shown.

    A task may have a field `note`, which is shown in red behind the rest.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", style="red", markup=False),
    )
    return Progress(
        *columns, console=console, transient=True, get_time=clock, disable=not console.is_terminal
    )
