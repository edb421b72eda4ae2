"""Which modules the zygote imports because code that will run needs them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from grader.course.assignment import ANSWERS, MASTER
from grader.course.course import Course

#: What notebooks import besides torch: once, before the first fork, where a notebook imports it.
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
_NAMES_ONE = re.compile(rf"(?:import|from)[ \t]++({'|'.join(_PRELOADABLE)})\b".encode())
#: What torch imports at the first derivative in forward mode: half a second of the two that a probe has.
_FORWARD_MODE = ("torch._decomp.decompositions_for_jvp", "torch.fx.experimental.symbolic_shapes")
_FORWARD_MODE_WORDS = ("jvp", "jacfwd", "hessian", "linearize", "forward_ad")
_USES_FORWARD_MODE = re.compile("|".join(_FORWARD_MODE_WORDS))


def modules_to_preload(texts: Iterable[str]) -> frozenset[str]:
    """Modules that some code imports and that a worker cannot or should not import itself.

    matplotlib wants a folder it may write to, and pandas takes as long as torch.
    """
    imported: set[str] = set()
    modules: set[str] = set()
    for text in texts:
        imported.update(_IMPORT.findall(text))
        if _USES_FORWARD_MODE.search(text):
            modules.update(_FORWARD_MODE)
    return frozenset(modules.union(*(_PRELOADABLE[name] for name in imported & _PRELOADABLE.keys())))


def modules_to_preload_of_file(content: bytes) -> frozenset[str]:
    """The same for the file of a notebook that is not read as JSON: perhaps more, of what its text names.

    A module too many costs a class its import; to read the JSON would cost every notebook more.
    """
    modules = set(_FORWARD_MODE) if any(word.encode() in content for word in _FORWARD_MODE_WORDS) else set()
    if any(name.encode() in content for name in _PRELOADABLE):
        modules.update(*(_PRELOADABLE[name.decode()] for name in _NAMES_ONE.findall(content)))
    return frozenset(modules)


def modules_of_answers(course: Course, stems: Iterable[str]) -> frozenset[str]:
    """The same for the references and the known answers of some assignments."""
    files = [course.root / path.format(stem) for stem in stems for path in (MASTER, ANSWERS)]
    return modules_to_preload(file.read_text(encoding="utf-8") for file in files if file.is_file())
