"""The pictures of the course; that a mistake looks different is what the doctor asks of each."""

from grader.course.course import Course
from grader.course.pictures import pictures_of
from grader.doctor.known_answers import answers_of
from grader.notebooks.reader import cells_of
from grader.sandbox.observer import observe
from grader.sandbox.plan import TimeLimits

SEED = 5
COURSE = Course.find()


def test_a_picture_starts_where_the_question_is_decided(zygote):
    """A state that is cut before the loss is named as what the readout was given, and the cut is seen."""
    stem, question, wrong = "03_truncated_bptt", "q4", "detached_before_the_loss"
    rubric = COURSE.rubric(stem).with_only([question])
    (answer,) = (known for known in answers_of(COURSE, stem, question) if known.name == wrong)
    reference = cells_of(COURSE.assignment(stem).cells_for(question))
    plan = rubric.plan(SEED, only=question)
    evidence, expected = (observe(zygote, cells, plan, TimeLimits()) for cells in (answer.cells, reference))
    ((seen,),) = pictures_of(rubric, evidence, expected).values()
    assert seen.summary.startswith("into_readout is not connected to a graph, though it shares memory with")
