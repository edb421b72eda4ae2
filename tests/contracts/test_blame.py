"""Which case a message is about, and which of its variations it names."""

import pytest

from grader.contracts.blame import case_to_report, named_case
from grader.contracts.cases import Case, DeclaredCase, Rules

PHRASES = {"a": "is large", "b": "is transposed", "c": "is empty", "d": "is frozen"}


def cases(*rows):
    """Cases in which the factors of some arguments vary, each argument named like its factor: ``"a c"``."""
    variations = [{f"{each}.factor": PHRASES[each] for each in row.split()} for row in rows]
    declared = [DeclaredCase(dict.fromkeys(of_row, "level"), of_row) for of_row in variations]
    return [Case("f", case, Rules(), (), {}, {}) for case in declared]


@pytest.mark.parametrize(
    ("rows", "failed", "named"),
    [
        (["", "a", "b", "a b"], [1, 3], "Where `a` is large"),
        (["", "a", "b", "a b"], [3], "Where `a` is large and `b` is transposed"),
        (["", "a", "b", "c", "a b c", "a c", "b c"], [4], "Where `a` is large and `b` is transposed"),
        (["", "a", "b", "c", "d", "a c", "b d"], [1, 4, 5, 6], "For example, where `a` is large"),
        (["", "b", "a b", "a b c"], [2, 3], "Where `a` is large"),
        (["", "a b"], [1], "Where `a` is large and `b` is transposed"),
        (["", "a b c"], [1], "For example, where `a` is large, `b` is transposed, and `c` is empty"),
        (["", "a", "b", "c", "a b c d"], [4], "Where `d` is frozen"),
        (["", "a b c", "b c d"], [1, 2], "Where `b` is transposed and `c` is empty"),
        (["", "a"], [0, 1], ""),
    ],
)
def test_a_message_names_the_shortest_explanation_or_an_example(rows, failed, named):
    made = cases(*rows)
    assert named_case(made, dict.fromkeys(failed), failed[0]) == (named, named.startswith("For example"))


@pytest.mark.parametrize(
    ("rows", "failed", "reported"),
    [
        (["", "a", "b", "a b"], [0, 1], 0),
        (["", "a b", "b"], [1, 2], 2),
        (["", "a", "b", "b c", "b d"], [1, 2, 3, 4], 2),
        (["", "a", "b"], [1, 2], 1),
    ],
)
def test_the_reported_case_is_the_simplest_and_most_common(rows, failed, reported):
    assert case_to_report(cases(*rows), dict.fromkeys(failed)) == reported
