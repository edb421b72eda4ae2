"""Outside: a grader for autograd exercises that keeps students' code away from its verdicts.

An author of hidden checks writes with what is named here and in ``grader.inside``.
"""

__version__ = "1.0.0"

import gc

from grader import interrupt

if interrupt.is_the_command():  # before the half second of imports, so that Ctrl-C is quiet in it too
    interrupt.arm()
    gc.disable()  # nothing that is imported is garbage; enabled again by `grader.cli`

from grader.check import assert_close, points, raised
from grader.picture import Picture  # before the decorator, whose name else would become the module's
from grader.probe import picture, probe
from grader.xray import xray

__all__ = ["Picture", "__version__", "assert_close", "picture", "points", "probe", "raised", "xray"]
