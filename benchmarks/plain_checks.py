"""The plain way to grade: pytest runs a notebook's cells and the public checks in its own process.

Run by ``baselines.py`` as a pytest file; the environment names the notebook and the folder of the checks.
There is no border: whatever the notebook does, it does to its judge. Otter is replaced by an empty
stand-in, which spares this baseline a second of import.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import MagicMock

import pytest

Check = Callable[..., None]


def _names() -> dict[str, object]:
    """What the notebook defines."""
    names: dict[str, object] = {"__name__": "__main__"}
    notebook = json.loads(Path(os.environ["PLAIN_NOTEBOOK"]).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "<cell>", "exec"), names)  # noqa: S102 - this is the plain way
    return names


def _checks() -> Iterator[Check]:
    """The public checks, without what Otter wraps around them."""
    for path in sorted(Path(os.environ["PLAIN_CHECKS"]).glob("q*.py")):  # an end task earns nothing
        names: dict[str, object] = {}
        exec(compile(path.read_bytes(), path, "exec"), names)  # noqa: S102 - the course's own file
        for name, check in names.items():
            if name.startswith("test_") and name != "test_case" and inspect.isfunction(check):
                yield check


def _stand_in() -> None:
    otter, files = types.ModuleType("otter"), types.ModuleType("otter.test_files")
    vars(otter)["Notebook"] = MagicMock()
    vars(files)["test_case"] = lambda **_: lambda check: check
    sys.modules.update({"otter": otter, "otter.test_files": files})


_stand_in()
_NAMES, _CHECKS = _names(), list(_checks())


@pytest.mark.parametrize("check", _CHECKS, ids=lambda check: check.__name__)
def test_public(check: Check) -> None:
    """One public check, on the functions that its parameters name."""
    check(*(_NAMES[name] for name in inspect.signature(check).parameters))
