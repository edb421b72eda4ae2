"""The doctor's report about an assignment, and its complaints about each judged question."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from grader.doctor.hidden_trial import DRAWS, REFERENCE, STUB
from grader.doctor.judged import JudgedQuestion
from grader.doctor.known_answers import Answer
from grader.doctor.outcomes import Outcome, Outcomes, changed_outcomes
from grader.doctor.question_review import public_complaints, stub_complaints
from grader.grading.judge import Verdict
from grader.grading.scoring import PartialCredit, earned, is_passed
from grader.sandbox.evidence import UNJUDGED
from grader.scores import total


@dataclass
class AssignmentReport:
    """The findings about an assignment.

    Attributes:
        kills: for each check, how many wrong answers it fails, without those that stopped before.
        diagnoses: of the wrong answers.
        answers: the number of accepted and of wrong answers.
        public: (question, name) of each wrong answer that passes its public check.
        accepted: names of the wrong answers whose outcomes ``--accept`` changed or removed.
        todos: the lines that say TODO; their questions and answers were left out.
    """

    stem: str
    complaints: list[str] = field(default_factory=list)
    kills: dict[str, int] = field(default_factory=dict)
    diagnoses: list[AnswerReport] = field(default_factory=list)
    answers: tuple[int, int] = (0, 0)
    public: list[tuple[str, str]] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    todos: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The form in the doctor's memory."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> AssignmentReport:
        """From the form in the doctor's memory."""
        return msgspec.convert(stored, cls)


class AnswerReport(NamedTuple):
    """The outcome of a wrong answer.

    Attributes:
        failed: the message of each check that it fails, by the check's name.
        stopped: the failed checks that judged nothing, because the answer stopped before.
    """

    question: str
    name: str
    failed: Mapping[str, str]
    stopped: Collection[str] = ()

    def mark(self, check: str) -> str:
        """The entry of the matrix."""
        return "·" if check not in self.failed else "!" if check in self.stopped else "✗"


def add_complaints(report: AssignmentReport, judged: JudgedQuestion) -> None:
    """Add the findings about a question to the report of its assignment."""
    report.complaints += _about_broken_checks(judged)
    report.complaints += judged.tried[REFERENCE].complaints
    report.complaints += [*_about_reference(judged)] or [*_about_late_draws(judged)]
    about_stub = [*stub_complaints(judged.question, judged.checks, judged.tried[STUB].verdicts)]
    report.complaints += about_stub
    for answer in judged.answers:
        report.complaints += _about_answer(judged, answer)
    failures = [check for answer in judged.wrong for check in judged.killed_by(answer)]
    kills = {check.id: failures.count(check.id) for check in judged.checks}
    idle = [check for check, number in kills.items() if number == 0]
    report.complaints += [f"{check} fails no wrong answer: what is it for?" for check in idle]
    report.complaints += _about_pictures(judged)
    report.complaints += public_complaints(
        judged.question,
        judged.public_failures,
        judged.answers,
        reference=REFERENCE,
        stub=None if about_stub else STUB,
    )
    report.kills.update(kills)
    report.diagnoses += (_answer_report(judged, answer) for answer in judged.wrong)
    report.public += [(a.question, a.name) for a in judged.wrong if judged.passes_public(a)]
    right, wrong = report.answers
    report.answers = right + len(judged.answers) - len(judged.wrong), wrong + len(judged.wrong)


def _answer_report(judged: JudgedQuestion, answer: Answer) -> AnswerReport:
    failed, verdicts = judged.failed(answer.name), judged.tried[answer.name].verdicts
    messages = {check: _message(verdicts.get(check)) for check in failed}
    stopped = [check for check in failed if check not in judged.killed_by(answer)]
    return AnswerReport(answer.question, answer.name, messages, stopped)


def outcomes_now(
    judged: Sequence[JudgedQuestion], answers: Sequence[Answer], before: Outcomes
) -> dict[str, dict[str, Outcome]]:
    """What became of the wrong answers to some questions that a check fails, in the order of the file.

    Of an answer that could not be judged, because a check broke on it or a name in it is misspelt, it is what
    was known before.
    """
    observed = {
        answer.name: question.outcome(answer)
        for question in judged
        for answer in question.wrong
        if not any(map(_is_broken, question.tried[answer.name].verdicts.values()))
    }
    outcomes: dict[str, dict[str, Outcome]] = {question.question.id: {} for question in judged}
    for answer in (answer for answer in answers if answer.is_wrong):
        known = observed.get(answer.name) or before.get(answer.question, {}).get(answer.name)
        if known is not None and known.fails:
            outcomes[answer.question][answer.name] = known
    return outcomes


def complaints_about_outcomes(
    judged: Sequence[JudgedQuestion], before: Outcomes, now: Outcomes, file: Path
) -> Iterator[str]:
    """A sentence for each outcome of which the file has no line, or another one."""
    for question, answer, outcome in _changed(judged, before, now):
        line = before.get(answer.question, {}).get(answer.name)
        said = f"of which {file.name} has no line" if line is None else f"but {file.name}: {line}"
        seen = _about_a_stop(question, answer, outcome, line) or f"{answer} {outcome}"
        yield f"{seen}, {said}. Mend it, or run --accept and read the diff of that file"


def complaints_about_accepted_stops(
    judged: Sequence[JudgedQuestion], before: Outcomes, now: Outcomes
) -> Iterator[str]:
    """A sentence for each answer that newly stops, for nobody accepts such an answer without being told.

    One that stops by a slip of its author would count as a wrong answer that many checks fail.
    """
    for question, answer, outcome in _changed(judged, before, now):
        stop = _about_a_stop(question, answer, outcome, before.get(answer.question, {}).get(answer.name))
        if stop:
            yield f"{stop}. That is written down now; if the answer is not meant to stop, mend it"


def _changed(
    judged: Sequence[JudgedQuestion], before: Outcomes, now: Outcomes
) -> Iterator[tuple[JudgedQuestion, Answer, Outcome]]:
    changed = set(changed_outcomes(before, now))
    for question in judged:
        for answer in question.wrong:
            outcome = now[answer.question].get(answer.name)
            if outcome is not None and answer.name in changed:
                yield question, answer, outcome


def _about_a_stop(judged: JudgedQuestion, answer: Answer, outcome: Outcome, line: Outcome | None) -> str:
    """Which error newly stops a wrong answer, where, and which checks cannot judge it; else nothing."""
    if not outcome.stops or (line is not None and line.stops == outcome.stops):
        return ""
    unjudged = [check for check in outcome.fails if check not in judged.killed_by(answer)]
    why = judged.placed(_message(judged.tried[answer.name].verdicts[unjudged[0]]), answer).rstrip(".")
    return (
        f"{answer} stops with {' and '.join(outcome.stops)}, so {', '.join(unjudged)} cannot judge it: {why}"
    )


def complaints_about_lines(
    answers: Sequence[Answer], before: Outcomes, now: Outcomes, file: Path
) -> list[str]:
    """A sentence about the lines of answers to the questions in `now` that are gone, or right."""
    wrong = {answer.name for answer in answers if answer.is_wrong}
    gone = [name for question in now for name in before.get(question, {}) if name not in wrong]
    return [f"{file}: there is no wrong answer {', '.join(gone)}; --accept removes that"] if gone else []


def _about_broken_checks(judged: JudgedQuestion) -> Iterator[str]:
    """Checks that broke instead of judging; each file and line once."""
    causes: dict[str, str] = {}
    for tried in judged.tried.values():
        for check, verdict in tried.all_verdicts():
            if verdict.cause is not None:
                causes.setdefault(
                    verdict.cause.line or verdict.cause.message, f"{check} broke: {verdict.cause}"
                )
    yield from causes.values()


def _about_pictures(judged: JudgedQuestion) -> Iterator[str]:
    """Pictures that show the same of a right answer, of the stub and of all wrong answers."""
    for picture, shown in judged.tried[REFERENCE].pictures.items():
        others = [judged.tried[name].pictures[picture] for name in (STUB, *(a.name for a in judged.wrong))]
        where = f"{judged.pictures[picture].source.where}: picture {picture}"
        if shown and all(other in {shown, ""} for other in others):
            yield (
                f"{where} shows the same of the reference, of the stub and of every wrong answer: what is it"
                " for?"
            )
        for answer in judged.answers:
            if not answer.is_wrong and shown and not judged.tried[answer.name].pictures[picture]:
                yield f"{where} shows nothing of {answer}, which is right"


def _is_broken(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.cause is not None


def _message(verdict: Verdict | None) -> str:
    return verdict.message if verdict and verdict.message else UNJUDGED


def _about_reference(judged: JudgedQuestion) -> Iterator[str]:
    """Checks that fail the reference with any seed."""
    tried = judged.tried[REFERENCE]
    for seed, verdicts in {judged.seeds[0]: tried.verdicts, **tried.otherwise}.items():
        for check in judged.checks:
            verdict = verdicts.get(check.id)
            if not is_passed(check, verdicts) and not _is_broken(verdict):
                yield f"{check.id} fails the reference (seed {seed}): {_message(verdict)}"


def _about_late_draws(judged: JudgedQuestion) -> Iterator[str]:
    """Checks that fail the reference if it draws at random after its work."""
    tried = judged.tried[DRAWS]
    for check in judged.checks:
        verdict = tried.verdicts.get(check.id)
        if not is_passed(check, tried.verdicts) and not _is_broken(verdict):
            yield (
                f"{check.id} fails a right answer that draws random numbers, too: {_message(verdict)} One of"
                f" its probes ({', '.join(check.probes)}) draws after it has called the student: draw all"
                " inputs before the first call"
            )


def _about_answer(judged: JudgedQuestion, answer: Answer) -> Iterator[str]:
    """A right answer passes every check, a wrong answer fails some and earns little; all seeds agree."""
    tried = judged.tried[answer.name]
    broken = {check for check, verdict in tried.verdicts.items() if _is_broken(verdict)}
    failed = [check for check in judged.failed(answer.name) if check not in broken]
    credit = PartialCredit.of(judged.partial_credit, judged.checks, judged.tried[STUB].verdicts)
    most = credit.most * total(check.points for check in judged.checks)
    if not answer.is_wrong and failed:
        why = judged.placed(_message(tried.verdicts.get(failed[0])), answer)
        yield f"{answer} is right, but fails {', '.join(failed)}: {why}"
    elif answer.is_wrong and not failed and not broken:
        yield f"{answer} is wrong, and no hidden check fails it: write a check, or mark it @accepted"
    elif answer.is_wrong and earned(judged.checks, tried.verdicts, credit) > most:
        part = "half" if credit.most == 1 / 2 else f"{credit.most:g} of the question, the partial credit"
        yield f"{answer} is wrong and earns more than {part}"
    yield from _about_other_seeds(judged, answer)


def _about_other_seeds(judged: JudgedQuestion, answer: Answer) -> Iterator[str]:
    """Which check judges otherwise with another seed, its message there, and how to look at it."""
    tried, first = judged.tried[answer.name], judged.seeds[0]
    for seed, verdicts in tried.otherwise.items():
        for check in judged.checks:
            before, now = is_passed(check, tried.verdicts), is_passed(check, verdicts)
            if before != now:
                failed = tried.verdicts if now else verdicts
                message = judged.placed(_message(failed.get(check.id)), answer)
                passing, failing = (first, seed) if before else (seed, first)
                look = f"try {judged.path.stem} {' '.join(check.probes)} --answer {answer.name} --seed {seed}"
                yield (
                    f"{answer.question}, {answer.name}: seed {seed} judges otherwise than seed {first}: it"
                    f" passes {check.id} with seed {passing} and fails it with seed {failing}: {message} Look"
                    f" at it with `{look}`"
                )
