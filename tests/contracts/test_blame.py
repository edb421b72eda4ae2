"""Which variations of a failed case its message names."""

import pytest

from grader.contracts.blame import named_case
from grader.contracts.cases import Case, DeclaredCase, Rules

PHRASES = {"a": "is large", "b": "is transposed", "c": "is empty", "d": "is frozen"}


def cases(*rows):
    """Cases in which the factors of some arguments vary, each argument named like its factor: ``"a c"``."""
    return [
        Case(
            "f",
            DeclaredCase(
                {f"{each}.factor": "level" for each in row.split()},
                {f"{each}.factor": PHRASES[each] for each in row.split()},
            ),
            Rules(),
            (),
            {},
            {},
        )
        for row in rows
    ]


@pytest.mark.parametrize(
    ("rows", "failed", "named"),
    [
        (["", "a", "b", "a b"], [1, 3], "Where a is large"),
        (["", "a", "b", "a b"], [3], "Where a is large and b is transposed"),
        (["", "a", "b", "c", "a b c", "a c", "b c"], [4], "Where a is large and b is transposed"),
        (["", "a", "b", "c", "d", "a c", "b d"], [1, 4, 5, 6], "Where a is large"),
        (["", "b", "a b", "a b c"], [2, 3], "Where a is large"),
        (["", "a b"], [1], "Where a is large and b is transposed"),
        (["", "a b c"], [1], ""),
        (["", "a", "b", "c", "d", "a b c d"], [5], ""),
        (["", "a b c", "b c d"], [1, 2], "Where b is transposed and c is empty"),
        (["", "a"], [0, 1], ""),
    ],
)
def test_a_message_names_the_shortest_explanation_or_no_variation(rows, failed, named):
    """It names what alone explains the failures; not one of several explanations, and no long list."""
    made = cases(*rows)
    assert named_case(made, dict.fromkeys(failed), failed[0]) == named
