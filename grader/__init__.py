"""Outside: a grader for autograd exercises that keeps students' code away from its verdicts.

An author of hidden checks writes with what is named here and in ``grader.inside``.
"""

__version__ = "1.0.0"

import gc
import os
import sys
from types import ModuleType

if (
    getattr(sys, "argv", [])[:1] == ["-m"]
    and not sys.flags.safe_path
    and sys.path[:1] != [__file__.rpartition(f"{os.sep}grader{os.sep}")[0]]
):
    del sys.path[:1]  # a `random.py` beside somebody's notebooks would take the place of Python's own

from grader import signals as interrupt

if interrupt.is_the_command():  # before the half second of imports, so that Ctrl-C is quiet in it too
    interrupt.arm()
    gc.disable()  # nothing that is imported is garbage; enabled again by `grader.cli`

from grader.checks import check as _check
from grader.checks.cases import cases
from grader.checks.check import points, raised
from grader.checks.comparison import assert_close, is_close
from grader.checks.diagnosis import diagnose
from grader.checks.difference import how_it_differs
from grader.checks.gradients import assert_gradients
from grader.checks.steps import chunks, steps
from grader.checks.untouched import assert_changed, assert_untouched, blaming_changes
from grader.checks.updates import assert_updates
from grader.course.probes import picture, probe
from grader.student.xray import xray

__all__ = [
    "__version__",
    "assert_changed",
    "assert_close",
    "assert_gradients",
    "assert_untouched",
    "assert_updates",
    "blaming_changes",
    "cases",
    "chunks",
    "diagnose",
    "how_it_differs",
    "is_close",
    "picture",
    "points",
    "probe",
    "raised",
    "steps",
    "xray",
]


class _NotOtter(ModuleType):
    """``grader.check`` for who wrote ``import grader`` in a notebook, where ``grader`` was Otter's."""

    def __call__(self, *_: object) -> None:
        raise TypeError(
            "in this notebook `import grader` put a package in the place of the grader that checks answers. "
            "Write `from grader import xray` instead, and run the notebook's first cell again."
        )


_check.__class__ = _NotOtter
check = _check
