"""Tries the known answers, references and stubs of an assignment's questions, and its untouched notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.course.assignment import Question
from grader.course.course import Course
from grader.doctor.hidden_trial import DRAWS, REFERENCE, STUB, HiddenTrial
from grader.doctor.judged import JudgedQuestion
from grader.doctor.known_answers import Answer
from grader.doctor.misspelt_names import undefined_names
from grader.doctor.public_trial import PublicTrial, begin_untouched
from grader.doctor.reused_worker import ObserverPool
from grader.memory import Memory


@dataclass(frozen=True)
class Trials:
    """The trials of an assignment's known answers and of its untouched notebook."""

    course: Course
    stem: str
    observers: ObserverPool
    seeds: Sequence[int]
    memory: Memory

    def begin(self, answers: Sequence[Answer], only: str | None) -> list[Callable[[], JudgedQuestion]]:
        """Begin to try answers to all questions, or to one; each function waits for a question's end."""
        not_run = {name for users in undefined_names(answers).values() for name in users}
        return [
            self._begin(question, [a for a in answers if a.question == question.id and a.name not in not_run])
            for question in self.course.assignment(self.stem).questions
            if only in {None, question.id}
        ]

    def _begin(self, question: Question, answers: Sequence[Answer]) -> Callable[[], JudgedQuestion]:
        hidden = HiddenTrial(self.course, self.stem, question, self.seeds, self.observers, self.memory)
        public = PublicTrial(question, self.course.settings.limits, self.observers, self.memory)
        notebooks = hidden.notebooks(answers)
        fails = {REFERENCE: frozenset[str](), DRAWS: frozenset[str]()}
        fails |= {a.name: a.fails or frozenset() for a in answers}
        passes = {REFERENCE: True, STUB: False, **{a.name: a.public or a.fails is None for a in answers}}
        checked = {name: notebooks[name] for name in passes} if question.public_check else {}
        tried = hidden.begin(notebooks, fails)
        public_failures = public.begin(checked, passes)
        return lambda: JudgedQuestion(
            question=question,
            checks=hidden.rubric.checks,
            answers=answers,
            tried=tried(),
            public_failures=public_failures(),
            pictures=hidden.rubric.pictures,
            path=self.course.answers_file(self.stem),
            seeds=self.seeds,
            partial_credit=self.course.settings.partial_credit,
        )

    def begin_untouched(self) -> Callable[[], list[str]]:
        """Begin to run the untouched notebook; the function waits for the complaints."""
        limits = self.course.settings.limits
        assignment, rubric = self.course.assignment(self.stem), self.course.rubric(self.stem)
        points, seed = self.course.points(self.stem), self.seeds[0]
        return begin_untouched(assignment, points, rubric.plan(seed), limits, self.observers, self.memory)
