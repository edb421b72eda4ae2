"""The kill matrix has a row for each wrong answer and a column for each check that fails some of them."""

from grader.doctor.review import AnswerReport, redundant_answers
from grader.doctor.terminal import answer_messages, kill_matrices


def test_rows_are_answers_and_columns_are_checks():
    """A cross stands where a check fails an answer, in the order of the file; each question has a matrix."""
    diagnoses = [
        AnswerReport("q2", "late", {"test_c": ""}),
        AnswerReport("q10", "both", {"test_b": "", "test_a": ""}),
        AnswerReport("q10", "none", {}),
        AnswerReport("q10", "one", {"test_b": ""}),
    ]
    first, second = kill_matrices(diagnoses, ["test_a", "test_idle", "test_b", "test_c"])
    assert first.splitlines() == ["q2     1", "       ✗  late", "failed 1  of 1", "     1 test_c"]
    assert second.splitlines() == [
        "q10    1 2",
        "       ✗ ✗  both",
        "       · ·  none",
        "       · ✗  one",
        "failed 1 2  of 3",
        "     1 test_a",
        "     2 test_b",
    ]


def test_columns_stay_under_each_other_beyond_nine():
    checks = [f"test_{letter}" for letter in "abcdefghij"]
    (matrix,) = kill_matrices(
        [AnswerReport("q1", "all", dict.fromkeys(checks, "")), AnswerReport("q1", "last", {checks[-1]: ""})],
        checks,
    )
    head, every, last, *_ = matrix.splitlines()
    assert head.index("10") + 1 == last.index("✗")
    assert len(head) + len("  all") == len(every)


def test_wrong_answers_that_all_get_away_are_still_shown():
    (matrix,) = kill_matrices([AnswerReport("q1", "squared", {})], ["test_a"])
    assert "squared" in matrix


def test_a_check_that_judged_nothing_has_killed_nothing():
    """Where an answer stopped before a check could judge it, the cell says so; the column does not count."""
    crashed = AnswerReport("q1", "crashed", dict.fromkeys(("test_a", "test_b"), ""), frozenset({"test_a"}))
    (matrix,) = kill_matrices([crashed, AnswerReport("q1", "other", {"test_b": ""})], ["test_a", "test_b"])
    assert matrix.splitlines()[1:4] == ["       ! ✗  crashed", "       · ✗  other", "failed 0 2  of 2"]


def test_every_sentence_is_told_once():
    """Each failed check's sentence stands there with the number of its column; equal ones are one."""
    diagnoses = [
        AnswerReport("q1", "cut", {"test_c": "No graph.", "test_a": "No graph.", "test_b": "Not 2."}),
        AnswerReport("q1", "away", {}),
        AnswerReport("q2", "late", {"test_d": "Late."}),
    ]
    assert [*answer_messages(diagnoses, ["test_a", "test_b", "test_c", "test_d"])] == [
        ("q1", "cut", "1, 3", "No graph."),
        ("q1", "cut", "2", "Not 2."),
        ("q1", "away", "", ""),
        ("q2", "late", "1", "Late."),
    ]


def test_an_answer_is_redundant_if_the_others_distinguish_as_much():
    """Of two answers that distinguish the same, the last is redundant; without it, the first is not."""
    wrong = [
        AnswerReport("q1", "first", {}, distinguishes=["test_a", "test_a: values"]),
        AnswerReport("q1", "same", {}, distinguishes=["test_a", "test_a: values"]),
        AnswerReport("q1", "needs a level", {}, distinguishes=["test_a", "call.mode=off"]),
        AnswerReport("q1", "covered by two", {}, distinguishes=["test_a: values", "call.mode=off"]),
    ]
    assert redundant_answers(wrong) == ["covered by two", "same"]
    assert redundant_answers(wrong[:1]) == []
