"""Outside: which modules the zygote imports because the class asks for them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from grader.notebook import Notebook

#: What notebooks import besides torch: once, before the first fork, where one of them asks for it.
_PRELOADABLE = {
    "matplotlib": ("matplotlib.pyplot", "matplotlib.backends.backend_agg"),
    "pandas": ("pandas",),
    "sympy": ("sympy",),
    "tqdm": ("tqdm.auto",),
    "torchvision": ("torchvision",),
    "seaborn": ("seaborn",),
    "sklearn": ("sklearn",),
    "scipy": ("scipy",),
}
_IMPORT = re.compile(r"^[ \t]*+(?:import|from)[ \t]++(\w++)", re.MULTILINE)


def modules_to_preload(notebooks: Iterable[Notebook]) -> frozenset[str]:
    """Modules that at least one notebook imports and that a worker cannot or should not import itself.

    matplotlib wants a folder it may write to, and pandas takes as long as torch.
    """
    named = {
        name for notebook in notebooks for cell in notebook.cells for name in _IMPORT.findall(cell.source)
    }
    return frozenset(module for name, modules in _PRELOADABLE.items() if name in named for module in modules)
