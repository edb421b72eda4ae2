"""On a student's machine: runs a notebook and its public tests, whatever ends their process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.student.child import Child
from grader.student.ended import Ended
from grader.student.exercise import Exercise
from grader.student.finding import Findings
from grader.student.log import Log
from grader.student.task import Task

_GRACE = 2.0  # seconds for a cell to heed its own alarm, before its process is ended

Start = Callable[[], Child]


def check(exercise: Exercise, tasks: Sequence[Task], seconds: float, start: Start) -> Findings:
    """Run a notebook's cells and the public tests of some of its questions.

    Args:
        exercise: the notebook.
        tasks: the questions.
        seconds: how long a cell, or a test, may take.
        start: gives a fresh process; more than one where a cell or a test ends its own.

    Raises:
        GraderError: this Python cannot run notebooks of the course.
    """
    log = Log(seconds)
    while (asked := log.request(exercise, tasks)) is not None:
        child = start()
        try:
            for event in child.run(asked, seconds + _GRACE):
                log.note(event)
            break
        except Ended as ended:
            log.note_end(ended, exercise)
        finally:
            child.end()
    troubles = tuple(sorted(log.cells.items()))
    return Findings(exercise, troubles, tuple(log.finding(task) for task in tasks))
