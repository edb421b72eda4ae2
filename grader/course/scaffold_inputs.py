"""What a scaffold says of the parameters of a new question: a name that tells has a builder."""

from __future__ import annotations

import re
from collections.abc import Sequence

_JUDGE = r"discriminator|critic"
_MODULE = (
    rf"(\w+_)?(model|net|network|layer|head|readout)(_\w+)?|{_JUDGE}"
    r"|generator|backbone|trunk|encoder|decoder|teacher|policy"
)
_OPTIMIZER = r"opt|optim|optimizer|(opt|optimizer)_\w+"
_CELL = r"(\w+_)?(cell|rnn|gru|lstm)"
_NUMBER = r"lr|tau|alpha|beta|eps|scale|slope|momentum|p"
_COUNT = r"k|n|T|steps|epochs|number"

#: What is drawn for a parameter whose whole name matches, the first that does. Sizes: 5 samples, 3 inputs,
#: 4 hidden, 2 outputs.
_DRAWS = {
    _CELL: "nn.GRUCell(3, 4)",
    _JUDGE: "nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))",
    _MODULE: "nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))",
    _NUMBER: "0.1 + 0.5 * torch.rand(()).item()",
    _COUNT: "torch.randint(2, 6, ()).item()",
    r"[yY]|targets?|labels|real": "torch.randn(5, 2)",
    r"h0?|state|hidden": "torch.randn(5, 4)",
    r"w|weight|b|bias|prompt": "torch.randn(3, requires_grad=True)",
}
_SAMPLES = r"[xX]|xs|inputs?|batch|data|noise|z"
_X_ALONE = "torch.randn(4, requires_grad=True)"


def optimizers(parameters: Sequence[str]) -> list[str]:
    """The parameters that are optimizers, by their names."""
    return [name for name in parameters if re.fullmatch(_OPTIMIZER, name)]


def modules(parameters: Sequence[str]) -> list[str]:
    """Those that are modules."""
    return [name for name in parameters if re.fullmatch(f"{_MODULE}|{_CELL}", name)]


def learned(parameters: Sequence[str]) -> dict[str, str]:
    """The module that each optimizer learns: `opt_d` the discriminator, a single `opt` the first module."""
    found = {}
    for name in optimizers(parameters):
        ending = name.partition("_")[2]
        for module in modules(parameters):
            if module.startswith(ending) or module.endswith(f"_{ending}"):
                found[name] = module
                break
    return found


def watched(parameters: Sequence[str]) -> list[str]:
    """Those that hold tensors: all but numbers."""
    return [name for name in parameters if not re.fullmatch(f"{_NUMBER}|{_COUNT}", name)]


def draws(parameters: Sequence[str]) -> dict[str, str]:
    """An expression for each parameter, optimizers last; a blank where the name does not tell.

    Args:
        parameters: their names.
    """
    own = modules(parameters)
    known = learned(parameters)
    ordered = [*(name for name in parameters if name not in known), *known]
    return {name: _draw(name, known.get(name), has_module=bool(own)) for name in ordered}


def _draw(name: str, module: str | None, *, has_module: bool) -> str:
    if module is not None:
        return f"torch.optim.SGD({module}.parameters(), lr=0.1, momentum=0.9)"
    if re.fullmatch(_SAMPLES, name) and has_module:
        return "torch.randn(5, 3)"
    if name == "x":
        return _X_ALONE
    for pattern, drawn in _DRAWS.items():
        if re.fullmatch(pattern, name):
            return drawn
    return f"[FILL IN: {name}, drawn at random]"
