"""Outside: the errors a person can meet, each of which becomes one sentence on the terminal."""


class GraderError(Exception):
    """Something the person at the keyboard can mend; the text says what, where and what to do next."""

    exit_status = 2


class ProtectionError(GraderError):
    """The protection asked for is not to be had on this system."""

    exit_status = 3


class CourseError(GraderError):
    """A file of the course contradicts itself or its neighbours; the author has to mend it."""

    exit_status = 1


class BrokenRunError(GraderError):
    """Grading itself failed: a process died, the disk is full; running again goes on where it stopped."""

    exit_status = 1
