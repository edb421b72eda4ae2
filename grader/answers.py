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
    """Mark an answer that must fail a check of its question; ``doctor --accept`` records which."""
    del question
    return lambda definition: definition


def wrong_edits(question: str, edits: Mapping[str, tuple[object, ...]], *, of: str = "reference") -> None:
    """Declare known-wrong answers that differ from another answer in few places.

    Args:
        question: the id of their question.
        edits: for each answer by name ``(old text, new text, misconception)``; for several edits a list of
            pairs, and the misconception. The old text is searched as written in the file, as whole words; it
            must occur exactly once outside of comments and docstrings.
        of: the name of the known-correct answer that is edited; by default the reference.
    """
    del question, edits, of


def accepted_edits(question: str, edits: Mapping[str, tuple[object, ...]], *, of: str = "reference") -> None:
    """Declare known-correct answers that differ from another answer in few places.

    Args:
        question: the id of their question.
        edits: for each answer by name ``(old text, new text, why it is right)``.
        of: as in ``wrong_edits``.
    """
    del question, edits, of


def equal(question: str, *edits: str, why: str) -> None:
    """Declare equivalent mutants: edits of the reference that break no promise of the task.

    Args:
        question: the id of the question.
        edits: each as ``doctor --mutants`` names it, such as ``x -> x.detach()``.
        why: the reason why they are equivalent.
    """
    del question, edits, why
