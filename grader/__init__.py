"""A grader for autograd exercises that keeps students' code away from its verdicts.

An author of hidden checks writes with the names here and in ``grader.inside``. Each name is imported at its
first use: a student's command needs no pytest, and starts at once.
"""

import os
import sys

if (
    getattr(sys, "argv", [])[:1] == ["-m"]
    and not sys.flags.safe_path
    and sys.path[:1] != [__file__.rpartition(f"{os.sep}grader{os.sep}")[0]]
):
    del sys.path[:1]  # a `random.py` beside a student's notebooks would hide Python's own, also from `typing`

from importlib import import_module  # noqa: TID251 - of the names in the table below
from typing import TYPE_CHECKING

from grader import signals
from grader.version import __version__ as __version__

if signals.is_the_command():  # before everything else is imported, so that Ctrl-C is quiet meanwhile
    signals.arm()

if TYPE_CHECKING:
    from grader.contracts.assertions import assert_memory as assert_memory
    from grader.contracts.assertions import assert_no_side_effects as assert_no_side_effects
    from grader.contracts.assertions import assert_same_gradients as assert_same_gradients
    from grader.contracts.assertions import assert_same_object as assert_same_object
    from grader.contracts.assertions import assert_same_raised as assert_same_raised
    from grader.contracts.assertions import assert_same_values as assert_same_values
    from grader.contracts.cases import Rules as Rules
    from grader.contracts.check import cases as cases
    from grader.contracts.check import points as points
    from grader.contracts.check import raised as raised
    from grader.contracts.comparison import assert_close as assert_close
    from grader.contracts.comparison import is_close as is_close
    from grader.course.contract import Call as Call
    from grader.course.contract import Cases as Cases
    from grader.course.contract import contract as contract
    from grader.course.kinds import data as data
    from grader.course.kinds import inputs as inputs
    from grader.course.kinds import network as network
    from grader.course.kinds import number as number
    from grader.course.kinds import optimizer as optimizer
    from grader.course.kinds import own as own
    from grader.course.kinds import pairs as pairs
    from grader.course.kinds import target as target
    from grader.course.kinds import tensor as tensor
    from grader.course.worker_code import picture as picture
    from grader.student.xray import xray as xray

#: The module of each name.
_HOMES = {
    **dict.fromkeys(
        (
            "assert_memory",
            "assert_no_side_effects",
            "assert_same_gradients",
            "assert_same_object",
            "assert_same_raised",
            "assert_same_values",
        ),
        "grader.contracts.assertions",
    ),
    "Rules": "grader.contracts.cases",
    **dict.fromkeys(("Call", "Cases", "contract"), "grader.course.contract"),
    **dict.fromkeys(
        ("data", "inputs", "network", "number", "optimizer", "own", "pairs", "target", "tensor"),
        "grader.course.kinds",
    ),
    **dict.fromkeys(("cases", "points", "raised"), "grader.contracts.check"),
    **dict.fromkeys(("assert_close", "is_close"), "grader.contracts.comparison"),
    "picture": "grader.course.worker_code",
    "xray": "grader.student.xray",
    # In a notebook `import grader` takes the name of the notebook's own `grader`, whose calls these are.
    **dict.fromkeys(("check", "check_all", "hint"), "grader.notebook"),
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 - the keys are strings
if "ipykernel" in sys.modules:  # `from grader import *` in a notebook
    __all__ = ["check", "check_all", "hint", "xray"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'grader' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
