"""Reads single keys from a terminal, without Enter.

What reads them is imported when it is needed, because each system has its own.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable

_STDIN = 0
_MOST = 64  # bytes of one read: a person types fewer between two looks


def open_keyboard() -> Callable[[], None] | None:
    """Let keys be read one by one; returns a function that restores the terminal, None if there is none."""
    if sys.stdin is None or not sys.stdin.isatty():
        return None
    if sys.platform == "win32":
        return lambda: None
    import termios  # noqa: PLC0415 - Windows has none
    import tty  # noqa: PLC0415

    if _is_in_background():
        return None
    former = termios.tcgetattr(_STDIN)
    tty.setcbreak(_STDIN)
    return lambda: termios.tcsetattr(_STDIN, termios.TCSANOW, former)


def _is_in_background() -> bool:
    """Whether the keys go to another program: who reads them all the same is stopped by the system."""
    try:
        return os.tcgetpgrp(_STDIN) != os.getpgrp()
    except OSError:  # nobody's jobs are controlled from this terminal
        return False


def read_keys() -> str:
    """The keys that were pressed since the last call, in lower case; it does not wait."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - only Windows has it

        keys = ""
        while msvcrt.kbhit():
            key = msvcrt.getwch()
            if key in "\0\xe0":  # an arrow or a function key, whose second half follows
                msvcrt.getwch()
            else:
                keys += key.lower()
        return keys
    if not select.select([_STDIN], [], [], 0)[0]:
        return ""
    typed = os.read(_STDIN, _MOST)
    return "" if typed.startswith(b"\x1b") else typed.decode(errors="replace").lower()  # an arrow key
