"""Stand-ins for what notebooks import to talk to Jupyter and to graders; they do nothing.

Notebooks for Otter begin with ``import otter``, and the real package costs a second and unpickles files.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

import IPython

from .audit import notice
from .cells import Notebook

#: Cell magics that run their body in the notebook; the body is the student's answer like any other.
_TRANSPARENT = {"time", "capture", "prun"}
_PROGRESS_BARS = {"tqdm": "tqdm", "tqdm_notebook": "tqdm", "trange": "trange", "tnrange": "trange"}


class NullObject:
    """Whatever it is asked, it does nothing and returns itself."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """As a base class it takes what a class statement gives."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _: Any) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __repr__(self) -> str:
        return ""


class FakeShell:
    """What ``get_ipython()`` gives: magics and commands are recognised and not executed."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self.user_ns = notebook.names

    def run_line_magic(self, name: str, line: str, *_: Any, **__: Any) -> None:
        """``%name line``; only ``%time statement`` runs its statement."""
        if name == "time" and line.strip():
            self._execute(line, f"%{name}")

    def run_cell_magic(self, name: str, _line: str, cell: str) -> None:
        """``%%name``; the body of a cell that is measured or captured runs."""
        if name in _TRANSPARENT:
            self._execute(cell, f"below %%{name}")

    def _execute(self, text: str, origin: str) -> None:
        """Run a text; report it if it stands in no cell, where the flags of cells cannot see it."""
        file = f"<{self._notebook.cell}, {origin}>"
        if not any(repr(text) in source for source in self._notebook.sources.values()):
            notice("imports at run time", file)
        self._notebook.execute(text, file)

    def getoutput(self, *_: Any, **__: Any) -> list[str]:
        """``x = !command`` prints nothing."""
        return []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return NullObject()


def install(notebook: Notebook) -> None:
    """Put the stand-ins where imports and cells find them."""
    shell = FakeShell(notebook)
    silent = ("otter", "grader", "IPython.display", "ipywidgets", "google.colab")
    for name in (*silent, "matplotlib_inline", "matplotlib_inline.backend_inline"):
        sys.modules[name] = _module(name)
    vars(IPython).update(get_ipython=lambda: shell, display=sys.modules["IPython.display"])
    vars(sys.modules.setdefault("google", _module("google")))["colab"] = sys.modules["google.colab"]
    notebook.names.update(get_ipython=lambda: shell, display=NullObject())
    bars = sys.modules["tqdm.notebook"] = types.ModuleType("tqdm.notebook")
    bars.__dict__["__getattr__"] = _plain_progress_bar
    if "tqdm" in sys.modules:
        vars(sys.modules["tqdm"])["notebook"] = bars
    os.environ["TORCHDYNAMO_DISABLE"] = "1"  # no compiler can be started here: what is compiled runs as it is


def _plain_progress_bar(name: str) -> Any:
    """A progress bar of characters in place of a notebook's bar of widgets."""
    if name not in _PROGRESS_BARS:
        raise AttributeError(name)
    return getattr(importlib.import_module("tqdm.std"), _PROGRESS_BARS[name])


def _module(name: str) -> types.ModuleType:
    """A module from which everything can be imported, and does nothing."""
    module = types.ModuleType(name)
    module.__dict__.update(__path__=[], __getattr__=_silent_attribute)
    return module


def _silent_attribute(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return NullObject()
