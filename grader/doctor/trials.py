"""Tries known answers, references, starter code and released notebooks with the checks of their questions.

A worker runs an answer and below it the public check, and then observes it for the hidden checks. The results
are cached by the texts that they depend on.
"""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path

import msgspec

from grader.contracts.blame import decisive_variations
from grader.contracts.cases import ContractObservation
from grader.contracts.check import Check
from grader.contracts.finding import FailedCheckError
from grader.course.assignment import Question
from grader.course.author_file import global_names, lines_of
from grader.course.contract import Contract
from grader.course.course import Course
from grader.course.outcomes import Outcome
from grader.course.pictures import text_of
from grader.course.rubric import REFERENCE_LIMITS, Rubric
from grader.doctor.known_answers import Answer
from grader.doctor.observers import ObserverPool
from grader.errors import CourseError
from grader.grading.broken_reference import (
    broken_cells,
    broken_contracts,
    broken_picture,
    caught_inside,
)
from grader.grading.judge import Verdict, failed_cases, judge
from grader.grading.scoring import is_passed
from grader.memory import Memory, fingerprint
from grader.notebooks.reader import cells_of
from grader.sandbox.evidence import Evidence, FailedCell, NotObserved, RequestRaised
from grader.sandbox.plan import ObservationPlan
from grader.sandbox.values import Raised

# Names beside those of answers, which are called as functions are.
REFERENCE, STARTER_CODE, RANDOM_REFERENCE = "", "the starter code", "the reference that draws random numbers"
PERTURBED_REFERENCE = "the reference whose results are perturbed"  # a right answer that is rounded otherwise
_PERTURBED_BY = 1_000  # not as that by which tolerances are measured

# A right answer may draw random numbers, for an order or by a DataLoader. So this reference draws after each
# of its calls; the verdicts must not depend on it, but they do if a contract draws after such a call.
_DRAWING = """
import functools, numpy, random, torch

def drawing(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        finally:
            random.random(), numpy.random.rand(), torch.randn(1)
    return wrapped

if isinstance({name}, type):
    for method in {{"__init__", "forward"}} & vars({name}).keys():
        setattr({name}, method, drawing(vars({name})[method]))
else:
    {name} = drawing({name})
"""
_TESTS = re.compile(r"^def (test_\w+)", re.MULTILINE)
#: Functions, methods and words that draw random numbers, by the last part of their names.
_RANDOM = {
    *("rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like"),
    *("normal", "bernoulli", "multinomial", "poisson", "binomial", "random", "dropout", "vjp", "gradients"),
    *("normal_", "uniform_", "bernoulli_", "random_", "exponential_", "geometric_", "cauchy_", "log_normal_"),
}


@dataclass(frozen=True)
class JudgedAnswer:
    """The verdicts of a question's checks on an answer.

    Attributes:
        verdicts: of its hidden checks, by their ids, with the first seed.
        public_failures: the first line of each failure that a student sees, by the call of the public check.
        other_seeds: the verdicts for each seed with which other checks fail.
        pictures: a hash of what each picture shows with the first seed; empty if it shows nothing.
        complaints: sentences about the reference's contracts and pictures.
        kinds: for each contract, the variations without which its failure would not be detected or named.
    """

    verdicts: dict[str, Verdict]
    public_failures: dict[str, str] = field(default_factory=dict)
    other_seeds: dict[int, dict[str, Verdict]] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)
    complaints: tuple[str, ...] = ()
    kinds: dict[str, list[str]] = field(default_factory=dict)

    def failed(self, checks: Sequence[Check]) -> list[str]:
        """The ids of the checks it fails with the first seed."""
        return [check.id for check in checks if not is_passed(check, self.verdicts)]

    def all_verdicts(self) -> Iterator[tuple[str, Verdict]]:
        """Every verdict with its check's id, of all seeds that are kept."""
        for verdicts in (self.verdicts, *self.other_seeds.values()):
            yield from verdicts.items()

    @property
    def is_certain(self) -> bool:
        """Whether another trial would find the same, so that it is worth remembering."""
        return not self.complaints and all(verdict.cause is None for _, verdict in self.all_verdicts())


@dataclass(frozen=True)
class JudgedQuestion:
    """A tried question.

    Attributes:
        judged: the outcome by the answer's name; also of the reference and the starter code.
    """

    trial: QuestionTrial
    judged: dict[str, JudgedAnswer]

    @property
    def checks(self) -> Sequence[Check]:
        """The question's hidden checks."""
        return self.trial.rubric.checks

    @property
    def wrong(self) -> list[Answer]:
        """The question's known-wrong answers."""
        return [answer for answer in self.trial.answers if answer.is_wrong]

    def failed(self, name: str) -> list[str]:
        """The checks that an answer fails with the first seed."""
        return self.judged[name].failed(self.checks)

    def killed_by(self, answer: Answer) -> list[str]:
        """The checks that an answer fails, without those that judged nothing because it stopped before."""
        verdicts = self.judged[answer.name].verdicts
        return [c for c in self.failed(answer.name) if c not in verdicts or not verdicts[c].ending]

    def outcome(self, answer: Answer) -> Outcome:
        """The outcome of an answer with the first seed."""
        verdicts, failed = self.judged[answer.name].verdicts, self.failed(answer.name)
        stops = {verdicts[check].ending for check in failed if check in verdicts} - {""}
        finding = verdicts[failed[0]].finding if failed and failed[0] in verdicts else None
        return Outcome(
            tuple(failed),
            finding.group if finding else "",
            tuple(sorted(stops)),
            self.passes_public(answer),
        )

    def passes_public(self, answer: Answer) -> bool:
        """Whether there is a public check, and an answer passes it."""
        return self.trial.question.public_check is not None and not self.judged[answer.name].public_failures


class _Reference:
    """A reference's evidence with one seed; its sensitivity to rounding is measured once a verdict needs it.

    Attributes:
        last_used: the evidence by which the last answer was judged.
    """

    def __init__(self, trial: QuestionTrial, seed: int, evidence: Evidence) -> None:
        self._trial, self._seed, self._evidence = trial, seed, evidence
        self.last_used = evidence

    def judge(self, seen: Evidence) -> dict[str, Verdict]:
        """The verdicts on an answer."""
        self.last_used = self._evidence
        return judge(self._trial.rubric, seen, self._evidence, self._sensitive)

    def _sensitive(self, _: Collection[str]) -> Evidence:
        self.last_used = self._with_sensitivity
        return self.last_used

    @cached_property
    def _with_sensitivity(self) -> Evidence:
        return self._evidence.with_sensitivity(self._trial.perturbed_references(self._seed))


@dataclass(frozen=True)
class QuestionTrial:
    """The trial of a question with each seed; messages are those of the first.

    Attributes:
        answers: its known answers.
        outcomes: the recorded outcomes of known-wrong answers, by name.
    """

    course: Course
    stem: str
    question: Question
    answers: Sequence[Answer]
    outcomes: Mapping[str, Outcome]
    seeds: Sequence[int]
    observers: ObserverPool
    memory: Memory

    @cached_property
    def rubric(self) -> Rubric:
        """The checks, contracts and pictures of this question."""
        return self.course.rubric(self.stem).with_only([self.question.id])

    def begin(self) -> Callable[[], JudgedQuestion]:
        """Begin to try what has changed since its last trial; the returned function waits for the end."""
        rubric = self.rubric
        names = [*(check.id for check in rubric.checks), *rubric.contracts, *rubric.pictures]
        shared = fingerprint(  # all that the verdicts depend on, besides the answer
            *(self.stem, self.question.id, self.question.function, list(self.seeds)),
            needed_text(rubric.path, names),
            self._notebooks[REFERENCE],
            self._public_check,
            asdict(self.course.settings.limits),
        )
        keys = {
            name: fingerprint(
                shared, name == STARTER_CODE, name if name in {REFERENCE, PERTURBED_REFERENCE} else cells
            )
            for name, cells in self._notebooks.items()
        }
        stored = {name: self.memory.recall(key) for name, key in keys.items()}
        missing = [name for name, value in stored.items() if value is None]
        observing = self._observe_all(missing) if missing else dict

        def finish() -> JudgedQuestion:
            known = {name: value for name, value in stored.items() if value is not None}
            judged = {n: msgspec.convert(v, JudgedAnswer, str_keys=True) for n, v in known.items()}
            for name, (answer, is_certain) in observing().items():
                judged[name] = answer
                if is_certain:
                    self.memory.remember(keys[name], msgspec.to_builtins(answer, str_keys=True))
            return JudgedQuestion(self, judged)

        return finish

    @cached_property
    def _notebooks(self) -> dict[str, Sequence[str]]:
        """The sources of the cells of the reference, the starter code and the answers, by name."""
        assignment, question = self.course.assignment(self.stem), self.question
        reference = list(assignment.cells_for(question.id))
        return {
            REFERENCE: reference,
            STARTER_CODE: list(assignment.cells_for(question.id, as_released=True)),
            RANDOM_REFERENCE: [*reference, _DRAWING.format(name=question.function)],
            PERTURBED_REFERENCE: reference,
            **{answer.name: [cell.source for cell in answer.cells] for answer in self.answers},
        }

    @cached_property
    def _public_check(self) -> list[str]:
        """The public check's cell, and a cell for each of its tests; none if there is no public check."""
        source = self.question.public_check
        calls = [f"{name}({self.question.function})" for name in _TESTS.findall(source or "")]
        return [source, *calls] if source else []

    def _observe_all(self, names: Collection[str]) -> Callable[[], dict[str, tuple[JudgedAnswer, bool]]]:
        """Begin to observe notebooks, and before them the expected outcomes."""
        rubric, only = self.rubric, self.question.id
        plans = [rubric.plan(seed, only=only) for seed in self.seeds]
        plans[1:] = [plan.without_pictures() for plan in plans[1:]]
        # With other starter code in the plan, the starter code is observed like an answer.
        of_starter = replace(plans[0], starter_code=dict.fromkeys(plans[0].starter_code, "pass"))
        special = {  # complaints about these are of the first seed
            STARTER_CODE: [of_starter],
            RANDOM_REFERENCE: plans[:1],
            PERTURBED_REFERENCE: [
                rubric.plan(self.seeds[0], only=only, expected=True)
                .without_pictures()
                .perturbed(_PERTURBED_BY)
            ],
        }
        answer = cells_of(self._notebooks[REFERENCE])
        expected = [
            self.observers.submit(answer, rubric.plan(seed, only=only, expected=True), REFERENCE_LIMITS)
            for seed in self.seeds
        ]
        if len(self.seeds) == 1 and REFERENCE in names:  # another seed shows which inputs no seed changes
            other = rubric.plan(self.seeds[0] + 1, only=only, expected=True)
            expected += self._observe(REFERENCE, [other])
        seen = {name: self._observe(name, special.get(name, plans)) for name in names}
        return lambda: self._judge([future.result() for future in expected], seen)

    def _observe(self, name: str, plans: Sequence[ObservationPlan]) -> list[Future[Evidence]]:
        takes_long = name in {REFERENCE, PERTURBED_REFERENCE}
        limits = REFERENCE_LIMITS if takes_long else self.course.settings.limits
        below = [] if name in {RANDOM_REFERENCE, PERTURBED_REFERENCE} else self._public_check
        cells = cells_of([*self._notebooks[name], *below])
        return [self.observers.submit(cells, plan, limits) for plan in plans]

    def perturbed_references(self, seed: int) -> list[Evidence]:
        """The reference's evidence while its results are perturbed."""
        asked = self.rubric.plan(seed, only=self.question.id, expected=True).without_pictures()
        return self.observers.perturbed(cells_of(self._notebooks[REFERENCE]), asked, REFERENCE_LIMITS)

    def _judge(
        self, expected: Sequence[Evidence], seen: dict[str, list[Future[Evidence]]]
    ) -> dict[str, tuple[JudgedAnswer, bool]]:
        """The outcome of each notebook by name, and whether another trial would find the same.

        This empties `seen`, because the evidence of all answers together needs gigabytes.
        """
        self._refuse_broken(expected[0])
        rubric = self.rubric
        references = [_Reference(self, *of_seed) for of_seed in zip(self.seeds, expected, strict=False)]
        judged = {}
        for name in [*seen]:
            observed = [future.result() for future in seen.pop(name)]
            of_seeds = zip(observed, references, strict=False)
            first, *others = (JudgedAnswer(reference.judge(each)) for each, reference in of_seeds)
            differing = {
                seed: other.verdicts
                for seed, other in zip(self.seeds[1:], others, strict=False)
                if other.failed(rubric.checks) != first.failed(rubric.checks)
            }
            complaints = self._about_contracts(first, expected, observed[0]) if name == REFERENCE else ()
            pictures = _pictures(rubric, observed[0])
            kinds = _decisive_variations(rubric, observed[0], references[0].last_used)
            public = self._public_failures(name, observed[0])
            answer = JudgedAnswer(first.verdicts, public, differing, pictures, tuple(complaints), kinds)
            had_enough = not any(of_seed.starved for of_seed in observed)
            judged[name] = answer, had_enough and answer.is_certain
        return judged

    def _refuse_broken(self, expected: Evidence) -> None:
        """Raise CourseError for a reference without observations; broken cells explain broken contracts."""
        rubric, sources = self.rubric, self._notebooks[REFERENCE]
        broken = list(broken_cells(self.course.assignment(self.stem), sources, expected))
        without = list(broken_contracts(rubric.contracts, expected))
        if without:
            raise CourseError("\n".join(broken or without))

    def _about_contracts(
        self, judged: JudgedAnswer, expected: Sequence[Evidence], observed: Evidence
    ) -> Iterator[str]:
        """Complaints about pictures and contracts, of the reference with two seeds, and as an answer."""
        rubric = self.rubric
        for name, shown in _pictures(rubric, expected[0]).items():
            if not shown:
                yield broken_picture(rubric.pictures[name], expected[0])
        yield from fixed_contracts(rubric.contracts, expected[0], expected[1])
        failed = [check for check in rubric.checks if not is_passed(check, judged.verdicts)]
        for name in dict.fromkeys(check.contract for check in failed):
            contract = rubric.contracts[name]
            caught = caught_inside(contract, expected[0]) or caught_inside(contract, observed)
            if caught is not None:
                yield caught

    def _public_failures(self, name: str, evidence: Evidence) -> dict[str, str]:
        calls = dict(enumerate(self._public_check[1:], start=len(self._notebooks[name]) + 2))
        if evidence.fault is not None:  # nothing could be observed
            return dict.fromkeys(calls.values(), evidence.fault)
        failed = {c.cell: _first_line(c.raised) if c.raised else c.fault or "" for c in evidence.cells}
        return {call: failed[number] for number, call in calls.items() if number in failed}


def _first_line(error: Raised) -> str:
    line = error.text.partition("\n")[0]
    return line if error.type == "AssertionError" else f"{error.type}: {line}"


def _pictures(rubric: Rubric, evidence: Evidence) -> dict[str, str]:
    """For each picture of a rubric, a hash of its graph; empty if there is none."""
    texts = {name: text_of(evidence, name) for name in rubric.pictures}
    return {name: text and sha256(text.encode()).hexdigest()[:16] for name, text in texts.items()}


def _decisive_variations(rubric: Rubric, seen: Evidence, expected: Evidence) -> dict[str, list[str]]:
    """For each contract, the levels that a notebook's failure needs; none if the reference is broken."""
    kinds = {}
    for name, contract in rubric.contracts.items():
        with suppress(CourseError):
            contracted = contract.observation(seen.outcome(name), expected.outcome(name))
            kinds[name] = _decisive(rubric, contracted)
    return kinds


def _decisive(rubric: Rubric, contracted: ContractObservation) -> list[str]:
    try:
        failed = failed_cases(rubric, contracted)
    except FailedCheckError:
        return []
    return sorted(decisive_variations(contracted.cases, failed))


def fixed_contracts(contracts: Mapping[str, Contract], one: Evidence, other: Evidence) -> Iterator[str]:
    """A sentence for each contract without random inputs, whose observations an answer can predict.

    The evidence is that of the reference with two seeds. Counts may be the same with both, so there is
    a complaint only if no argument and no @inside function could draw a random number.
    """
    for name, contract in contracts.items():
        seen = one.outcome(name)
        is_same = not isinstance(seen, RequestRaised | NotObserved) and seen == other.outcome(name)
        if is_same and not _draws(contract):
            yield (
                f"{contract.source.where}: contract {name} draws nothing at random, so an answer can predict"
                " the observations: add a tensor, or a number between two bounds"
            )


def _draws(contract: Contract) -> bool:
    """Whether anything in it may draw a random number; a layer draws its parameters."""
    if any(kinds.draws for kinds in contract.arguments.values()):
        return True
    for part in contract.parts():
        for node in ast.walk(part.tree):
            match node:
                case ast.Attribute(ast.Name("nn"), name) if name[:1].isupper():
                    return True
                case ast.Attribute(_, name) | ast.Name(name) if name in _RANDOM:
                    return True
    return False


def begin_released_notebook(
    course: Course, stem: str, seed: int, observers: ObserverPool, memory: Memory
) -> Callable[[], list[str]]:
    """Begin to run the released notebook, without its contracts, unless its result is cached.

    The returned function waits for the end; it returns a sentence for each cell that fails and each starter
    code that counts as an answer.
    """
    from grader.course.build import student_notebook  # noqa: PLC0415 - nbformat takes a fifth of a second

    notebook = student_notebook(course.assignment(stem), course.points(stem))
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    key = fingerprint("untouched", sources)
    if memory.recall(key) is not None:
        return list
    plan = replace(course.rubric(stem).plan(seed), requests={})
    observing = observers.submit(cells_of(sources), plan, course.settings.limits)

    def finish() -> list[str]:
        evidence = observing.result()
        failed = [f"the released notebook fails: {FailedCell.of(cell).sentence}" for cell in evidence.cells]
        answered = [
            f"the starter code of {function} counts as {status} in the released notebook"
            for function, status in evidence.names.items()
            if status != "untouched"
        ]
        if not failed and not answered:
            memory.remember(key, [])
        return [*failed, *answered]

    return finish


# --- what a verdict depends on


def needed_text(path: Path, names: Iterable[str]) -> str:
    """The text of the definitions that some names need, also of those imported from a file beside it.

    An edit of any other text changes no verdict on the names.
    """
    statements, lines = _statements(path, path.stat().st_mtime_ns)
    wanted: set[str] = set()
    new = set(names).union(*(s.needs for s in statements if not s.defines))  # these are always needed
    while new:
        wanted |= new
        new = set().union(*(s.needs for s in statements if s.defines & new)) - wanted
    texts: list[str] = []
    for statement in (s for s in statements if not s.defines or s.defines & wanted):
        texts += [lines[number - 1] for number in lines_of(statement.node)]
        module = statement.node.module if isinstance(statement.node, ast.ImportFrom) else None
        beside = path.parent / f"{module}.py"
        if module and beside.is_file():
            texts.append(needed_text(beside, statement.defines & wanted))
    return "\n".join(texts)


@cache
def _statements(path: Path, _: int) -> tuple[list[_Statement], list[str]]:
    text = path.read_text(encoding="utf-8")
    return [*map(_Statement.of, ast.parse(text).body)], text.splitlines()


@dataclass(frozen=True, eq=False)
class _Statement:
    """A statement at the top of a file: the names it defines, and the names of the file or Python it uses."""

    node: ast.stmt
    defines: frozenset[str]
    needs: frozenset[str]

    @classmethod
    def of(cls, node: ast.stmt) -> _Statement:
        """The statement of a node; the argument of a check is the contract that it needs."""
        table = symtable.symtable(ast.unparse(node), "<names>", "exec")
        defines = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
        needs = global_names(table)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            needs |= {argument.arg for argument in node.args.args}
        return cls(node, frozenset(defines), frozenset(needs))
