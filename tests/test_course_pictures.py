"""The pictures of the course: a classic mistake looks different from the reference."""

import functools

import pytest

from grader.course import Course
from grader.drawing.picture import pictures_of
from grader.known_answers import answers_of
from grader.live import observe_reference
from grader.observer import observe
from grader.questionnaire import Limits

SEED = 5
COURSE = Course.find()

# One wrong answer for each picture, and words that only its drawing or its summary has.
MISTAKES = {
    "loss_of_the_weight": ("01_leaves", "retained_gradient", "retains grad, .grad None"),
    "output_of_the_model": ("01_leaves", "backward_into_everything", "<b>shift</b><br/>leaf, .grad set"),
    "outputs_of_two_layers": ("01_leaves", "asked_after_backward", "retains grad, .grad None"),
    "total_of_two_losses": ("01_leaves", "sum_of_items", "total has no history"),
    "leaves_after_a_weighted_backward": ("01_leaves", "weights_in_the_graph", "<b>q</b><br/>leaf, .grad set"),
    "second_minibatch": (
        "03_truncated_bptt",
        "detach_without_assigning",
        "4 of them have freed saved tensors",
    ),
    "repackaged_pair": ("03_truncated_bptt", "detach_in_place", "<b>result[0]</b><br/><b>h</b>"),
    "second_chunk": ("03_truncated_bptt", "retain_instead_of_cutting", "13 nodes behind h2"),
    "two_minibatches": ("03_truncated_bptt", "start_from_the_data_of_h0", "no arrow arrives"),
    "second_batch": ("03_truncated_bptt", "UpdateInPlaceWhileRecording", "<b>running</b><br/>Add"),
    "loss_of_the_old_values": ("05_inplace_reinit", "filled_through_data", "backward would work"),
    "output_after_the_reset": ("05_inplace_reinit", "a_whole_new_layer", "no arrow arrives"),
    "product_of_the_masked": (
        "05_inplace_reinit",
        "written_under_no_grad_before_the_product",
        "<b>d</b><br/>Mm",
    ),
    "block_before_backward": ("05_inplace_reinit", "only_the_shift_in_place", "result: saved v0"),
    "teacher_after_two_updates": ("05_inplace_reinit", "student_updated_too", "self: saved"),
    "next_loss": ("05_inplace_reinit", "a_detached_copy_trained", "<b>w_v0</b>"),
}


@functools.cache
def reference(zygote, stem):
    return observe_reference(zygote, COURSE, stem, SEED)


@functools.cache
def answers(stem):
    return {answer.name: answer for answer in answers_of(COURSE, stem)}


def test_every_picture_has_its_mistake():
    """No picture is left out of the table above."""
    assert set(MISTAKES) == {name for stem in COURSE.stems for name in COURSE.rubric(stem).pictures}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_looks_different(name, zygote):
    """Who sees both drawings sees what is wrong, by a word and not by colour alone."""
    stem, wrong, words = MISTAKES[name]
    rubric, answer, right = COURSE.rubric(stem), answers(stem)[wrong], reference(zygote, stem)
    assert (answer.question, answer.fails is None) == (rubric.shows[name], False)
    asked = rubric.questionnaire(SEED, only=answer.question)
    ((seen,),) = pictures_of(rubric, observe(zygote, answer.cells, asked, Limits()), right).values()
    (expected,) = pictures_of(rubric, right, right)[answer.question]
    assert words in seen.mermaid + seen.summary
    assert words not in expected.mermaid + expected.summary
    assert seen.svg != expected.svg
    assert seen.caption == expected.caption == rubric.pictures[name].caption
    assert (seen.reference is not None) == rubric.pictures[name].reference
    assert len(seen.caption) < 110


def test_a_picture_starts_where_the_question_is_decided(zygote):
    """A state that is cut before the loss is named as what the readout was given, and the cut is seen."""
    stem, wrong = "03_truncated_bptt", "detached_before_the_loss"
    rubric, answer = COURSE.rubric(stem), answers(stem)[wrong]
    evidence = observe(zygote, answer.cells, rubric.questionnaire(SEED, only="q4"), Limits())
    ((seen,),) = pictures_of(rubric, evidence, reference(zygote, stem)).values()
    assert seen.summary.startswith("into_readout has no history, though it shares memory with h4")
