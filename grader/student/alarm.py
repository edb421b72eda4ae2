"""On a student's machine: the alarm that Windows does not have, but that the worker's cells import.

There a cell is only ended from outside, by ending the process (``child.py``), and the others run again.
"""

import signal

IS_THERE = hasattr(signal, "setitimer")
"""Whether a cell can be ended from within."""

if not IS_THERE:
    _NO_ALARM = {
        "setitimer": lambda *_: None,
        "ITIMER_REAL": 0,
        "SIGALRM": signal.SIGTERM,  # a signal that may have a handler there, and that nobody sends
    }
    vars(signal).update(_NO_ALARM)
