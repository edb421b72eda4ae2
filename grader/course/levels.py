"""All levels of the factors of a contract: each has a name, a phrase, and code that builds it.

The phrase follows the argument's name, as in "h is transposed". The source is an expression that the worker
evaluates. It may use torch, nn, the names that its factor `takes`, and the `NAMES` of
``grader/runtime/kinds.py``. If a level has no source, that module builds it. A snippet in feedback shows the
level's `line`, or its source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial


@dataclass(frozen=True)
class Level:
    """One level of a factor.

    Attributes:
        phrase: the words that follow the argument's name; empty if messages don't mention the level.
        source: the expression that builds it; empty if ``grader/runtime/kinds.py`` builds it.
        on_request: whether contracts have it only if their author names it.
        shows_when_typical: whether a list of inputs names it also as the typical level.
        line: its line in a snippet, with ``{x}`` for the argument; empty if it is the factor's line with the
            source.
    """

    phrase: str = ""
    source: str = ""
    on_request: bool = False
    line: str = ""
    shows_when_typical: bool = False


@dataclass(frozen=True)
class Factor:
    """A property of an argument, with its levels, the typical one first.

    Attributes:
        takes: the names that the levels' sources may use.
        shows_first: whether messages mention the typical level, too.
        line: the line of a snippet, with ``{source}`` for the level's source.
    """

    levels: Mapping[str, Level]
    takes: str = ""
    shows_first: bool = False
    line: str = "{source}"

    def __post_init__(self) -> None:
        ignored = [name for name, level in self.levels.items() if level.source and not self.takes]
        if ignored:
            raise ValueError(
                f"the sources of {', '.join(ignored)} need `takes`: without it, they are never evaluated"
            )

    @property
    def defaults(self) -> tuple[str, ...]:
        """The levels that a contract has unless its author names others."""
        return tuple(name for name, level in self.levels.items() if not level.on_request)


_asked = partial(Level, on_request=True)
#: Lines of snippets that several levels have, or that are long.
_HOOK = "{x}.register_forward_hook(lambda module, args, out: "
#: A hook that makes a network's output depend on its mode.
LOUDER = "{x}[-2].register_forward_hook(lambda part, args, out: 3 * out if part.training else out)"
_BREAKS = "def broken(*_):\n    raise "
_TWO_GROUPS = "[{{'params': {held}[:1]}}, {{'params': {held}[1:], 'lr': "
_TIED = """\
{x}.echo, {x}.again = nn.Linear({outputs}, {outputs}), nn.Linear({outputs}, {outputs})
{x}.again.weight = {x}.echo.weight"""
_STEPPED = """\
for p in {held}:
    p.grad = torch.ones_like(p)
{x}.step()
{x}.zero_grad()"""

_VALUES = Factor(
    {
        "normal": Level("has typical values", "_normal(*shape)"),
        "zeros": _asked("is 0 everywhere", "_zeros(shape, dtype=_double)"),
        "ones": _asked("is 1 everywhere", "torch.ones(shape, dtype=_double)"),
        "positive": _asked("is positive", "_normal(*shape).abs() + 0.3"),
        "negative": _asked("is negative", "-_normal(*shape).abs() - 0.3"),
        "far": _asked("has values far from 0", "50 * _normal(*shape)"),
        "diverged": _asked(
            "contains nan and inf",
            "_diverged(*shape)",
            line="{x} = torch.randn({shape})\n{x}.view(-1)[0], {x}.view(-1)[-1] = torch.inf, torch.nan",
        ),
        "vast": _asked("has values as large as 1e12", "1e12 * _normal(*shape)"),
        "tiny": _asked("has values as small as 1e-40", "1e-40 * _normal(*shape)"),
        "small": _asked("has small values", "1e-3 * _normal(*shape)"),
        "huge": _asked(
            "has values as large as 1e38", "_huge(*shape)", line="{x} = 1.9e38 * torch.randn({shape}).sign()"
        ),
        "one value": _asked(
            "has the same value everywhere",
            "torch.full(shape, _normal().item(), dtype=_double)",
            line="{x} = 0.7 * torch.ones({shape})",
        ),
    },
    takes="shape",
    line="{x} = {source}",
)
_TARGETS = replace(
    _VALUES, levels={**_VALUES.levels, "far": replace(_VALUES.levels["far"], on_request=False)}
)

TENSOR = {
    "values": _VALUES,
    "role": Factor(
        {
            "computed": Level("is a non-leaf", line="{x}0 = {x}.requires_grad_()\n{x} = 1 * {x}0"),
            "leaf": Level("is a leaf that requires grad", line="{x}.requires_grad_()"),
            "plain": Level("does not require grad", line=" "),
            "saved": _asked(
                "is a non-leaf that `exp` returned and saved for backward",
                line="{x}0 = {x}.requires_grad_()\n{x} = {x}0.exp()",
            ),
        },
        shows_first=True,
    ),
    "layout": Factor(
        {
            "contiguous": Level(),
            "transposed": Level(
                "is transposed", line="{x} = {x}.transpose(0, -1).contiguous().transpose(0, -1)"
            ),
            "gaps": Level("is not contiguous", line="{x} = torch.stack([{x}, {x}], -1)[..., 0]"),
            "part": Level(
                "is part of a larger tensor",
                line="{x} = torch.cat([{x}.new_zeros(3), {x}.flatten()])[3:].view({x}.shape)",
            ),
            "expanded": _asked(
                "is expanded from its first row", line="{x} = {x}[:1].clone().expand({x}.shape)"
            ),
        }
    ),
    "grad": Factor(
        {
            "none": Level("has no `.grad`"),
            "filled": Level("already has a `.grad`", "torch.randn_like(leaf)", shows_when_typical=True),
            "zeros": _asked("has a `.grad` of zeros", "torch.zeros_like(leaf)"),
            "heavy": _asked("has a `.grad` of large numbers", "1e8 * torch.randn_like(leaf)"),
        },
        takes="leaf",
        line="{x}.grad = {source}",
    ),
    "pending": Factor({"none": Level(), "loss": Level("is needed by a loss computed before the call")}),
}

MODULE = {
    "nest": Factor(
        {
            "flat": Level(
                line="{x} = nn.Sequential()\n"
                "{x}.first, {x}.tanh,{part_name} {x}.last = {first}, nn.Tanh(),{inside} {last}"
            ),
            "deep": Level(
                "has nested modules",
                line="{x} = nn.Sequential(nn.Sequential({first}, nn.Tanh()),{inside} {last})",
            ),
            "own": Level("has a parameter of its own and reads `self.training`"),
            "bare": Level("has parameters but no submodules"),
        }
    ),
    "train": Factor(
        {
            "train": Level("is in train mode"),
            "part eval": Level("has a submodule in eval mode", "part.eval()"),
            "eval": Level("is in eval mode", "net.eval()"),
            "part train": Level(
                "is in eval mode, but has a submodule in train mode", "(net.eval(), part.train())"
            ),
        },
        takes="net, part",
        shows_first=True,
    ),
    "frozen": Factor(
        {
            "no": Level("has no frozen parameter"),
            "one frozen": Level("has a frozen parameter", "parameters[1:2]"),
            "all frozen": Level("is frozen", "parameters"),
            "first frozen": _asked("has a frozen first parameter", "parameters[:1]"),
        },
        takes="parameters",
        line="for p in {source}:\n    p.requires_grad_(False)",
    ),
    "tied": Factor({"no": Level(), "tied": Level("has tied parameters", line=_TIED)}),
    "buffers": Factor(
        {
            "no": Level(),
            "buffers": Level("has buffers", line="{x}.register_buffer('shift', torch.randn(2), False)"),
        }
    ),
    "width": Factor({"several": Level(), "one column": Level("returns one column")}),
    "inside": Factor(
        {
            "louder": Level("", "Louder()", line=" "),  # `case_text(again=True)` adds the hook LOUDER
            "norm": Level("has batch norm", "Norm(width)", line=" nn.BatchNorm1d({hidden}),"),
            "dropout": Level("has dropout", "Dropout()", line=" nn.Dropout(),"),
            "plain": _asked("", "nn.Identity()", line=" "),
        },
        takes="width",
    ),
    "rows": Factor(
        {
            "each": Level(),
            "together": Level("mixes the rows of its input", line=_HOOK + "out - 3 * out.mean(0, True))"),
        }
    ),
    "gives": Factor(
        {
            "new": Level(),
            "view": Level("returns a view", line=_HOOK + "out[:])"),
            "half": _asked("returns a different dtype from its input", line=_HOOK + "out.half())"),
            "a number": _asked("returns a number for each row", line=_HOOK + "out[..., 0])"),
            "tanh": _asked("ends in tanh", line="{x}.append(nn.Tanh())"),
        }
    ),
    "numbers": Factor(
        {
            "small": Level(),
            "large": _asked("returns large numbers", "last.weight.data.mul_(40)"),
            "quiet": _asked("", "last.weight.data.mul_(0.1)"),
            "even": _asked("returns numbers that hardly depend on its input", "last.weight.data.mul_(1e-4)"),
            "high": _asked("returns numbers near 300", "last.bias.data.fill_(300.0)"),
            "steep": _asked("returns numbers that depend strongly on its input", "last.weight.data.mul_(12)"),
            "near 85": _asked("returns numbers near 85", "last.bias.data.fill_(85.0)"),
            "near -85": _asked("returns numbers near -85", "last.bias.data.fill_(-85.0)"),
        },
        takes="last",
    ),
    "grads": Factor(
        {
            "none": Level("has no `.grad`", "[]"),
            "filled": Level(
                "already has a `.grad` in every parameter", "parameters", shows_when_typical=True
            ),
            "some": Level("already has a `.grad` in every parameter but the last", "parameters[:-1]"),
            "zeros": _asked(
                "has parameters with a `.grad` of zeros",
                "parameters",
                line="for p in {x}.parameters():\n    p.grad = torch.zeros_like(p)",
            ),
        },
        takes="parameters",
        line="for p in {source}:\n    p.grad = torch.ones_like(p)",
    ),
    "hooks": Factor(
        {
            "no": Level(),
            "hooked": Level("has a hook that the caller registered", "_hook(net, part)", line=_HOOK + "out)"),
            "changed": _asked(
                "has a hook of the caller that changes its output",
                "_hook_that_changes(net)",
                line=_HOOK + "3 * out)",
            ),
        },
        takes="net, part",
    ),
    "pending": Factor({"none": Level(), "loss": _asked("is needed by a loss computed before the call")}),
}
#: Factors that two networks of one architecture share.
ARCHITECTURE = ("nest", "tied", "buffers", "width", "inside", "rows", "gives", "numbers")
#: Factors of a network whose levels are tried one at a time, and not with every other level.
TRIED_SEPARATELY = ("tied", "buffers", "width", "gives", "hooks")
#: Levels that a network without modules cannot have.
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
                "is SGD with momentum", "torch.optim.SGD(groups, lr=0.1, momentum=0.9, weight_decay=0.01)"
            ),
            "adam": Level(
                "is AdamW", "torch.optim.AdamW(groups, lr=0.1, betas=(0.8, 0.9), weight_decay=0.02)"
            ),
        },
        takes="groups",
        line="{x} = {source}",
        shows_first=True,
    ),
    "groups": Factor(
        {
            "one": Level("", "[{'params': held}]", line="{held}"),
            "two groups": Level(
                "has two parameter groups", "_two_groups(held, 0.03)", line=_TWO_GROUPS + "0.03}}]"
            ),
            "two alike": Level(
                "has two parameter groups with the same `lr`",
                "_two_groups(held, 0.1)",
                line=_TWO_GROUPS + "0.1}}]",
            ),
        },
        takes="held",
    ),
    "state": Factor({"fresh": Level(), "stepped": Level("has already made steps", line=_STEPPED)}),
    "holds": Factor(
        {
            "all": Level("", "last"),
            "holds all": _asked("holds all parameters of `{last}`", "last"),
            "holds some": _asked("holds some parameters of `{last}`", "last[:1]"),
            "holds some last": _asked("holds some parameters of `{last}`, in its last group", "last[:1]"),
            "none": _asked("holds no parameter of `{last}`", "[]"),
        },
        takes="last",  # the parameters of the last argument, whose name the phrases have
    ),
}

INPUTS = {
    "list": Factor(
        {
            "differ": Level("", "[one(n) for n in rows]"),
            "alike": Level("contains tensors of the same shape", "[one(rows[0]) for _ in rows]"),
            "twice": Level(
                "contains the same tensor twice",
                "_twice(one, rows)",
                line="{x} = [{one3}, {one2}]\n{x}.append({x}[0])",
            ),
            "views": Level(
                "contains views that share storage",
                "_views(one(rows[0]))",
                line="{x} = [{one3}]\n{x} += [{x}[0][:2], {x}[0][1:]]",
            ),
            "empty": Level("is empty", "[]"),
            "single": Level("has one entry", "[one(1)]"),
            "3 dims": Level("contains tensors with 3 dimensions", "[one(2, n) for n in rows]"),
        },
        takes="one, rows",
        line="{x} = {source}",
    )
}

PAIRS = {
    "list": Factor(
        {
            "differ": Level("", "(n + 2, n, n + 5)"),
            "single": Level("has one entry", "(n + 1,)"),
            "alike": Level("contains batches of the same size", "(n + 1, n + 1)"),
            "one row": _asked("has one batch of one row", "(1,)"),
        },
        takes="n",
        line="{x} = [(torch.randn(n, {inputs}), {y}) for n in {source}]",
    ),
    "fault": Factor(
        {
            "none": Level(),
            "shape": _asked(
                "contains a batch of the wrong shape", line="{x}[-1] = (torch.randn(2, {wider}), {x}[-1][1])"
            ),
            "own": _asked(
                "contains a batch for which the network raises a custom error", line=_BREAKS + "ValueError"
            ),
            "interrupt": _asked(
                "contains a batch that an exception such as `KeyboardInterrupt` stops",
                line=_BREAKS + "KeyboardInterrupt",
            ),
        }
    ),
    "values": _TARGETS,
    "xs": Factor(
        {
            "plain": Level(),
            "requires grad": _asked("contains an `x` that requires grad", line="{x}[0][0].requires_grad_()"),
        }
    ),
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
    "all.dtype": Factor({"float32": Level("in float32"), "float64": Level("in float64")}),
    "all.sizes": Factor(
        {
            "differ": Level(),
            "equal": _asked("with all sizes equal"),
            "large": Level("with thousands of entries"),
        }
    ),
    "call.mode": Factor(
        {
            "on": Level(),
            "off": Level("under `no_grad()`"),
            "only modes": _asked("under `no_grad()`"),
        }
    ),
    "call.sequence": Factor(
        {
            "first": Level(),
            "other": Level("in a second call with other arguments"),
            "other data": _asked("in a second call with the same parameters and other data"),
            "same": Level("in a second call with the same arguments"),
            "changed": Level("in a second call, after the values of the arguments have changed"),
        }
    ),
    "call.memory": Factor(
        {
            "free": Level(),
            "measured": _asked("with large tensors, to measure memory"),
            "measured, few rows": _asked("with a wide network, to measure memory"),
        }
    ),
    "call.arriving": Factor(
        {
            "typical": Level(),
            "huge": _asked("with a huge incoming gradient"),
            "of a mean": _asked("with the incoming gradient of a mean"),
        }
    ),
}


def factor_of(maker: str, factor: str) -> Factor:
    """A factor by its name, without levels if there is none; an author's own argument may have any."""
    tables = [FACTORS[maker], *(FACTORS.values() if maker == "own" else ())]
    return next((table[factor] for table in tables if factor in table), Factor({}))


def phrase_of(maker: str, factor: str, level: object) -> str:
    """The phrase of a level; empty if the table has none.

    An author's own argument may have the factors and levels of any other.
    """
    tables = [FACTORS[maker], *FACTORS.values()]
    in_factor = (table[factor].levels.get(str(level)) for table in tables if factor in table)
    anywhere = (one.levels.get(str(level)) for table in FACTORS.values() for one in table.values())
    return next((found.phrase for found in (*in_factor, *anywhere) if found and found.phrase), "")
