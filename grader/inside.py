"""The vocabulary of @inside functions, as placeholders; the real functions exist only in the worker.

A check file imports these names so that editors, linters and readers know them; ``inside.pyi`` documents
them. The source of a contract is sent to the worker, which has the real ``torch``
(``grader/runtime/vocabulary.py``). Used outside, a placeholder raises an error.
"""

from typing import TypeVar

from grader.course.inside_source import PLACEHOLDERS, InsideSource

Definition = TypeVar("Definition")

globals().update(PLACEHOLDERS)


def inside(definition: Definition) -> Definition:
    """Mark a helper function or class that is sent with the contracts and pictures which use it.

    Args:
        definition: a function or class of a check file or of ``tests/hidden/inside.py``.

    Raises:
        CourseError: it uses a name that cannot be sent.
    """
    InsideSource.of(definition)
    return definition
