"""Outside: the words of a file of known answers, which prove that the hidden checks judge fairly.

``tests/answers/NN_name.py`` is read as text (``known_answers.py``) and never imported: it uses torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Definition = TypeVar("Definition")


def accepted(question: str) -> Callable[[Definition], Definition]:
    """Mark an answer that must pass every check of its question. Decorates; does nothing else."""
    del question
    return lambda definition: definition


def wrong(
    question: str, *, fails: list[str], stops: str | None = None, public: bool = False
) -> Callable[[Definition], Definition]:
    """Mark an answer that must fail exactly these checks. Decorates; does nothing else.

    Args:
        question: the id of its question.
        fails: the names of the checks.
        stops: the class of the error with which it stops before some of these checks can judge it, such as
            ``RuntimeError``; ``timeout`` where it does not come to an end, ``fault`` where it is ended.
        public: whether the public check passes it, so that nothing tells the student before the grading.
    """
    del question, fails, stops, public
    return lambda definition: definition


def equal(question: str, *edits: str, why: str, answers: Sequence[str] = ()) -> None:
    """Say of edits that no promise of the task tells the mutants from the answers. Does nothing.

    Args:
        question: the id of the question.
        edits: each as ``doctor --mutants`` names it, such as ``x -> x.detach()``.
        why: what makes them the same.
        answers: the answers meant, by name (``reference`` for the reference's); all where none is named.
    """
    del question, edits, why, answers
