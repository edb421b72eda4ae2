"""Every level of an input that contracts offer, declared once: its name, its phrase, and how it is built.

A level is one line of the table below. Its phrase follows the argument's name, as in "h is transposed". Its
source is an expression that the worker evaluates to build it. It may use torch, nn, the names that its factor
`takes`, and `NAMES` of ``grader/runtime/kinds.py``. Without a source, a function there builds all
levels of the factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Level:
    """One level of a factor.

    Attributes:
        phrase: what follows the argument's name; empty for a level that goes without saying.
        source: the expression that builds it; a level without one is built by the code of its maker in
            ``grader/runtime/kinds.py``.
        on_request: contracts have it only if their author names it.
    """

    phrase: str = ""
    source: str = ""
    on_request: bool = False


@dataclass(frozen=True)
class Factor:
    """A property of an argument, with its levels, the typical one first.

    Attributes:
        takes: the parameters of the levels' sources.
        shows_first: the typical level is a fact that students read, and not the mere absence of something.
    """

    levels: Mapping[str, Level]
    takes: str = ""
    shows_first: bool = False

    def __post_init__(self) -> None:
        ignored = [name for name, level in self.levels.items() if level.source and not self.takes]
        if ignored:
            raise ValueError(
                f"the sources of {', '.join(ignored)} need `takes`: without it nothing runs them"
            )

    @property
    def defaults(self) -> tuple[str, ...]:
        """The levels that a contract has unless its author names others."""
        return tuple(name for name, level in self.levels.items() if not level.on_request)


_VALUES = Factor(
    {
        "normal": Level("has typical values", "_normal(*shape)"),
        "zeros": Level("is 0 everywhere", "_zeros(shape, dtype=_double)", on_request=True),
        "ones": Level("is 1 everywhere", "torch.ones(shape, dtype=_double)", on_request=True),
        "positive": Level("is positive", "_normal(*shape).abs() + 0.3", on_request=True),
        "negative": Level("is negative", "-_normal(*shape).abs() - 0.3", on_request=True),
        "far": Level("is far from 0", "50 * _normal(*shape)", on_request=True),
        "diverged": Level("has nan and inf", "_diverged(*shape)", on_request=True),
        "vast": Level("has values as large as 1e12", "1e12 * _normal(*shape)", on_request=True),
        "tiny": Level("has values as small as 1e-40", "1e-40 * _normal(*shape)", on_request=True),
        "small": Level("has small values", "1e-3 * _normal(*shape)", on_request=True),
        "huge": Level("has values as large as 1e38", "_huge(*shape)", on_request=True),
        "one value": Level(
            "has one value everywhere", "torch.full(shape, _normal().item(), dtype=_double)", on_request=True
        ),
    },
    takes="shape",
)
_TARGETS = Factor({**_VALUES.levels, "far": Level("is far from 0", _VALUES.levels["far"].source)}, "shape")

TENSOR = {
    "values": _VALUES,
    "role": Factor(
        {
            "computed": Level("is a non-leaf"),
            "leaf": Level("is a leaf that requires grad"),
            "plain": Level("is a tensor that doesn't require grad"),
            "saved": Level("is a non-leaf whose own operation saved it for backward", on_request=True),
        },
        shows_first=True,
    ),
    "layout": Factor(
        {
            "contiguous": Level(),
            "transposed": Level("is transposed"),
            "gaps": Level("is not contiguous"),
            "part": Level("is a part of a larger tensor"),
            "expanded": Level("is expanded from its first row", on_request=True),
        }
    ),
    "grad": Factor(
        {
            "none": Level("has no .grad"),
            "filled": Level("has .grad filled beforehand", "torch.randn_like(leaf)"),
            "zeros": Level("has a .grad of zeros", "torch.zeros_like(leaf)", on_request=True),
            "heavy": Level("has a .grad of large numbers", "1e8 * torch.randn_like(leaf)", on_request=True),
        },
        takes="leaf",
    ),
    "pending": Factor(
        {"none": Level(), "loss": Level("is needed by a loss that was computed before the call")}
    ),
}

MODULE = {
    "nest": Factor(
        {
            "flat": Level(),
            "deep": Level("has nested modules"),
            "own": Level("has a parameter of its own and asks for its own mode"),
            "bare": Level("has parameters and no modules"),
        }
    ),
    "train": Factor(
        {
            "train": Level("is in train mode"),
            "part eval": Level("has a part in eval mode", "part.eval()"),
            "eval": Level("is in eval mode", "net.eval()"),
            "part train": Level("is in eval mode and has a part in train mode", "(net.eval(), part.train())"),
        },
        takes="net, part",
        shows_first=True,
    ),
    "frozen": Factor(
        {
            "no": Level("has no frozen parameter"),
            "one frozen": Level("has a frozen parameter", "parameters[1:2]"),
            "all frozen": Level("is frozen", "parameters"),
            "first frozen": Level("has a frozen first parameter", "parameters[:1]", on_request=True),
        },
        takes="parameters",
    ),
    "tied": Factor({"no": Level(), "tied": Level("has tied parameters")}),
    "buffers": Factor({"no": Level(), "buffers": Level("has buffers")}),
    "width": Factor({"several": Level(), "one column": Level("gives one column")}),
    "inside": Factor(
        {
            "louder": Level("", "Louder()"),
            "norm": Level("has batch norm", "Norm(width)"),
            "dropout": Level("has dropout", "Dropout()"),
            "plain": Level("", "nn.Identity()", on_request=True),
        },
        takes="width",
    ),
    "rows": Factor({"each": Level(), "together": Level("mixes the rows")}),
    "gives": Factor(
        {
            "new": Level(),
            "view": Level("returns a view"),
            "half": Level("gives another dtype than its input has", on_request=True),
            "a number": Level("gives a number for each row", on_request=True),
            "tanh": Level("ends in tanh", on_request=True),
        }
    ),
    "numbers": Factor(
        {
            "small": Level(),
            "large": Level("gives large numbers", "last.weight.data.mul_(40)", on_request=True),
            "quiet": Level("", "last.weight.data.mul_(0.1)", on_request=True),
            "even": Level(
                "gives numbers that hardly depend on its input",
                "last.weight.data.mul_(1e-4)",
                on_request=True,
            ),
            "high": Level("gives numbers near 300", "last.bias.data.fill_(300.0)", on_request=True),
            "steep": Level(
                "gives numbers that depend strongly on its input",
                "last.weight.data.mul_(12)",
                on_request=True,
            ),
            "near 85": Level("gives numbers near 85", "last.bias.data.fill_(85.0)", on_request=True),
            "near -85": Level("gives numbers near -85", "last.bias.data.fill_(-85.0)", on_request=True),
        },
        takes="last",
    ),
    "grads": Factor(
        {
            "none": Level("has no .grad", "[]"),
            "filled": Level("has .grad filled beforehand", "parameters"),
            "some": Level("has .grad filled in some parameters", "parameters[:-1]"),
            "zeros": Level("has a .grad of zeros", "parameters", on_request=True),
        },
        takes="parameters",
    ),
    "hooks": Factor(
        {
            "no": Level(),
            "hooked": Level("has a hook of the caller's", "_hook(net, part)"),
            "changed": Level(
                "has a hook of the caller's that changes what it returns",
                "_hook_that_changes(net)",
                on_request=True,
            ),
        },
        takes="net, part",
    ),
    "pending": Factor(
        {
            "none": Level(),
            "loss": Level("is needed by a loss that was computed before the call", on_request=True),
        }
    ),
}
#: Factors that two networks of one architecture share.
ARCHITECTURE = ("nest", "tied", "buffers", "width", "inside", "rows", "gives", "numbers")
#: Factors of a network whose levels are tried one at a time, and not with every other level.
TRIED_ALONE = ("tied", "buffers", "width", "gives", "hooks")
#: What a network without modules cannot have.
NEEDS_MODULES: Mapping[str, tuple[str, ...]] = {
    "train": ("part eval", "part train"),
    "tied": ("tied",),
    "inside": ("norm", "dropout", "plain"),
    "hooks": ("hooked",),
}
#: The layers whose results depend on their mode, by the level of ``inside`` that puts them into a network.
LAYERS_WITH_MODES = {"norm": "batch norm", "dropout": "dropout"}
#: The mode of these layers, by the level of ``train``; "part eval" and "part train" are about them alone.
MODE_OF_LAYERS = {"train": "train", "part eval": "eval", "eval": "eval", "part train": "train"}

OPTIMIZER = {
    "rule": Factor(
        {
            "sgd": Level("is SGD", "torch.optim.SGD(groups, lr=0.1)"),
            "momentum": Level(
                "is SGD with momentum",
                "torch.optim.SGD(groups, lr=0.1, momentum=0.9, weight_decay=0.01)",
            ),
            "adam": Level(
                "is AdamW", "torch.optim.AdamW(groups, lr=0.1, betas=(0.8, 0.9), weight_decay=0.02)"
            ),
        },
        takes="groups",
        shows_first=True,
    ),
    "groups": Factor(
        {
            "one": Level("", "[{'params': held}]"),
            "two groups": Level("has two groups", "_two_groups(held, 0.03)"),
            "two alike": Level("has two groups of the same lr", "_two_groups(held, 0.1)"),
        },
        takes="held",
    ),
    "state": Factor({"fresh": Level(), "stepped": Level("has made steps")}),
    "holds": Factor(
        {
            "all": Level("", "last"),
            "holds all": Level("holds all parameters of {last}", "last", on_request=True),
            "holds some": Level("holds some parameters of {last}", "last[:1]", on_request=True),
            "holds some last": Level(
                "holds some parameters of {last}, in its last group", "last[:1]", on_request=True
            ),
            "none": Level("holds no parameter of {last}", "[]", on_request=True),
        },
        takes="last",  # the parameters of the last argument, whose name the phrases have
    ),
}

INPUTS = {
    "list": Factor(
        {
            "differ": Level("", "[one(n) for n in rows]"),
            "alike": Level("has tensors of one shape", "[one(rows[0]) for _ in rows]"),
            "twice": Level("has a tensor twice", "_twice(one, rows)"),
            "views": Level("has views of one memory", "_views(one(rows[0]))"),
            "empty": Level("is empty", "[]"),
            "single": Level("has one entry", "[one(1)]"),
            "3 dims": Level("has tensors of 3 dimensions", "[one(2, n) for n in rows]"),
        },
        takes="one, rows",
    )
}

PAIRS = {
    "list": Factor(
        {
            "differ": Level("", "(n + 2, n, n + 5)"),
            "single": Level("has one entry", "(n + 1,)"),
            "alike": Level("has batches of one size", "(n + 1, n + 1)"),
            "one row": Level("has one row", "(1,)", on_request=True),
        },
        takes="n",
    ),
    "fault": Factor(
        {
            "none": Level(),
            "shape": Level("has a batch of a wrong shape", on_request=True),
            "own": Level("has a batch at which the network raises an error of its own", on_request=True),
            "interrupt": Level(
                "has a batch at which KeyboardInterrupt or its like stops the network", on_request=True
            ),
        }
    ),
    "values": _TARGETS,
    "xs": Factor({"plain": Level(), "requires grad": Level("has an x that requires grad", on_request=True)}),
}

#: The factors of each maker of the worker, by its name.
FACTORS: Mapping[str, Mapping[str, Factor]] = {
    "tensor": TENSOR,
    "number": {},
    "module": MODULE,
    "optimizer": OPTIMIZER,
    "inputs": INPUTS,
    "pairs": PAIRS,
    "target": {"values": _TARGETS},
    "own": {},
}

#: The factors of the call, and of all arguments at once.
CALL = {
    "all.dtype": Factor({"float32": Level("with float32"), "float64": Level("with float64")}),
    "all.sizes": Factor(
        {
            "differ": Level(),
            "equal": Level("with all sizes equal", on_request=True),
            "large": Level("with thousands of entries"),
        }
    ),
    "call.mode": Factor(
        {
            "on": Level(),
            "off": Level("called under no_grad()"),
            "only modes": Level("called under no_grad()", on_request=True),
        }
    ),
    "call.sequence": Factor(
        {
            "first": Level(),
            "other": Level("in a second call, with other numbers"),
            "other data": Level("in a second call with the same parameters, and other data", on_request=True),
            "same": Level("in a second call, with the same things"),
            "changed": Level("in a second call, after its values have changed"),
        }
    ),
    "call.memory": Factor(
        {
            "free": Level(),
            "measured": Level("with large tensors, to measure memory", on_request=True),
            "measured, few rows": Level("with a wide network, to measure memory", on_request=True),
        }
    ),
    "call.arriving": Factor(
        {
            "typical": Level(),
            "huge": Level("with a huge gradient at the result", on_request=True),
            "of a mean": Level("with the gradient of a mean at the result", on_request=True),
        }
    ),
}


def factor_of(maker: str, factor: str) -> Factor:
    """A factor by its name, without levels if there is none; an author's own argument may have any."""
    tables = [FACTORS[maker], *(FACTORS.values() if maker == "own" else ())]
    return next((table[factor] for table in tables if factor in table), Factor({}))


def phrase_of(maker: str, factor: str, level: object) -> str:
    """The phrase of a level; empty where the table has none.

    An author's own argument may have the factors and levels of any other.
    """
    tables = [FACTORS[maker], *FACTORS.values()]
    in_factor = (table[factor].levels.get(str(level)) for table in tables if factor in table)
    anywhere = (one.levels.get(str(level)) for table in FACTORS.values() for one in table.values())
    return next((found.phrase for found in (*in_factor, *anywhere) if found and found.phrase), "")
