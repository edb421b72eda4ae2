"""The pictures of the course; that a mistake looks different is what the doctor asks of each."""

import functools

from grader.course.course import Course, observe_reference
from grader.course.pictures import pictures_of
from grader.doctor.known_answers import answers_of
from grader.sandbox.observer import observe
from grader.sandbox.plan import TimeLimits

SEED = 5
COURSE = Course.find()


@functools.cache
def reference(zygote, stem):
    return observe_reference(zygote, COURSE, stem, SEED)


@functools.cache
def answers(stem):
    return {answer.name: answer for answer in answers_of(COURSE, stem)}


def test_a_picture_starts_where_the_question_is_decided(zygote):
    """A state that is cut before the loss is named as what the readout was given, and the cut is seen."""
    stem, wrong = "03_truncated_bptt", "detached_before_the_loss"
    rubric, answer = COURSE.rubric(stem), answers(stem)[wrong]
    evidence = observe(zygote, answer.cells, rubric.plan(SEED, only="q4"), TimeLimits())
    ((seen,),) = pictures_of(rubric, evidence, reference(zygote, stem)).values()
    assert seen.summary.startswith("into_readout has no history, though it shares memory with h4")
