"""The words of a file of known answers, which prove that the hidden checks judge fairly.

``tests/answers/NN_name.py`` is read as text (``doctor/known_answers.py``) and never imported, because it uses
torch. So these functions do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

Definition = TypeVar("Definition")


def accepted(question: str) -> Callable[[Definition], Definition]:
    """Mark an answer that must pass every check of its question."""
    del question
    return lambda definition: definition


def wrong(question: str) -> Callable[[Definition], Definition]:
    """Mark an answer that must fail a check of its question; ``doctor --accept`` writes down which."""
    del question
    return lambda definition: definition


def wrong_edits(question: str, edits: Mapping[str, tuple[object, ...]], *, of: str = "reference") -> None:
    """Write down wrong answers that differ from another answer in few places.

    Args:
        question: the id of their question.
        edits: for each answer by name ``(what stands there, what shall stand there, misconception)``; for
            several edits a list of pairs, and the misconception. What stands there is searched as written in
            the file, as whole words; it occurs exactly once, comments and docstrings aside.
        of: the name of the accepted answer that is edited; the master's reference where none is named.
    """
    del question, edits, of


def accepted_edits(question: str, edits: Mapping[str, tuple[object, ...]], *, of: str = "reference") -> None:
    """Write down right answers that differ from another answer in few places.

    Args:
        question: the id of their question.
        edits: for each answer by name ``(what stands there, what shall stand there, why it is right)``.
        of: as in ``wrong_edits``.
    """
    del question, edits, of


def equal(question: str, *edits: str, why: str) -> None:
    """Say of edits that no promise of the task tells the mutants from the reference.

    Args:
        question: the id of the question.
        edits: each as ``doctor --mutants`` names it, such as ``x -> x.detach()``.
        why: what makes them the same.
    """
    del question, edits, why
