"""A contract: the declared inputs, their cases, the source that is sent, and the observations for checks.

The cases are the typical one, each variation by itself, and a covering array in which every two levels meet
(D. R. Kuhn, R. N. Kacker, Y. Lei: Practical Combinatorial Testing, NIST SP 800-142, 2010). Which cases there
are is fixed; only the numbers and sizes in them are random.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import combinations, product
from types import FrameType, ModuleType
from typing import Any, Literal

import pytest
from allpairspy import AllPairs  # type: ignore[import-untyped]

from grader.contracts.cases import MEMORY, Case, ContractObservation, DeclaredCase, Rules
from grader.contracts.side_effects import PARTS
from grader.course.inside_source import InsideSource
from grader.course.kinds import Kinds, Never
from grader.course.known_words import RECORDED, require_known, require_known_paths
from grader.course.levels import CALL
from grader.course.worker_code import WorkerCode
from grader.errors import CourseError
from grader.sandbox.evidence import RequestOutcome

#: The name of a check file's module that holds its contracts, in their order there.
_CONTRACTS = "__contracts__"
CONTRACT_SECONDS = 10.0

Function = Callable[..., Any]
Levels = Mapping[str, Any]  # of every factor

_MODE = "call.mode"  # a call under no_grad has no gradients, so it would hide half of a pair
#: An argument with these factors is frozen, and has a ``.grad``, in one and the same case.
_FROZEN = {"frozen", "grads"}


@dataclass(frozen=True)
class Contract(WorkerCode):
    """A declaration of possible inputs, ready to be observed in its cases.

    Attributes:
        arguments: the `Kinds` of each argument, in the order in which they are made.
        declared: its cases, in their order.
        rules: the parts that answers may choose freely.
        factors: all levels of ``argument.factor``, the typical one first.
        never: combinations of levels that the task excludes.
        cover: the factors whose levels are combined in pairs, unless the task excludes a pair.
        rows: the variations of each case.
        plan: the data that is sent to the worker.
        phrases: those of an author's own call sequences, by ``call.sequence=name``.
    """

    arguments: Mapping[str, Kinds] = field(kw_only=True)
    declared: tuple[DeclaredCase, ...] = field(kw_only=True)
    rules: Rules = field(kw_only=True)
    factors: Mapping[str, tuple[Any, ...]] = field(kw_only=True)
    never: tuple[Levels, ...] = field(kw_only=True)
    cover: tuple[str, ...] = field(kw_only=True)
    rows: tuple[Levels, ...] = field(kw_only=True)
    plan: Mapping[str, Any] = field(kw_only=True)
    phrases: Mapping[str, str] = field(kw_only=True)

    @property
    def function(self) -> str:
        """The student's function."""
        function: str = self.plan["function"]
        return function

    @property
    def given(self) -> tuple[str, ...]:
        """The arguments of the call, in order."""
        return tuple(self.plan["given"])

    @property
    def variations(self) -> tuple[str, ...]:
        """All levels except the typical ones, as ``h.layout=transposed``."""
        return tuple(f"{factor}={kind}" for factor, kinds in self.factors.items() for kind in kinds[1:])

    def observation(self, seen: RequestOutcome, expected: RequestOutcome) -> ContractObservation:
        """The observed and the expected outcome in every case."""
        record: list[str] = self.plan["record"]
        return ContractObservation(
            self.function, self.declared, self.rules, record, self.name, seen, expected
        )


@dataclass(frozen=True)
class Cases:
    """The cases of a contract.

    Attributes:
        dtypes: of all floating-point tensors.
        sizes: ``differ``; ``equal`` allows equal sizes; ``large`` adds one case with two thousand entries,
            for answers that are right only on small tensors.
        modes: ``on``; ``off`` allows calls under no_grad; ``only modes`` allows them without a useful result,
            but torch's modes must be unchanged afterwards.
        sequences: ``first``; ``other``, a second call with other objects, while the first result lives;
            ``same``, with the same objects; ``other data``, with the same networks, optimizers and lists of
            parameters; ``changed``, with the same objects, whose values have changed; ``changed x``, where
            only those of the argument x have changed.
        between: more call sequences: by their phrase, ``@inside`` functions of ``(setup, earlier)`` that run
            between two calls.
        arriving: the gradient that ``backward()`` gets: ``typical`` random numbers; ``huge`` ones, or those
            ``of a mean``, if its size must not matter.
        never: combinations that the task excludes: levels by ``argument.factor``.
        cover: patterns of factors whose levels are combined in pairs; other factors vary one at a time. By
            default, most of a network's factors are tried alone.
        large: the names of the sizes that are large in the extra case that measures memory.
        few_rows: whether memory is also measured with a wide network and usual sizes, so that an answer
            cannot recognize the case by its sizes.
        memory_with: levels by ``argument.factor``; memory is measured once more with each.
    """

    dtypes: Sequence[str] = CALL["all.dtype"].defaults
    sizes: Sequence[str] = CALL["all.sizes"].defaults
    modes: Sequence[str] = CALL["call.mode"].defaults
    sequences: Sequence[str] = CALL["call.sequence"].defaults
    between: Mapping[str, Function] = field(default_factory=dict)
    arriving: Sequence[str] = CALL["call.arriving"].defaults
    never: Sequence[Never] = ()
    cover: Sequence[str] | None = None
    large: Sequence[str] = ()
    few_rows: bool = False
    memory_with: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """The call of the function in a contract, and its further observations.

    Attributes:
        given: the arguments of the call in order; by default, all of them.
        how: an ``@inside`` function of ``(function, setup)`` that calls it in another way.
        returns: ``nothing`` ignores the result.
        gradients: the loss to backpropagate: the whole result, with ``torch.autograd.grad`` (``all``) or
            ``backward()`` (``backward``); each entry (``each``); or none.
        then: an ``@inside`` function of ``(setup, result)`` that observes the use of the result. In a dict,
            results of `gradients` are judged as gradients, by their names, and must be an error if the
            reference's is.
        mistakes: an ``@inside`` function of ``setup`` that returns common mistakes of the typical case, by
            names that complete "it is".
        record: observations of networks during the call, of all networks or of one (``model.calls``):
            ``calls`` (also of a copy), ``recorded``, ``given``; ``entered``, the most rows of a call;
            ``graphs``, the most graphs of earlier calls alive at a call (``graphs+1`` allows one more); and
            ``graphs left``. Also ``warnings``; ``steps``, the ``.grad`` of everything that an optimizer
            updates in each step; and ``random numbers``, whether the call draws from torch's global generator
            or seeds it, which is judged as a side effect. In the case that measures memory, the bytes that
            stay alive: ``left`` after the call, at the ``peak`` of the networks' forwards (``peak+1`` allows
            one more forward), or ``half``, less than half of what `plain` leaves.
        plain: an ``@inside`` function of ``setup`` that computes the same and keeps everything alive.
    """

    given: Sequence[str] | None = None
    how: Function | None = None
    returns: Literal["result", "nothing"] = "result"
    gradients: Literal["all", "backward", "each", "none"] = "all"
    then: Function | None = None
    mistakes: Function | None = None
    record: Sequence[str] = ()
    plain: Function | None = None

    @property
    def functions(self) -> tuple[Function, ...]:
        """Those of an author's."""
        return tuple(filter(None, (self.how, self.then, self.mistakes, self.plain)))


_ALL_CASES, _PLAIN_CALL, _NO_RULES = Cases(), Call(), Rules()


def contract(  # noqa: PLR0913 - the four parts of a declaration, and what the fixture is called
    function: str,
    arguments: Mapping[str, Kinds],
    *,
    name: str = "",
    question: str | None = None,
    cases: Cases = _ALL_CASES,
    call: Call = _PLAIN_CALL,
    rules: Rules = _NO_RULES,
    seconds: float = CONTRACT_SECONDS,
) -> Any:
    """Declare a function's inputs; return the fixture of its checks.

    Args:
        function: the student's function.
        arguments: the levels of each, in the order in which they are made, also of those not in `given`.
        name: of the fixture; by default, the function's.
        cases: which cases there are.
        call: how the function is called, and what is recorded.
        rules: the parts that answers may choose freely.

    Raises:
        CourseError: a word is not known, the typical case is excluded, or a function cannot travel.
    """
    name = name or function
    sequences = (*cases.sequences, *(_name(f) for f in cases.between.values()))
    factors = {
        f"{who}.{factor}": kinds for who, k in arguments.items() for factor, kinds in k.factors.items()
    }
    factors |= {
        "all.dtype": tuple(cases.dtypes),
        "all.sizes": tuple(cases.sizes),
        "call.mode": tuple(cases.modes),
        "call.sequence": sequences,
        MEMORY: (
            "free",
            *(["measured"] if cases.large else []),
            *(["measured, few rows"] if cases.few_rows else []),
        ),
        "call.arriving": tuple(cases.arriving),
    }
    _require_known_words(function, factors, arguments, cases, call, rules)
    excluded = [_rule(who, rule) for who, kinds in arguments.items() for rule in kinds.never]
    excluded += map(dict, cases.never)
    base = {key: kinds[0] for key, kinds in factors.items()}
    against = [rule for rule in excluded if not _is_allowed_by([rule])(base)]
    if against:
        named = ", ".join(f"{key}={base[key]}" for key in against[0])
        raise CourseError(
            f"contract of {function}: never=[{against[0]}] excludes its typical case ({named}): put another"
            " level first in one of these factors, since the first levels of all factors have to go together"
        )
    cover = cases.cover
    if cover is None:
        single = {f"{who}.{factor}" for who, kinds in arguments.items() for factor in kinds.separate}
        single |= {"all.sizes"} if "large" in cases.sizes else set()
        cover = [key for key in factors if key not in single]
    paired = [
        key
        for key, kinds in factors.items()
        if len(kinds) > 1 and key not in {_MODE, MEMORY} and any(fnmatchcase(key, rule) for rule in cover)
    ]
    together: list[list[_Pair]] = []
    for who, kinds in arguments.items():
        if kinds.factors.keys() >= _FROZEN:
            frozen, grads = (
                [(key, kind) for kind in factors[key][1:]] for key in (f"{who}.frozen", f"{who}.grads")
            )
            together.append([*product(frozen, grads)])
    large: _Pair = ("all.sizes", "large"), ("all.dtype", "float64")
    also = [large] if all(level in factors[factor][1:] for factor, level in large) else []
    also += [((MEMORY, "measured"), level) for level in cases.memory_with.items()]
    rows = covered(factors, excluded, paired, together, also)
    met = {pair for row in rows for pair in row.items()}
    never_met = [f"{key}={k}" for key, kinds in factors.items() for k in kinds[1:] if (key, k) not in met]
    if never_met:
        raise CourseError(
            f"contract of {function}: no case has {', '.join(never_met)}, since never= wants more than two"
            " other levels with it: take the level out, or ask for less with it"
        )
    words = {f"call.sequence={_name(f)}": said for said, f in cases.between.items()}
    words |= {
        f"call.sequence={one}": f"in a second call, after the values of `{one[8:]}` have changed"
        for one in sequences
        if one.startswith("changed ")
    }
    sources = [
        *map(InsideSource.of, [*call.functions, *cases.between.values()]),
        *(source for kinds in arguments.values() for source in kinds.functions),
    ]
    plan = {
        "function": function,
        "arguments": [(who, kinds.maker, dict(kinds.options)) for who, kinds in arguments.items()],
        "given": list(arguments if call.given is None else call.given),
        "call": _name(call.how),
        "base": base,
        "cases": [dict(row) for row in rows],
        "result": call.returns == "result",
        "gradients": "" if call.gradients == "none" or call.returns == "nothing" else call.gradients,
        "then": _name(call.then),
        "mistakes": _name(call.mistakes),
        "record": list(call.record),
        "large": list(cases.large),
        "plain": _name(call.plain),
    }
    where = sys._getframe(1)  # noqa: SLF001 - the check file, which holds its contracts
    made = Contract(
        name=name,
        source=_source(name, plan, arguments, sources, where),
        question=question,
        seconds=seconds,
        arguments=dict(arguments),
        declared=tuple(_case(row, arguments, words, cases.dtypes[0]) for row in rows),
        rules=rules,
        factors=factors,
        never=tuple(excluded),
        cover=tuple(paired),
        rows=rows,
        plan=plan,
        phrases=words,
    )
    where.f_globals.setdefault(_CONTRACTS, {})[name] = made

    @pytest.fixture(scope="session", name=name)
    def case(submission: Any, request: pytest.FixtureRequest) -> Case:
        """The case whose number `grader.grading.plugin` parametrizes the fixture with."""
        made_case: Case = submission.case(name, request.param)
        return made_case

    return case


def contracts_defined(check_file: ModuleType) -> dict[str, Contract]:
    """The contracts a check file defined, by name."""
    return dict(vars(check_file).get(_CONTRACTS, {}))


def _require_known_words(  # noqa: PLR0913, PLR0917 - the parts of a declaration
    function: str,
    factors: Mapping[str, tuple[Any, ...]],
    arguments: Collection[str],
    cases: Cases,
    call: Call,
    rules: Rules,
) -> None:
    """Fail where a declaration has a word that nothing reads.

    Raises:
        CourseError: it names the nearest word.
    """
    contract_of = f"contract of {function}"
    changed = [f"changed {name}" for name in arguments]
    for name, words, known in (
        ("dtypes", cases.dtypes, CALL["all.dtype"].levels),
        ("sizes", cases.sizes, CALL["all.sizes"].levels),
        ("modes", cases.modes, CALL["call.mode"].levels),
        ("sequences", cases.sequences, [*CALL["call.sequence"].levels, *changed]),
        ("arriving", cases.arriving, CALL["call.arriving"].levels),
        ("cover", cases.cover or (), factors),
        ("never", [factor for rule in cases.never for factor in rule], factors),
        ("memory_with", cases.memory_with, factors),
        ("given", call.given or (), arguments),
        ("record", [word.rpartition(".")[0] for word in call.record if "." in word], arguments),
        ("record", [word.rpartition(".")[2] for word in call.record], RECORDED),
    ):
        require_known(f"{contract_of}, {name}", words, known)
    for name, rule in [*(("never", rule) for rule in cases.never), ("memory_with", cases.memory_with)]:
        for factor, levels in rule.items():
            wanted = levels if isinstance(levels, tuple) else (levels,)
            require_known(f"{contract_of}, {name}, {factor}", wanted, factors[factor])
    for name, patterns in (
        ("ignore", rules.ignore),
        ("optional", rules.optional),
        ("updates", rules.updates),
    ):
        require_known_paths(f"{contract_of}, {name}", patterns, arguments, PARTS)


def _name(function: Function | None) -> str:
    return "" if function is None else function.__name__


def _rule(who: str, rule: Never) -> dict[str, Any]:
    return {f"{who}.{factor}": kinds for factor, kinds in rule.items()}


def _source(
    name: str,
    plan: Mapping[str, Any],
    arguments: Mapping[str, Kinds],
    sources: Sequence[InsideSource],
    where: FrameType,
) -> InsideSource:
    """The source that is sent: a function that passes the plan to the worker's own code."""
    function = plan["function"]
    used = {source.name: source for source in sources}
    words = {word for source in sources for part in source.closure().values() for word in part.words}
    counts = "alive" in words or any("graphs" in note for note in plan["record"])
    plan = {**plan, "counts graphs": counts}
    functions = ", ".join(f"{key!r}: {key}" for key in used)
    of_levels = dict(pair for kinds in arguments.values() for pair in kinds.builders())
    builders = ", ".join(f"{level!r}: {builder}" for level, builder in of_levels.items())
    text = (
        f"def {name}(student):\n    return observe_cases(student, {plan!r}, {{{functions}}}, {{{builders}}})"
    )
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    ast.increment_lineno(tree, where.f_lineno - 1)
    return InsideSource(
        name,
        text,
        tuple(used.values()),
        frozenset({"observe_cases"}),
        frozenset({function}),
        where.f_code.co_filename,
        tree,
    )


def _case(
    row: Levels, arguments: Mapping[str, Kinds], phrases: Mapping[str, str], dtype: str
) -> DeclaredCase:
    words = {}
    for key, kind in row.items():
        who, _, factor = key.partition(".")
        if who in arguments:
            words[key] = arguments[who].phrase(factor, kind) or f"has the {factor} {kind}"
        else:
            words[key] = phrases.get(f"{key}={kind}") or CALL[key].levels[kind].phrase
    may_raise = any(key.endswith(".fault") and kind != "none" for key, kind in row.items())
    return DeclaredCase(dict(row), words, may_raise, row.get("all.dtype", dtype), tuple(arguments))


# --- the cases


def covered(
    factors: Mapping[str, tuple[Any, ...]],
    never: Sequence[Mapping[str, Any]],
    paired: Collection[str],
    together: Collection[Sequence[_Pair]] = (),
    also: Collection[_Pair] = (),
) -> tuple[dict[str, Any], ...]:
    """The variations of each case: none, each on its own, then combinations that contain every pair.

    Args:
        factors: the levels of each, the typical one first.
        never: excluded combinations, which must not exclude the typical case.
        paired: the factors whose every pair of levels occurs in some case.
        together: pairs of levels, one of which is in some case, such as a frozen parameter with a ``.grad``.
        also: pairs of levels, each of which has a case in which nothing else varies.
    """
    is_allowed = _is_allowed_by(never)
    base = {key: levels[0] for key, levels in factors.items()}
    several = {key: levels for key, levels in factors.items() if len(levels) > 1}
    single: list[_Chosen] = [
        *(((key, level),) for key, levels in several.items() for level in levels[1:]),
        *also,
    ]
    cases = [
        base,
        *filter(None, (_completed(base, levels, several, is_allowed, most=2) for levels in single)),
    ]
    if len(paired) > 1:
        others = {key: level for key, level in base.items() if key not in paired}

        def is_possible(row: Sequence[Any]) -> bool:
            return is_allowed(others | dict(zip(paired, row, strict=False)))

        tested = [[case[key] for key in paired] for case in cases]
        rows = AllPairs(
            [factors[key] for key in paired],
            filter_func=is_possible,
            previously_tested=[*filter(is_possible, tested)],
        )
        cases += [base | dict(zip(paired, row, strict=True)) for row in rows]
    unusual = [(key, level) for key in paired for level in factors[key][1:]]
    pairs = [pair for pair in combinations(unusual, 2) if pair[0][0] != pair[1][0]]
    if "off" in factors.get(_MODE, ()):
        pairs += [((_MODE, "off"), other) for other in unusual]
    left = [pair for pair in pairs if not any(_has(case, pair) for case in cases)]
    for both in together:
        if not any(_has(case, pair) for case in cases for pair in both):
            left += [pair for pair in both if _completed(base, pair, several, is_allowed, most=2)][:1]
    cases += _meeting(left, base, several, is_allowed)  # AllPairs gives up early where levels exclude others
    without_typical = [{key: level for key, level in case.items() if level != base[key]} for case in cases]
    rows = {tuple(row.items()): row for row in without_typical}.values()
    return tuple(sorted(rows, key=lambda row: not row.keys() <= {MEMORY}))  # the typical ones first


_Chosen = tuple[tuple[str, Any], ...]  # some levels, each with its factor
_Pair = tuple[tuple[str, Any], tuple[str, Any]]


def _has(case: Levels, levels: _Chosen) -> bool:
    return all(case[key] == level for key, level in levels)


def _completed(
    base: Levels,
    levels: _Chosen,
    factors: Mapping[str, tuple[Any, ...]],
    is_allowed: Callable[[Levels], bool],
    *,
    most: int,
) -> dict[str, Any] | None:
    """The typical case with some levels, and at most `most` others that these need, as a .grad needs a leaf.

    None if the task excludes them.
    """
    case = {**base, **dict(levels)}
    others = [(key, level) for key in factors if key not in dict(levels) for level in factors[key][1:]]
    for number in range(most + 1):
        for needed in combinations(others, number):
            if is_allowed(case | dict(needed)):
                return case | dict(needed)
    return None


def _meeting(
    pairs: Sequence[_Chosen],
    base: Levels,
    factors: Mapping[str, tuple[Any, ...]],
    is_allowed: Callable[[Levels], bool],
) -> list[dict[str, Any]]:
    """A few cases in which some pairs of levels meet, unless they exclude each other."""
    left, cases = list(pairs), list[dict[str, Any]]()
    while left:
        case = _completed(base, left[0], factors, is_allowed, most=2)
        if case is None:
            del left[0]
            continue
        for pair in left:
            is_free = all(case[key] in {base[key], level} for key, level in pair)
            if is_free and is_allowed(case | dict(pair)):
                case |= dict(pair)
        left = [pair for pair in left if not _has(case, pair)]
        cases.append(case)
    return cases


def _is_allowed_by(never: Sequence[Levels]) -> Callable[[Levels], bool]:
    """Whether a case has none of the combinations that there may not be."""
    rules = [
        {key: levels if isinstance(levels, tuple) else (levels,) for key, levels in rule.items()}
        for rule in never
    ]

    def is_allowed(case: Levels) -> bool:
        return not any(
            all(key in case and case[key] in levels for key, levels in rule.items()) for rule in rules
        )

    return is_allowed
