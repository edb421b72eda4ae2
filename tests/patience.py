"""Outside: lets what hangs fail instead."""

import faulthandler
import signal
from contextlib import contextmanager


@contextmanager
def time_limit(seconds):
    """Fail what is not finished after so many seconds, and show where each thread is."""

    def fail(*_):
        faulthandler.dump_traceback()
        raise AssertionError(f"not finished after {seconds} s")

    former = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, former)
