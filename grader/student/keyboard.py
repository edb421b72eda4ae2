"""The keys of a terminal as they are pressed, one by one and without Enter."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

_STDIN = 0
_MOST = 64  # bytes of one read: a person types fewer between two looks

if sys.platform == "win32":
    import msvcrt

    def read_keys() -> str:
        """The keys that were pressed since the last call, in lower case; it does not wait."""
        keys = ""
        while msvcrt.kbhit():
            key = msvcrt.getwch()
            if key in "\0\xe0":  # an arrow or a function key, whose second half follows
                msvcrt.getwch()
            else:
                keys += key.lower()
        return keys

    def open_keyboard() -> Callable[[], None] | None:
        """Let keys be read one by one; gives what puts the terminal back, None where there is no terminal."""
        return (lambda: None) if sys.stdin is not None and sys.stdin.isatty() else None

else:
    import select
    import termios
    import tty

    def read_keys() -> str:
        """The keys that were pressed since the last call, in lower case; it does not wait."""
        if not select.select([_STDIN], [], [], 0)[0]:
            return ""
        typed = os.read(_STDIN, _MOST)
        return "" if typed.startswith(b"\x1b") else typed.decode(errors="replace").lower()  # an arrow key

    def open_keyboard() -> Callable[[], None] | None:
        """Let keys be read one by one; gives what puts the terminal back, None where there is no terminal."""
        if not os.isatty(_STDIN) or _is_in_background():
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
