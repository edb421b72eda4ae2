"""The words of a file of known answers, which prove that the hidden checks judge fairly.

``tests/answers/NN_name.py`` is read as text (``doctor/known_answers.py``) and never imported, because it uses
torch. So these functions do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Definition = TypeVar("Definition")


def accepted(question: str) -> Callable[[Definition], Definition]:
    """Mark an answer that must pass every check of its question."""
    del question
    return lambda definition: definition


def wrong(
    question: str, *, fails: list[str], stops: str | None = None, public: bool = False
) -> Callable[[Definition], Definition]:
    """Mark an answer that must fail exactly these checks.

    Args:
        question: the id of its question.
        fails: the names of the checks.
        stops: the class of the error with which it stops before some of these checks can judge it, such as
            ``RuntimeError``; ``timeout`` where it does not end, ``fault`` where it is ended.
        public: whether the public check passes it, so that the student learns of it only by the grading.
    """
    del question, fails, stops, public
    return lambda definition: definition


def edit(
    *what: object, fails: list[str], stops: str | None = None, public: bool = False
) -> tuple[object, ...]:
    """An answer among ``wrong_edits``, as ``doctor --accept`` writes it.

    Args:
        what: what stands in the other answer, what shall stand there, and the misconception behind it; for
            several edits a list of pairs, and the misconception.
        fails: as for ``wrong``; so are `stops` and `public`.
    """
    del fails, stops, public
    return what


def wrong_edits(question: str, edits: Mapping[str, tuple[object, ...]], *, of: str = "reference") -> None:
    """Write down wrong answers that differ from another answer in few places.

    Args:
        question: the id of their question.
        edits: for each answer by name ``(what stands there, what shall stand there, misconception)``, or
            ``edit(...)`` with these and the checks it must fail. What stands there is searched as written in
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


def equal(question: str, *edits: str, why: str, answers: Sequence[str] = ()) -> None:
    """Say of edits that no promise of the task tells the mutants from the answers.

    Args:
        question: the id of the question.
        edits: each as ``doctor --mutants`` names it, such as ``x -> x.detach()``.
        why: what makes them the same.
        answers: the answers meant, by name (``reference`` for the reference's); all where none is named.
    """
    del question, edits, why, answers
