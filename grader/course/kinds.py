"""The words of a contract: what each argument of a question's function may be.

Each word makes `Kinds`, plain data: factors with their kinds, the ordinary kind first. The worker makes the
things (``grader/sandbox/worker/kinds.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.course.inside_source import InsideSource

Function = Callable[..., Any]
#: A combination of kinds that a task excludes: kinds by factor.
Never = Mapping[str, str | tuple[str, ...]]

#: Of a kind, what follows the name of its argument: "where h is transposed".
WORDS = {
    "computed": "is a non-leaf",
    "leaf": "is a leaf that requires grad",
    "plain": "is a tensor that doesn't require grad",
    "saved": "is a non-leaf whose own operation saved it for backward",
    "transposed": "is transposed",
    "gaps": "is not contiguous",
    "part": "is a part of a larger tensor",
    "expanded": "is expanded from its first row",
    "filled": "has .grad filled beforehand",
    "some": "has .grad filled in some parameters",
    "frozen filled": "has .grad filled in a frozen parameter, too",
    "zeros": "is 0 everywhere",
    "grad of zeros": "has a .grad of zeros",
    "heavy": "has a .grad of large numbers",
    "deep": "has nested modules",
    "own": "has a parameter of its own and asks for its own mode",
    "bare": "has parameters and no modules",
    "part eval": "has a part in eval mode",
    "eval": "is in eval mode",
    "part train": "is in eval mode and has a part in train mode",
    "train": "is in train mode",
    "one frozen": "has a frozen parameter",
    "first frozen": "has a frozen first parameter",
    "all frozen": "is frozen",
    "tied": "has tied parameters",
    "buffers": "has buffers",
    "one column": "gives one column",
    "norm": "has batch norm",
    "dropout": "has dropout",
    "together": "mixes the rows",
    "large": "gives large numbers",
    "even": "gives numbers that hardly depend on its input",
    "high": "gives numbers near 300",
    "low": "gives numbers near -300",
    "view": "returns a view",
    "half": "gives another dtype than its input has",
    "a number": "gives a number for each row",
    "tanh": "ends in tanh",
    "hooked": "has a hook of the caller's",
    "changed": "has a hook of the caller's that changes what it returns",
    "sgd": "is SGD",
    "momentum": "is SGD with momentum",
    "adam": "is AdamW",
    "two groups": "has two groups",
    "two alike": "has two groups of the same lr",
    "stepped": "has made steps",
    "empty": "is empty",
    "twice": "has a tensor twice",
    "alike": "has tensors of one shape",
    "views": "has views of one memory",
    "single": "has one entry",
    "requires grad": "has an x that requires grad",
    "one row": "has one row",
    "3 dims": "has tensors of 3 dimensions",
    "shape": "has a batch of a wrong shape",
    "interrupt": "has a batch at which KeyboardInterrupt or its like stops the network",
    "own error": "has a batch at which the network raises an error of its own",
    "normal": "has ordinary values",
    "ones": "is 1 everywhere",
    "positive": "is positive",
    "negative": "is negative",
    "far": "is far from 0",
    "diverged": "has nan and inf",
    "vast": "has values as large as 1e12",
    "tiny": "has values as small as 1e-40",
    "small": "has small values",
    "huge": "has values as large as 1e38",
    "one value": "has one value everywhere",
    "waits": "is needed by a loss that was computed before the call",
    "holds some": "holds some of it",
    "holds some last": "holds some of it, in its last group",
    "holds all": "holds all of it",
    "none": "holds nothing of it",
}

#: The layers whose results depend on their mode, by the level of ``inside`` that puts them into a network.
LAYERS_WITH_MODES = {"norm": "batch norm", "dropout": "dropout"}
#: The mode of these layers, by the level of ``train``; "part eval" and "part train" are about them alone.
MODE_OF_LAYERS = {"train": "train", "part eval": "eval", "eval": "eval", "part train": "train"}


@dataclass(frozen=True)
class Kinds:
    """What an argument may be.

    Attributes:
        maker: the word of the worker that makes it.
        options: what the maker needs besides.
        factors: the kinds of each factor, the ordinary one first.
        words: what is said of a kind, where `WORDS` does not say it.
        never: combinations that do not go together, by factors without the argument's name.
        functions: ``@inside`` functions that the maker calls.
        says: what the docstring says of the argument.
        alone: factors whose kinds are tried one at a time, and not with every other kind.
    """

    maker: str
    factors: Mapping[str, tuple[Any, ...]]
    options: Mapping[str, Any] = field(default_factory=dict)
    words: Mapping[Any, str] = field(default_factory=dict)
    never: tuple[Never, ...] = ()
    functions: tuple[InsideSource, ...] = ()
    says: str = ""
    alone: tuple[str, ...] = ()

    @property
    def draws(self) -> bool:
        """Whether the worker draws its sizes or values at random; ``@inside`` functions may, as well."""
        if self.maker == "number":
            return any(isinstance(value, tuple) for value in self.factors["value"])
        return self.maker != "own"

    def has_phrase(self, factor: str, kind: Any) -> bool:
        """Whether a level has words, or follows from its number or shape."""
        return kind in self.words or kind in WORDS or factor in {"shape", "value", "grad", "grads"}

    def phrase(self, factor: str, kind: Any) -> str:
        """A level in words that follow the argument's name, as in ``is transposed``."""
        if kind in self.words:
            return self.words[kind]
        if factor == "shape":
            return shape_in_words(kind)
        if factor == "value":
            return f"is between {kind[0]:g} and {kind[1]:g}" if isinstance(kind, tuple) else f"is {kind:g}"
        if factor in {"grad", "grads"} and kind in {"none", "zeros"}:
            return WORDS["grad of zeros"] if kind == "zeros" else "has no .grad"
        return WORDS.get(kind, f"has the {factor} {kind}")


def shape_in_words(shape: str) -> str:
    """``n k`` in words, as it follows a name: ``has one row``."""
    sizes = shape.split()
    several = len(sizes) > 1
    numbers = {1: "one dimension"}
    told = [
        (not sizes, "has no dimensions"),
        ("0" in sizes, "has no entries"),
        (set(sizes) == {"1"}, "has one entry"),
        (shape.isdigit(), f"has {shape} entries"),
        (several and sizes[0] == "1", "has one row"),
        (several and sizes[-1] == "1", "has one column"),
        (True, f"has {numbers.get(len(sizes), f'{len(sizes)} dimensions')}"),
    ]
    return next(words for holds, words in told if holds)


def _named(values: Iterable[str | Function]) -> tuple[dict[str, str], tuple[InsideSource, ...]]:
    """Kinds of values and what is said of those that a function makes; these functions."""
    words: dict[str, str] = {}
    functions = []
    for value in values:
        if isinstance(value, str):
            words[value] = WORDS.get(value, value)
        else:
            name = value.__name__
            words[name] = f"has {name.replace('_', ' ')}"
            functions.append(InsideSource.of(value))
    return words, tuple(functions)


def tensor(  # noqa: PLR0913 - the factors of a tensor
    *shapes: str,
    values: Sequence[str | Function] = ("normal",),
    roles: Sequence[str] = ("computed", "leaf", "plain"),
    layouts: Sequence[str] = ("contiguous", "transposed", "gaps", "part"),
    grads: Sequence[str] = ("none", "filled"),
    waiting: bool = False,
    dtype: str = "",
    says: str = "",
) -> Kinds:
    """A tensor.

    Args:
        shapes: each as words for its sizes, the ordinary one first: ``"n k"``, ``"1 k"``, ``""`` for no
            dimensions, ``"n 2c"`` for an even number, ``"=x"`` for the shape of the argument x, ``"*x k"``
            for that of x with another last size. Equal words are equal sizes, also of other arguments.
        values: words of the worker's table, or ``@inside`` functions of a shape that return a tensor of
            float64 (or of the dtype that it should have).
        roles: ``computed``, ``saved`` (computed by exp), ``leaf`` (requires grad), ``plain`` (does not).
        layouts: ``contiguous``, ``transposed``, ``gaps``, ``part``, and ``expanded``, where all rows are the
            memory of the first.
        grads: what ``.grad`` of a leaf holds before: ``none``, ``filled``, ``zeros``, ``heavy``.
        waiting: also with a loss that needs its values, and goes back after the call.
        dtype: of the values, where it is none of the contract's.
    """
    words, functions = _named(values)
    grads = grads if "leaf" in roles else grads[:1]
    factors: dict[str, tuple[Any, ...]] = {
        "shape": shapes,
        "values": tuple(words),
        "role": tuple(roles),
        "layout": tuple(layouts),
        "grad": tuple(grads),
    }
    if waiting:  # of what fails alone it is told first
        factors = {"waiting": ("none", "waits"), **factors}
    has_grad = [grad for grad in grads if grad != "none"]
    others = tuple(role for role in roles if role != "leaf")
    never: list[Never] = [{"role": others, "grad": tuple(has_grad)}] if has_grad and others else []
    words = {kind: text for kind, text in words.items() if kind not in WORDS}
    return Kinds("tensor", factors, {"dtype": dtype}, words, tuple(never), functions, says)


def data(*shapes: str, **options: Any) -> Kinds:
    """A tensor that is plain data, contiguous or not."""
    return tensor(*shapes, **{"roles": ("plain",), "layouts": ("contiguous", "gaps"), **options})


def number(*values: float | tuple[float, float], says: str = "") -> Kinds:
    """A number: each value is a kind, the ordinary one first; of two bounds it is drawn between them."""
    return Kinds("number", {"value": values}, says=says)


#: The factors of a network and their kinds.
NETWORK: dict[str, tuple[str, ...]] = {
    "nest": ("flat", "deep", "own", "bare"),
    "train": ("train", "part eval", "eval", "part train"),
    "frozen": ("no", "one frozen", "all frozen"),
    "tied": ("no", "tied"),
    "buffers": ("no", "buffers"),
    "width": ("several", "one column"),
    "inside": ("louder", "norm", "dropout"),
    "rows": ("each", "together"),
    "gives": ("new", "view"),
    "numbers": ("small",),
    "grads": ("none", "filled", "some"),
    "hooks": ("no", "hooked"),
}


_ALONE = ("tied", "buffers", "width", "gives", "hooks")


#: What a network without modules cannot have.
_NEEDS_MODULES: dict[str, tuple[str, ...]] = {
    "train": ("part eval", "part train"),
    "tied": ("tied",),
    "inside": ("norm", "dropout", "plain"),
    "hooks": ("hooked",),
}
#: Of a network's factors, those that two networks of one architecture share.
_ARCHITECTURE = ("nest", "tied", "buffers", "width", "inside", "rows", "gives", "numbers")


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
    """A network of every kind, from (..., inputs) to (..., outputs).

    Args:
        inputs: a word for a size, or ``"*x"`` for the last size of the argument x.
        every: of a factor that is not named there are all kinds, and not the ordinary one alone.
        like: the argument that is a network of the same architecture.
        quiet: batch norm and dropout are in eval mode, as most tasks promise.
        factors: other kinds than those of `NETWORK`; a single one switches a factor off.
    """
    mine = {name: tuple(factors.pop(name, kinds if every else kinds[:1])) for name, kinds in NETWORK.items()}
    if like:
        mine = {name: kinds for name, kinds in mine.items() if name not in _ARCHITECTURE}
        quiet = False
    mine |= {name: tuple(kinds) for name, kinds in factors.items()}
    never: list[Never] = [{"inside": ("norm", "dropout"), "train": ("train", "part train")}] if quiet else []
    if "filled" in mine["grads"] and len(mine["frozen"]) > 1:
        mine["grads"] = (*mine["grads"], "frozen filled")
        never.append({"frozen": ("no",), "grads": ("frozen filled",)})
    if not like:
        never += [{"nest": ("bare",), factor: kinds} for factor, kinds in _NEEDS_MODULES.items()]
    options = {"inputs": inputs, "outputs": outputs, "like": like}
    alone = tuple(name for name in _ALONE if name in mine)
    return Kinds("module", mine, options, {}, tuple(never), (), says, alone)


def optimizer(
    *of: str,
    rules: Sequence[str] = ("sgd", "momentum", "adam"),
    groups: Sequence[str] = ("one", "two groups", "two alike"),
    holds: Sequence[str] = ("all",),
    state: Sequence[str] = ("fresh", "stepped"),
    says: str = "",
) -> Kinds:
    """An optimizer of the parameters of the named arguments; of the last it may hold some only (`holds`)."""
    factors = {"rule": tuple(rules), "groups": tuple(groups), "state": tuple(state), "holds": tuple(holds)}
    never: tuple[Never, ...] = ({"holds": ("holds some last",), "groups": ("one",)},)
    return Kinds("optimizer", factors, {"of": list(of)}, {}, never, (), says)


def inputs(
    width: str = "in",
    *,
    lists: Sequence[str] = ("differ", "alike", "twice", "views", "empty", "single", "3 dims"),
    says: str = "",
) -> Kinds:
    """A list of inputs of a network."""
    return Kinds("inputs", {"list": tuple(lists)}, {"inputs": width}, says=says)


def pairs(  # noqa: PLR0913 - the factors of a list of batches
    of: str = "",
    *,
    inputs: str = "in",
    outputs: str = "out",
    lists: Sequence[str] = ("differ", "single", "alike"),
    faults: Sequence[str] = ("none",),
    values: Sequence[str | Function] = ("normal", "far"),
    xs: Sequence[str] = ("plain",),
    says: str = "",
) -> Kinds:
    """A list of batches (x, y) for a network; the first or the last may be the caller's error.

    The first x may be a leaf that ``requires grad``.
    """
    words, functions = _named(values)
    factors = {"list": tuple(lists), "fault": tuple(faults), "values": tuple(words), "xs": tuple(xs)}
    told = {"own": WORDS["own error"], "alike": "has batches of one size"}
    told |= {kind: text for kind, text in words.items() if kind not in WORDS}
    return Kinds(
        "pairs", factors, {"inputs": inputs, "outputs": outputs, "of": of}, told, (), functions, says
    )


def target(
    like: str,
    of: str = "",
    *,
    outputs: str = "out",
    values: Sequence[str | Function] = ("normal", "far"),
    says: str = "",
) -> Kinds:
    """Plain data in the shape of what the network `of` gives for the argument `like`."""
    words, functions = _named(values)
    told = {kind: text for kind, text in words.items() if kind not in WORDS}
    return Kinds(
        "target",
        {"values": tuple(words)},
        {"like": like, "outputs": outputs, "of": of},
        told,
        (),
        functions,
        says,
    )


def own(
    make: Function,
    *,
    words: Mapping[Any, str] | None = None,
    never: Sequence[Never] = (),
    helpers: Sequence[Function] = (),
    says: str = "",
    **factors: Sequence[Any],
) -> Kinds:
    """Whatever an ``@inside`` function makes of the world and of the kinds of its factors.

    Args:
        make: called with ``(world, kind)``. ``world["x"]`` is an argument that was made before,
            ``world.size("n")`` a size, ``world.dtype`` the dtype; ``kind("factor")`` is the kind of a factor.
            What it adds to ``world.starts[name]`` is a leaf whose gradient is asked for.
        words: what is said of a kind, behind the argument's name.
    """
    sources = tuple(InsideSource.of(function) for function in (make, *helpers))
    kinds = {name: tuple(levels) for name, levels in factors.items()}
    options = {"make": make.__name__}
    return Kinds("own", kinds, options, words or {}, tuple(never), sources, says)
