"""The doctor's report about an assignment: contradictions in its questions, and its kill matrix."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from grader.contracts.check import Check
from grader.course.outcomes import Outcome, Outcomes
from grader.doctor.known_answers import Answer
from grader.doctor.trials import (
    PERTURBED_REFERENCE,
    RANDOM_REFERENCE,
    REFERENCE,
    STARTER_CODE,
    JudgedQuestion,
)
from grader.grading.judge import Verdict
from grader.grading.scoring import PartialCredit, earned, is_passed
from grader.sandbox.evidence import UNJUDGED
from grader.scores import total

#: Starter code that stops with such an error does not run, so its mistake is not the one it should show.
_DOES_NOT_RUN = {
    *("NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "NotImplementedError"),
    *("SyntaxError", "IndentationError", "TabError"),
}


@dataclass
class AssignmentReport:
    """The findings about an assignment.

    Attributes:
        kills: for each check, how many known-wrong answers it fails, without those that stopped before.
        wrong: the known-wrong answers.
        accepted: the number of known-correct answers.
        written: names of the known-wrong answers whose outcomes ``--accept`` changed or removed.
        todos: the lines that say TODO; their questions and answers were left out.
        idle_levels: by question, the levels of its contracts that no known-wrong answer needs.
    """

    stem: str
    complaints: list[str] = field(default_factory=list)
    kills: dict[str, int] = field(default_factory=dict)
    wrong: list[AnswerReport] = field(default_factory=list)
    accepted: int = 0
    written: list[str] = field(default_factory=list)
    todos: list[str] = field(default_factory=list)
    idle_levels: dict[str, list[str]] = field(default_factory=dict)


class AnswerReport(NamedTuple):
    """The outcome of a known-wrong answer.

    Attributes:
        failed: the message of each check that it fails, by the check's name.
        stopped: the failed checks that judged nothing, because the answer stopped before.
        public: whether the public check passes it.
        distinguishes: the checks that it fails, the levels that it needs, and the groups of its findings.
    """

    question: str
    name: str
    failed: Mapping[str, str]
    stopped: Collection[str] = ()
    public: bool = False
    distinguishes: Collection[str] = ()

    def mark(self, check: str) -> str:
        """The entry of the matrix."""
        return "·" if check not in self.failed else "!" if check in self.stopped else "✗"


def add_question(report: AssignmentReport, judged: JudgedQuestion) -> None:
    """Add the findings about a question to the report of its assignment."""
    answers, wrong = judged.trial.answers, judged.wrong
    report.complaints += _about_broken_checks(judged)
    report.complaints += judged.judged[REFERENCE].complaints
    report.complaints += _about_reference(judged)
    about_starter_code = _about_starter_code(judged)
    report.complaints += about_starter_code
    for answer in answers:
        report.complaints += _about_answer(judged, answer)
        report.complaints += _about_other_seeds(judged, answer)
    failures = [check for answer in wrong for check in judged.killed_by(answer)]
    kills = {check.id: failures.count(check.id) for check in judged.checks}
    idle = [check for check, number in kills.items() if number == 0]
    report.complaints += [
        f"{check} fails no known-wrong answer: add an answer that it catches, or remove it" for check in idle
    ]
    report.complaints += _about_pictures(judged)
    report.complaints += _about_public_check(judged, starter_code_is_answer=bool(about_starter_code))
    report.kills.update(kills)
    for answer in wrong:
        failed, verdicts = judged.failed(answer.name), judged.judged[answer.name].verdicts
        messages = {check: _message(verdicts.get(check)) for check in failed}
        stopped = [check for check in failed if check not in judged.killed_by(answer)]
        public, distinguished = judged.passes_public(answer), sorted(_distinguished(judged, answer))
        report.wrong.append(
            AnswerReport(answer.question, answer.name, messages, stopped, public, distinguished)
        )
    report.accepted += len(answers) - len(wrong)
    if idle_levels := [*_idle_levels(judged)]:
        report.idle_levels[judged.trial.question.id] = idle_levels


def _idle_levels(judged: JudgedQuestion) -> Iterator[str]:
    """The levels of contracts that no known-wrong answer needs, because it fails in other cases, too."""
    for name, contract in judged.trial.rubric.contracts.items():
        needed = {kind for answer in judged.wrong for kind in judged.judged[answer.name].kinds.get(name, ())}
        yield from (level for level in contract.variations if level not in needed)


def _distinguished(judged: JudgedQuestion, answer: Answer) -> set[str]:
    """The checks that a known-wrong answer fails, the levels it needs, and the groups of its findings."""
    of_answer = judged.judged[answer.name]
    levels = {f"{name}: {kind}" for name, kinds in of_answer.kinds.items() for kind in kinds}
    verdicts = (of_answer.verdicts.get(check) for check in judged.failed(answer.name))
    groups = {verdict.finding.group for verdict in verdicts if verdict and verdict.finding}
    return {*judged.killed_by(answer), *levels, *groups}


def redundant_answers(answers: Sequence[AnswerReport]) -> list[str]:
    """The known-wrong answers to a question without which the others distinguish as much, the last first."""
    redundant: list[str] = []
    for answer in reversed(answers):
        others = (other for other in answers if other.name not in {answer.name, *redundant})
        if {found for other in others for found in other.distinguishes}.issuperset(answer.distinguishes):
            redundant.append(answer.name)
    return redundant


def _message(verdict: Verdict | None) -> str:
    return verdict.message if verdict and verdict.message else UNJUDGED


def _is_broken(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.cause is not None


def _about_broken_checks(judged: JudgedQuestion) -> Iterator[str]:
    """Checks that broke instead of judging; each file and line once."""
    causes: dict[str, str] = {}
    for of_answer in judged.judged.values():
        for check, verdict in of_answer.all_verdicts():
            if verdict.cause is not None:
                place = verdict.cause.line or verdict.cause.message
                causes.setdefault(place, f"{check} broke: {verdict.cause}")
    yield from causes.values()


def _failing(judged: JudgedQuestion, verdicts: Mapping[str, Verdict]) -> Iterator[tuple[Check, str]]:
    """The checks that judge and do not pass, each with its message; a broken check has its own complaint."""
    for check in judged.checks:
        verdict = verdicts.get(check.id)
        if not is_passed(check, verdicts) and not _is_broken(verdict):
            yield check, _message(verdict)


def _about_reference(judged: JudgedQuestion) -> Iterator[str]:
    """Checks that fail the reference with any seed; else if it draws after its work, or rounds otherwise."""
    reference, is_failed = judged.judged[REFERENCE], False
    for seed, verdicts in {judged.trial.seeds[0]: reference.verdicts, **reference.other_seeds}.items():
        for check, message in _failing(judged, verdicts):
            is_failed = True
            yield f"{check.id} fails the reference (seed {seed}): {message}"
    if is_failed:
        return
    contracts = judged.trial.rubric.contracts
    for check, message in _failing(judged, judged.judged[RANDOM_REFERENCE].verdicts):
        if "random numbers" in contracts[check.contract].plan["record"]:
            continue  # an answer that draws them is wrong
        yield (
            f"{check.id} fails a right answer that draws random numbers: {message} An @inside function of"
            f" the contract {check.contract} draws after the call: draw all inputs before it"
        )
    for check, message in _failing(judged, judged.judged[PERTURBED_REFERENCE].verdicts):
        yield (
            f"{check.id} fails a right answer that rounds differently: {message}"
            f" In the contract {check.contract}, draw inputs that don't nearly cancel each other and avoid"
            " discontinuities, and compare with the expected result. If the right result is 0, add a part"
            " that is not 0, in a second contract(..., name=, call=Call(how=...))"
        )


def _about_starter_code(judged: JudgedQuestion) -> list[str]:
    """A sentence if the starter code is an answer, or does not run."""
    question, verdicts = judged.trial.question, judged.judged[STARTER_CODE].verdicts
    found = [verdicts[check.id] for check in judged.checks if check.id in verdicts]
    where = question.place or question.id
    if found and all(verdict.outcome == "passed" for verdict in found):
        sentence = f"{where}: the starter code passes every hidden check."
        return [f"{sentence} Add the mistake that the question is about"]
    if found and {verdict.ending for verdict in found} <= _DOES_NOT_RUN:
        return [f"{where}: the starter code does not run: {found[0].message} Make it run with a wrong result"]
    return []


def _about_answer(judged: JudgedQuestion, answer: Answer) -> Iterator[str]:
    """Complain about a correct answer that fails, and a wrong one that passes or earns too much."""
    verdicts = judged.judged[answer.name].verdicts
    broken = {check for check, verdict in verdicts.items() if _is_broken(verdict)}
    failed = [check for check in judged.failed(answer.name) if check not in broken]
    settings = judged.trial.course.settings
    credit = PartialCredit(settings.partial_credit, judged.judged[STARTER_CODE].verdicts)
    most = credit.part * total(check.points for check in judged.checks)
    if not answer.is_wrong and failed:
        why = _in_file(judged, answer, _message(verdicts.get(failed[0])))
        yield f"{answer} is right, but fails {', '.join(failed)}: {why}"
    elif answer.is_wrong and not failed and not broken:
        yield f"{answer} is wrong, but passes all hidden checks: write a check, or mark it @accepted"
    elif answer.is_wrong and earned(judged.checks, verdicts, credit) > most:
        part = "half" if credit.part == 1 / 2 else f"{credit.part:g} of the question, the partial credit"
        yield f"{answer} is wrong, but earns more than {part}"


def _about_other_seeds(judged: JudgedQuestion, answer: Answer) -> Iterator[str]:
    """Which check judges an answer otherwise with another seed, its message there, and how to look at it."""
    of_answer, first = judged.judged[answer.name], judged.trial.seeds[0]
    for seed, verdicts in of_answer.other_seeds.items():
        for check in judged.checks:
            before, now = is_passed(check, of_answer.verdicts), is_passed(check, verdicts)
            if before != now:
                failed = of_answer.verdicts if now else verdicts
                message = _in_file(judged, answer, _message(failed.get(check.id)))
                passing, failing = (first, seed) if before else (seed, first)
                look = f"try {judged.trial.stem} {check.contract} --answer {answer.name} --seed {seed}"
                yield (
                    f"{answer.question}, {answer.name}: seeds {seed} and {first} give different verdicts: it"
                    f" passes {check.id} with seed {passing} and fails it with seed {failing}: {message} To"
                    f" see it, run `{look}`"
                )


def _about_pictures(judged: JudgedQuestion) -> Iterator[str]:
    """Complain about pictures that are the same for the reference, the starter code and all wrong ones."""
    for picture, shown in judged.judged[REFERENCE].pictures.items():
        others = [
            judged.judged[name].pictures[picture] for name in (STARTER_CODE, *(a.name for a in judged.wrong))
        ]
        where = f"{judged.trial.rubric.pictures[picture].source.where}: picture {picture}"
        if shown and all(other in {shown, ""} for other in others):
            yield (
                f"{where} is the same for the reference, the starter code and every known-wrong answer:"
                " draw something that differs, or remove it"
            )
        for answer in judged.trial.answers:
            if not answer.is_wrong and shown and not judged.judged[answer.name].pictures[picture]:
                yield f"{where} shows nothing for {answer}, which is right"


def _about_public_check(judged: JudgedQuestion, *, starter_code_is_answer: bool) -> Iterator[str]:
    """A sentence for each correct answer that the public check fails, and for starter code that it passes."""
    question = judged.trial.question
    if question.public_check is None:
        yield f"{question.id} has no public check, so students would get no message: add one"
        return
    if not starter_code_is_answer and not judged.judged[STARTER_CODE].public_failures:
        yield f"{question.place or question.id}: the starter code passes its public check"
    for call, failure in judged.judged[REFERENCE].public_failures.items():
        yield f"{question.id}: the reference fails the public check {call}: {failure}"
    for answer in judged.trial.answers:
        failures = {} if answer.is_wrong else judged.judged[answer.name].public_failures
        for call, failure in failures.items():
            yield f"{answer} is right, but fails the public check {call}: {failure}"


def _in_file(judged: JudgedQuestion, answer: Answer, text: str) -> str:
    """A text about an answer, with lines of its file for cells of its notebook."""
    return answer.in_file(text, judged.trial.course.answers_file(judged.trial.stem))


def compare_outcomes(  # noqa: PLR0913 - what was written, and what was seen
    report: AssignmentReport,
    judged: Sequence[JudgedQuestion],
    answers: Sequence[Answer],
    before: Outcomes,
    file: Path,
    *,
    accept: bool,
) -> dict[str, dict[str, Outcome]]:
    """The present outcomes of the known-wrong answers to some questions, in the order of their file.

    The report gets a sentence for each line of the file of outcomes that is missing, different or left over.
    With `accept`, it gets only sentences about answers that newly stop: an answer that stops because of its
    author's typo would count as one that many checks fail, so accepting it needs a message.
    """
    questions = {question.trial.question.id: question for question in judged}
    now: dict[str, dict[str, Outcome]] = {question: {} for question in questions}
    wrong = [answer for answer in answers if answer.is_wrong]
    for answer in wrong:
        question, line = questions[answer.question], before.get(answer.question, {}).get(answer.name)
        judged_answer = question.judged.get(answer.name)  # none if it uses a name that nothing defines
        is_broken = judged_answer is None or any(map(_is_broken, judged_answer.verdicts.values()))
        outcome = line if is_broken else question.outcome(answer)
        if outcome is None or not outcome.fails:
            continue
        now[answer.question][answer.name] = outcome
        newly_stops = bool(outcome.stops) and (line is None or outcome.stops != line.stops)
        seen = _about_a_stop(question, answer, outcome) if newly_stops else f"{answer} {outcome}"
        if accept and newly_stops:
            report.complaints.append(f"{seen}. This is recorded now. If the answer must not stop, fix it")
        elif outcome != line and not accept:
            said = f"which {file.name} does not record" if line is None else f"but {file.name}: {line}"
            report.complaints.append(
                f"{seen}, {said}. Fix it, or run --accept and review the diff of that file"
            )
    names = {answer.name for answer in wrong}
    gone = [name for question in now for name in before.get(question, {}) if name not in names]
    if gone and not accept:
        report.complaints.append(
            f"{file}: it records answers that don't exist: {', '.join(gone)}. --accept removes them"
        )
    return now


def _about_a_stop(judged: JudgedQuestion, answer: Answer, outcome: Outcome) -> str:
    """A sentence about the error that stops a known-wrong answer, and the checks that cannot judge it."""
    unjudged = [check for check in outcome.fails if check not in judged.killed_by(answer)]
    why = _in_file(judged, answer, _message(judged.judged[answer.name].verdicts[unjudged[0]])).rstrip(".")
    stops = " and ".join(outcome.stops)
    return f"{answer} stops with {stops}, so {', '.join(unjudged)} cannot judge it: {why}"
