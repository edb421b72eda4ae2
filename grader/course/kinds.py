"""The words of a contract, which describe each argument of a question's function.

Each word returns `Kinds`: factors with their levels, the typical one first. The worker makes the objects
(``grader/runtime/kinds.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.course.inside_source import InsideSource
from grader.course.known_words import require_known
from grader.course.levels import (
    ARCHITECTURE,
    FACTORS,
    MODULE,
    NEEDS_MODULES,
    TRIED_SEPARATELY,
    Factor,
    Level,
    phrase_of,
)

Function = Callable[..., Any]
#: A combination that a task excludes: levels by factor.
Never = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True)
class Kinds:
    """The possible values of an argument.

    Attributes:
        maker: the word of the worker that makes it.
        options: further options of the maker.
        factors: the levels of each factor, the typical one first.
        words: phrases for levels that have none in the table of levels.
        never: excluded combinations, by factors without the argument's name.
        functions: ``@inside`` functions that the maker calls.
        says: the argument's description in the docstring.
        separate: factors whose levels are tried one at a time, and not with every other level.
    """

    maker: str
    factors: Mapping[str, tuple[Any, ...]]
    options: Mapping[str, Any] = field(default_factory=dict)
    words: Mapping[Any, str] = field(default_factory=dict)
    never: tuple[Never, ...] = ()
    functions: tuple[InsideSource, ...] = ()
    says: str = ""
    separate: tuple[str, ...] = ()

    @property
    def draws(self) -> bool:
        """Whether the worker draws its sizes or values at random; ``@inside`` functions may, as well."""
        if self.maker == "number":
            return any(isinstance(value, tuple) for value in self.factors["value"])
        return self.maker != "own"

    def phrase(self, factor: str, kind: Any) -> str:
        """A level in words that follow the argument's name, as in ``is transposed``; empty without any."""
        if kind in self.words:
            return self.words[kind]
        if factor == "shape":
            return shape_in_words(kind, typical=self.factors[factor][0])
        if factor == "value":
            return f"is between {kind[0]:g} and {kind[1]:g}" if isinstance(kind, tuple) else f"is {kind:g}"
        return phrase_of(self.maker, factor, kind)

    def builders(self) -> Iterator[tuple[str, str]]:
        """The levels that have a source, as ``maker.factor.level``, each with a function of that source."""
        for factor, kinds in self.factors.items():
            known = FACTORS[self.maker].get(factor, Factor({}))
            for kind in kinds:
                source = known.levels.get(kind, Level()).source
                if source:
                    yield f"{self.maker}.{factor}.{kind}", f"lambda {known.takes}: {source}"


def shape_in_words(shape: str, typical: str) -> str:
    """A shape in words that follow a name: ``1 k`` has one row, ``1 n k`` has size 1 in dimension 0."""
    sizes = shape.split()
    fixed = [f"size {size} in dimension {n}" for n, size in enumerate(sizes) if size.isdigit()]
    several = len(sizes) > 1
    numbers = {1: "one dimension"}
    phrases = [
        (not sizes, "has no dimensions"),
        ("0" in sizes, "has no entries"),
        (set(sizes) == {"1"}, "has one entry"),
        (shape.isdigit(), f"has {shape} entries"),
        (bool(sizes[2:] and fixed), f"has {' and '.join(fixed)}"),
        (several and sizes[0] == "1", "has one row"),
        (several and sizes[-1] == "1", "has one column"),
        (bool(several and fixed), f"has {' and '.join(fixed)}"),
        (shape != typical and len(sizes) == len(typical.split()), "has a different size"),
        (True, f"has {numbers.get(len(sizes), f'{len(sizes)} dimensions')}"),
    ]
    return next(words for holds, words in phrases if holds)


def _levels(maker: str, place: str, **given: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """The levels of some factors: those that an author names, or otherwise the usual ones.

    Raises:
        CourseError: there is no such level.
    """
    levels = {}
    for factor, named in given.items():
        known = FACTORS[maker][factor]
        if named is not None:
            require_known(f"{place}, {factor}", named, known.levels)
        levels[factor] = known.defaults if named is None else tuple(named)
    return levels


def _values(
    maker: str, place: str, values: Sequence[str | Function] | None
) -> tuple[dict[str, tuple[str, ...]], dict[str, str], tuple[InsideSource, ...]]:
    """The levels of values, with the phrases of those that an author's functions make; these functions."""
    given = FACTORS[maker]["values"].defaults if values is None else values
    functions = [value for value in given if not isinstance(value, str)]
    require_known(
        f"{place}, values",
        [value for value in given if isinstance(value, str)],
        FACTORS[maker]["values"].levels,
    )
    names = tuple(value if isinstance(value, str) else value.__name__ for value in given)
    phrases = {f.__name__: f"has {f.__name__.replace('_', ' ')}" for f in functions}
    return {"values": names}, phrases, tuple(map(InsideSource.of, functions))


def tensor(  # noqa: PLR0913 - the factors of a tensor
    *shapes: str,
    values: Sequence[str | Function] | None = None,
    roles: Sequence[str] | None = None,
    layouts: Sequence[str] | None = None,
    grads: Sequence[str] | None = None,
    pending: bool = False,
    dtype: str = "",
    says: str = "",
) -> Kinds:
    """A tensor.

    Args:
        shapes: each as words for its sizes, the typical one first: ``"n k"``, ``"1 k"``, ``""`` for no
            dimensions, ``"n 2c"`` for an even number, ``"=x"`` for the shape of the argument x, ``"*x k"``
            for that of x with another last size. Equal words are equal sizes, also of other arguments.
        values: levels of `TENSOR`, or ``@inside`` functions of a shape that return a tensor of float64 (or
            of the dtype that it should have).
        roles: ``computed``, ``saved`` (computed by exp), ``leaf`` (requires grad), ``plain`` (does not).
        layouts: ``contiguous``, ``transposed``, ``gaps``, ``part``, and ``expanded``, where all rows are the
            memory of the first.
        grads: the ``.grad`` of a leaf before the call: ``none``, ``filled``, ``zeros``, ``heavy``.
        pending: also with a loss that needs its values, and is backpropagated after the call.
        dtype: of the values, where it is none of the contract's.

    Raises:
        CourseError: there is no such level.
    """
    of_values, words, functions = _values("tensor", "tensor(...)", values)
    others = _levels("tensor", "tensor(...)", role=roles, layout=layouts, grad=grads)
    if "leaf" not in others["role"]:
        others["grad"] = others["grad"][:1]
    factors: dict[str, tuple[Any, ...]] = {"shape": shapes, **of_values, **others}
    if pending:  # first, so that a message names it before other variations
        factors = {"pending": FACTORS["tensor"]["pending"].defaults, **factors}
    has_grad = tuple(grad for grad in others["grad"] if grad != "none")
    no_leaf = tuple(role for role in others["role"] if role != "leaf")
    never: list[Never] = [{"role": no_leaf, "grad": has_grad}] if has_grad and no_leaf else []
    return Kinds("tensor", factors, {"dtype": dtype}, words, tuple(never), functions, says)


def data(*shapes: str, **options: Any) -> Kinds:
    """A tensor that doesn't require grad, contiguous or not; it has the options of `tensor`."""
    return tensor(*shapes, **{"roles": ("plain",), "layouts": ("contiguous", "gaps"), **options})


def number(*values: float | tuple[float, float], says: str = "") -> Kinds:
    """A number: each value is a level, the typical one first; a pair bounds a random number."""
    return Kinds("number", {"value": values}, says=says)


def network(  # noqa: PLR0913 - what a network may be
    inputs: str = "in",
    outputs: str = "out",
    *,
    every: bool = True,
    quiet: bool = True,
    like: str = "",
    says: str = "",
    **factors: Sequence[str],
) -> Kinds:
    """A network from (..., inputs) to (..., outputs).

    Args:
        inputs: a word for a size, or ``"*x"`` for the last size of the argument x.
        every: factors that are not named have all their levels, and not only the typical one.
        like: the argument that is a network of the same architecture.
        quiet: batch norm and dropout are in eval mode, as most tasks promise.
        factors: other levels than the usual ones of `MODULE`; a single one switches a factor off.

    Raises:
        CourseError: there is no such factor or level.
    """
    known = {name: factor for name, factor in MODULE.items() if not (like and name in ARCHITECTURE)}
    require_known("network(...)", factors, known)
    given = {
        name: factors.get(name) or (None if every else factor.defaults[:1]) for name, factor in known.items()
    }
    levels = _levels("module", "network(...)", **given)
    quiet = quiet and not like
    never: list[Never] = [{"inside": ("norm", "dropout"), "train": ("train", "part train")}] if quiet else []
    if not like:
        never += [{"nest": ("bare",), factor: kinds} for factor, kinds in NEEDS_MODULES.items()]
    options = {"inputs": inputs, "outputs": outputs, "like": like}
    separate = tuple(name for name in TRIED_SEPARATELY if name in levels)
    return Kinds("module", levels, options, {}, tuple(never), (), says, separate)


def optimizer(
    *of: str,
    rules: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    holds: Sequence[str] | None = None,
    state: Sequence[str] | None = None,
    says: str = "",
) -> Kinds:
    """An optimizer of the named arguments' parameters; `holds` selects parameters of the last argument.

    Raises:
        CourseError: there is no such level.
    """
    factors = _levels("optimizer", "optimizer(...)", rule=rules, groups=groups, state=state, holds=holds)
    never: tuple[Never, ...] = ({"holds": ("holds some last",), "groups": ("one",)},)
    words: dict[Any, str] = {
        level: phrase_of("optimizer", "holds", level).format(last=of[-1]) for level in factors["holds"]
    }
    return Kinds("optimizer", factors, {"of": list(of)}, words, never, (), says)


def inputs(width: str = "in", *, lists: Sequence[str] | None = None, says: str = "") -> Kinds:
    """A list of a network's inputs.

    Raises:
        CourseError: there is no such level.
    """
    return Kinds("inputs", _levels("inputs", "inputs(...)", list=lists), {"inputs": width}, says=says)


def pairs(  # noqa: PLR0913 - the factors of a list of batches
    of: str = "",
    *,
    inputs: str = "in",
    outputs: str = "out",
    lists: Sequence[str] | None = None,
    faults: Sequence[str] | None = None,
    values: Sequence[str | Function] | None = None,
    xs: Sequence[str] | None = None,
    says: str = "",
) -> Kinds:
    """A list of batches (x, y) for a network; `faults` makes the first or the last invalid.

    The first x may be a leaf that ``requires grad``.

    Raises:
        CourseError: there is no such level.
    """
    of_values, words, functions = _values("pairs", "pairs(...)", values)
    levels = _levels("pairs", "pairs(...)", list=lists, fault=faults, xs=xs)
    factors = {"list": levels["list"], "fault": levels["fault"], **of_values, "xs": levels["xs"]}
    options = {"inputs": inputs, "outputs": outputs, "of": of}
    return Kinds("pairs", factors, options, words, (), functions, says)


def target(
    like: str,
    of: str = "",
    *,
    outputs: str = "out",
    values: Sequence[str | Function] | None = None,
    says: str = "",
) -> Kinds:
    """A tensor that doesn't require grad, in the shape of `of(like)`.

    Raises:
        CourseError: there is no such level of `values`.
    """
    factors, words, functions = _values("target", "target(...)", values)
    options = {"like": like, "outputs": outputs, "of": of}
    return Kinds("target", factors, options, words, (), functions, says)


def own(
    make: Function,
    *,
    words: Mapping[Any, str] | None = None,
    never: Sequence[Never] = (),
    helpers: Sequence[Function] = (),
    says: str = "",
    **factors: Sequence[Any],
) -> Kinds:
    """Any object that an ``@inside`` function makes from the setup and the levels of its factors.

    Args:
        make: called with ``(setup, kind)``. ``setup["x"]`` is an argument that was made before,
            ``setup.size("n")`` a size, ``setup.dtype`` the dtype; ``kind("factor")`` is the level of a
            factor. A leaf that it adds to ``setup.starts[name]`` is one whose gradient is observed.
        words: phrases for levels, which follow the argument's name.
    """
    sources = tuple(InsideSource.of(function) for function in (make, *helpers))
    kinds = {name: tuple(levels) for name, levels in factors.items()}
    options = {"make": make.__name__}
    return Kinds("own", kinds, options, words or {}, tuple(never), sources, says)
