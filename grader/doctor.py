"""Outside: the doctor, who proves that the course agrees with itself.

For every assignment: the reference passes everything; the untouched notebook earns nothing; every stub
fails its public check; every accepted answer passes everything, its public check included; every wrong
answer fails exactly the checks it names and earns no more than partial credit; every check catches
something; several seeds give the same verdicts; every picture shows a graph of the reference; every edit
that is written down as equal can still be made; the four files of a stem are there; ``assignments/`` is what
``build`` would write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from grader.accept import accept
from grader.blanks import without_unfinished
from grader.build import outdated, student_notebook
from grader.course import Course
from grader.drawing.graph_facts import read_graph
from grader.evidence import Evidence, Fault, Stopped
from grader.failed_cell import FailedCell
from grader.judge import Verdict, judge
from grader.kill_matrix import Diagnosis
from grader.known_answers import Answer, read_answers
from grader.live import asked_of_stubs, observe_reference, stub_cells
from grader.misspelt import complaints_about_attributes, complaints_about_names
from grader.mutation_testing import rotten
from grader.notebook import Cell
from grader.observation import why_no_facts
from grader.observer import observe
from grader.question import Question
from grader.reason import UNJUDGED
from grader.score import PartialCredit, earned, is_passed
from grader.stops import complaints_about_stops
from grader.trial import Trial, misjudged
from grader.worth import total
from grader.zygote import Zygote

SEEDS = (1, 2, 3, 4, 5)
_NO_GRAPH = "return graph(name=tensor, ...)"
_REFERENCE, _STUBS = "", "the stubs"  # among the names of answers, which are those of functions


@dataclass
class Examination:
    """What was examined of one assignment, and what was found.

    Attributes:
        stem: the assignment's.
        complaints: one sentence for each contradiction.
        kills: for each check, how many wrong answers it fails, without those that stopped before.
        diagnoses: for each wrong answer, what became of it.
        answers: how many accepted and wrong answers were tried.
        public: (question, name) of each wrong answer that its public check passes.
    """

    stem: str
    complaints: list[str] = field(default_factory=list)
    kills: dict[str, int] = field(default_factory=dict)
    diagnoses: list[Diagnosis] = field(default_factory=list)
    answers: tuple[int, int] = (0, 0)
    public: list[tuple[str, str]] = field(default_factory=list)


def examine(  # noqa: PLR0913 - the options of the command
    course: Course,
    stems: Sequence[str],
    *,
    jobs: int,
    accept_lists: bool = False,
    seeds: Sequence[int] = SEEDS,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Examination]:
    """Examine assignments one by one.

    Args:
        course: the course.
        stems: the assignments to examine.
        jobs: how many workers at a time.
        accept_lists: write the lists of failed checks into the answers' files, instead of complaining.
        seeds: seeds of the runs that must agree.
        progress: is told what is being examined.

    Raises:
        CourseError: an assignment cannot even be read.
    """
    is_whole = set(stems) == set(course.stems)
    course = course if is_whole else without_unfinished(course, stems)
    with Zygote() as zygote:
        for stem in stems:
            progress(stem)
            yield _Doctor(course, stem, zygote, jobs).examine(seeds, accept_lists=accept_lists)
    if is_whole:
        yield _house(course)


def _house(course: Course) -> Examination:
    """What concerns all assignments: the four files of a stem agree, and ``assignments/`` is current."""
    tests = course.root / "tests"
    stray = {p.stem.removeprefix("test_") for p in (tests / "hidden").glob("test_*.py")} - set(course.stems)
    stray |= {p.stem for p in (tests / "answers").glob("*.py")} - set(course.stems)
    complaints = [
        f"{stem} has hidden checks or answers, but no master in solutions/" for stem in sorted(stray)
    ]
    old = outdated(course.assignments.values(), course.root / "assignments", course.all_points())
    complaints += [f"{path} is not what `build` writes: run `make build`" for path in old]
    return Examination("files and notebooks", complaints)


class _Doctor:
    """Examines one assignment."""

    def __init__(self, course: Course, stem: str, zygote: Zygote, jobs: int) -> None:
        self._course, self._stem, self._zygote, self._jobs = course, stem, zygote, jobs
        self._assignment, self._rubric = course.assignments[stem], course.rubric(stem)
        self._points, self._settings = course.points(stem), course.settings
        self._functions = {q.id: q.function for q in self._assignment.questions}
        self._causes: set[str] = set()  # of checks that broke
        self._found = Examination(stem, kills={check.id: 0 for check in self._rubric.checks})

    def examine(self, seeds: Sequence[int], *, accept_lists: bool) -> Examination:
        path = self._course.answers_file(self._stem)
        answers = read_answers(path, self._functions)
        self._complain(*complaints_about_names(answers, path))
        by_seed = [self._verdicts(answers, seed) for seed in seeds]
        passed = self._passed_in_public(answers)
        if accept_lists:
            wrong = {
                a.name: self._failed(a, by_seed[0])
                for a in answers
                if a.fails is not None and not self._misjudged_stops(a, by_seed[0])
            }
            accept(path, wrong, passed)
            answers = read_answers(path, self._functions)
        for answer in answers:
            judged = by_seed[0][answer.name]
            self._complain(*complaints_about_attributes(answer, judged, answers, path))
        self._check_answers(answers, by_seed, seeds)
        self._check_public(answers, passed)
        self._check_untouched()
        self._complain(*rotten(self._course, self._stem))
        self._found.answers = (
            sum(a.fails is None for a in answers),
            sum(a.fails is not None for a in answers),
        )
        return self._found

    def _complain(self, *complaints: str) -> None:
        self._found.complaints.extend(complaints)

    def _has_broken(self, check: str, verdict: Verdict | None) -> bool:
        """Whether a check broke instead of judging; each cause is complained about once."""
        if verdict is None or verdict.cause is None:
            return False
        if verdict.cause not in self._causes:
            self._causes.add(verdict.cause)
            self._complain(f"{check} broke: {verdict.cause}")
        return True

    def _verdicts(self, answers: list[Answer], seed: int) -> dict[str, dict[str, Verdict]]:
        """The verdicts on the reference, on the stubs and on every answer, with one seed."""
        reference = observe_reference(self._zygote, self._course, self._stem, seed)

        def observed(answer: Answer) -> Evidence:
            asked = self._rubric.questionnaire(seed, only=answer.question)
            return observe(self._zygote, answer.cells, asked, self._settings.limits)

        with ThreadPoolExecutor(self._jobs) as pool:
            evidence = dict(zip((a.name for a in answers), pool.map(observed, answers), strict=True))
        for probe in self._rubric.probes:
            outcome = reference.outcome(probe)
            if isinstance(outcome, Stopped | Fault):
                self._complain(f"probe {probe} has no facts of the reference: {why_no_facts(outcome)}")
        for picture in self._rubric.pictures:
            outcome = reference.outcome(picture)
            if read_graph(outcome) is None:
                why = why_no_facts(outcome) if isinstance(outcome, Stopped | Fault) else _NO_GRAPH
                self._complain(f"picture {picture} shows no graph of the reference: {why}")
        submitted = observe_reference(self._zygote, self._course, self._stem, seed, oracle=False)
        cells, asked = stub_cells(self._course, self._stem), asked_of_stubs(self._rubric, seed)
        stubs = observe(self._zygote, cells, asked, self._settings.limits)
        return judge(self._rubric, {_REFERENCE: submitted, _STUBS: stubs, **evidence}, reference)

    def _failed(self, answer: Answer, verdicts: dict[str, dict[str, Verdict]]) -> list[str]:
        checks = self._rubric.checks_of(answer.question)
        return [check.id for check in checks if not is_passed(check, verdicts[answer.name])]

    def _check_answers(
        self, answers: list[Answer], by_seed: list[dict[str, dict[str, Verdict]]], seeds: Sequence[int]
    ) -> None:
        for seed, verdicts in zip(seeds, by_seed, strict=True):
            for check in self._rubric.checks:
                verdict = verdicts[_REFERENCE].get(check.id)
                if not is_passed(check, verdicts[_REFERENCE]) and not self._has_broken(check.id, verdict):
                    why = verdict.message if verdict else UNJUDGED
                    self._complain(f"{check.id} fails the reference (seed {seed}): {why}")
            for answer in answers:
                if verdicts is by_seed[0]:
                    self._check_answer(answer, verdicts)
                elif self._failed(answer, verdicts) != self._failed(answer, by_seed[0]):
                    self._complain(
                        f"{answer.question}, {answer.name}: seed {seed} judges otherwise than seed {seeds[0]}"
                    )
        for answer in (a for a in answers if a.fails is not None):
            failed = self._failed(answer, by_seed[0])
            judged = by_seed[0][answer.name]
            stopped = frozenset(name for name in failed if name in judged and judged[name].stopped)
            for name in {*failed} - stopped:
                self._found.kills[name] += 1
            message = judged[failed[0]].message if failed else ""
            self._found.diagnoses.append(
                Diagnosis(answer.question, answer.name, failed, message or "", stopped)
            )
        self._complain(
            *(
                f"{check} fails no wrong answer: what is it for?"
                for check, n in self._found.kills.items()
                if n == 0
            )
        )

    def _check_answer(self, answer: Answer, verdicts: dict[str, dict[str, Verdict]]) -> None:
        judged = verdicts[answer.name]
        unpassed = self._failed(answer, verdicts)
        broken = {check for check in unpassed if self._has_broken(check, judged.get(check))}
        failed = [check for check in unpassed if check not in broken]
        who = f"{answer.question}, {answer.name} (line {answer.line})"
        if answer.fails is None and failed:
            message = verdicts[answer.name][failed[0]].message
            self._complain(f"{who} is right, but fails {', '.join(failed)}: {message}")
        stops = self._misjudged_stops(answer, verdicts)
        self._complain(*stops)
        if answer.fails is not None and not stops and set(failed) != answer.fails - broken:
            self._complain(f"{who} fails {failed or 'nothing'}, but its list says {sorted(answer.fails)}")
        checks = self._rubric.checks_of(answer.question)
        credit = PartialCredit.of(self._settings.partial_credit, checks, verdicts[_STUBS])
        most = credit.most * total(check.points for check in checks)
        if answer.fails is not None and earned(checks, verdicts[answer.name], credit) > most:
            part = "half" if credit.most == 1 / 2 else f"{credit.most:g} of the question, the partial credit"
            self._complain(f"{who} is wrong and earns more than {part}")

    def _misjudged_stops(self, answer: Answer, verdicts: dict[str, dict[str, Verdict]]) -> list[str]:
        judged = verdicts[answer.name]
        failed = {name: judged[name] for name in self._failed(answer, verdicts) if name in judged}
        return complaints_about_stops(answer, failed, self._course.answers_file(self._stem))

    def _passed_in_public(self, answers: list[Answer]) -> set[str]:
        """The names of the wrong answers that their public check passes."""
        wrong = [answer for answer in answers if answer.fails is not None]
        asked = {question.id: question for question in self._assignment.questions}
        trials = {name: Trial(self._zygote, q, self._settings.limits) for name, q in asked.items()}
        with ThreadPoolExecutor(self._jobs) as pool:
            passed = pool.map(lambda answer: trials[answer.question].passes(answer), wrong)
            return {answer.name for answer, passes in zip(wrong, passed, strict=True) if passes}

    def _check_public(self, answers: list[Answer], passed: set[str]) -> None:
        """What public checks say of the stubs, of the reference and of all answers."""
        notebook = student_notebook(self._assignment, self._points)
        stubs = [cell.source for cell in notebook.cells if cell.cell_type == "code"]

        def tried(question: Question) -> list[str]:
            trial = Trial(self._zygote, question, self._settings.limits)
            return trial.complaints(stubs, self._assignment.reference, answers)

        with ThreadPoolExecutor(self._jobs) as pool:
            for complaints in pool.map(tried, self._assignment.questions):
                self._complain(*complaints)
        self._found.public = [(a.question, a.name) for a in answers if a.name in passed]
        self._complain(*misjudged(answers, passed))

    def _check_untouched(self) -> None:
        """The notebook as students get it runs, and every question in it counts as untouched."""
        sources = [
            c.source for c in student_notebook(self._assignment, self._points).cells if c.cell_type == "code"
        ]
        cells = [Cell(number, source) for number, source in enumerate(sources, start=1)]
        evidence = observe(self._zygote, cells, self._rubric.questionnaire(SEEDS[0]), self._settings.limits)
        for cell in evidence.cells:
            self._complain(f"the untouched notebook fails: {FailedCell.of(cell).sentence}")
        for function, status in evidence.names.items():
            if status != "untouched":
                self._complain(f"the stub of {function} counts as {status} in the untouched notebook")
