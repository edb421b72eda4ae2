"""Runs the code cells of a notebook as Jupyter would, as far as a grader needs it.

IPython's own transformer recognises ``%magic``, ``!command`` and ``?help``; it reads a student's text, so it
runs here, under a time limit. Cell magics such as ``%%time`` run their body, or a right answer in a timed
cell would not exist. A cell that raises costs itself. A line that fails because a package, a file, a keyboard
or a GPU is missing costs that line: it says nothing about a student.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import importlib
import inspect
import linecache
import os
import re
import signal
import sys
import time
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import IPython
from IPython.core.inputtransformer2 import TransformerManager

from .audit import notice
from .errors import error_text, remember_source
from .names import POSTPONED, Bindings, Sources, text_of
from .opaque import opaque, sealed

_alarm, _ITIMER_REAL = signal.setitimer, signal.ITIMER_REAL
_set_handler, _SIGALRM = signal.signal, signal.SIGALRM
_exec, _compile = exec, compile
# Errors of torch that have no class.
_OF_THIS_PLACE = ("CUDA", "Permission denied", "Parent directory", "can't allocate memory")


# What IPython's transformer may change; it takes as long as an ordinary cell takes to run.
_MAGIC = re.compile(r"(?m)^[ \t]*(?:[%!?;,/]|>>>|\.\.\.|In ?\[)|=\s*[%!]|\?[ \t]*$|\A\s")


def _as_python(source: str) -> str:
    if _MAGIC.search(source):
        return str(TransformerManager().transform_cell(source))  # type: ignore[no-untyped-call]
    return source if source.endswith("\n") else source + "\n"


_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def _compiled(piece: str | ast.Module, file: str, flags: int) -> types.CodeType:
    code: types.CodeType = _compile(piece, file, "exec", flags, dont_inherit=True)
    return code


class _Known(NamedTuple):
    """A cell of the course: as Python, its code, and what that does as a text."""

    python: str
    code: types.CodeType
    does: str


_course: dict[str, _Known] = {}  # by source


def compile_course(handed_out: Iterable[str]) -> None:
    """In the zygote: compile cells that students got, once for all workers. Nothing of them runs."""
    for source in handed_out:
        with suppress(SyntaxError, RecursionError, ValueError):
            python = _as_python(source)
            code = _compiled(python, "<cell>", _FLAGS)
            _course[source] = _Known(python, code, text_of(code))


def _in_file(code: types.CodeType, file: str) -> types.CodeType:
    """The same code, as if it had been compiled from another file."""
    inner = (_in_file(part, file) if isinstance(part, types.CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(inner))


class CellTimeout(BaseException):
    """The cell took longer than a cell may."""


class Notebook:
    """The names a notebook's cells define, and how to run a cell among them."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins, "__doc__": None}
        self.bindings = Bindings(self.names)
        self.sources: Sources = {}
        self.cell = "cell"  # that runs, as a student knows it
        self._flags = _FLAGS
        self._missing: set[str] = set()  # names that could not be defined, because of where this runs

    def live_in(self, names: dict[str, Any]) -> None:
        """Before the first cell: make this the dictionary of the notebook's names."""
        names.update(self.names)
        self.names, self.bindings = names, Bindings(names)

    def put_back(self, names: Mapping[str, Any]) -> None:
        """Make the names what they were when this copy was made; the objects stay as they are."""
        for name in self.names.keys() - names.keys():
            del self.names[name]
        self.names.update((n, value) for n, value in names.items() if self.names.get(n) is not value)

    def begin(self, handed_out: Collection[str]) -> None:
        """Before the first cell: the sources of the cells that were handed out besides stubs."""
        compile_course(source for source in handed_out if source not in _course)
        self.bindings.begin(_course[source].does for source in handed_out if source in _course)

    def run(self, number: int, source: str, seconds: float) -> BaseException | None:
        """Run a cell; returns what it raised, or None. When time is up, it raises CellTimeout in the cell."""
        _set_handler(_SIGALRM, _raise_timeout)
        _alarm(_ITIMER_REAL, seconds)
        self.cell = f"cell {number}"
        try:
            self.execute(source, f"<{self.cell}>")
        except BaseException as error:  # SystemExit and KeyboardInterrupt of a cell are its own affair too
            return error
        finally:
            _alarm(_ITIMER_REAL, 0)
        return None

    def execute(self, source: str, file: str) -> None:
        """Transform, compile and run a piece of notebook source."""
        known = _course.get(source) if self._flags == _FLAGS else None
        text = _as_python(source) if known is None else known.python
        self.sources[file] = text
        remember_source(file, text)
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # inspect.getsource
        code = _compiled(text, file, self._flags) if known is None else _in_file(known.code, file)
        does = text_of(code) if known is None else known.does
        self.bindings.run(code, does, lambda: self._run(code, text, file))

    def _run(self, code: types.CodeType, piece: str | ast.Module, file: str) -> None:
        """Run a piece of a cell; raises the first error of what it could not run."""
        self._flags |= code.co_flags & POSTPONED  # for all cells below, as in Jupyter
        try:
            if code.co_flags & inspect.CO_COROUTINE:
                _drive(types.FunctionType(code, self.names)())
            else:
                _exec(code, self.names)
        except Exception as error:
            with suppress(Exception):
                body = ast.parse(piece).body if isinstance(piece, str) else piece.body
                below = ast.Module(self._below(body, code, error), [])
                self._run(_compiled(below, file, self._flags), below, file)
            raise

    def _below(self, body: list[ast.stmt], code: types.CodeType, error: Exception) -> list[ast.stmt]:
        """The statements to run below the failed statement: none, unless it failed because of where it runs.

        Then it costs itself and what it would have defined. An import of several names is tried name by name.
        """
        if not _is_of_this_place(error) and not (
            isinstance(error, NameError) and error.name in self._missing
        ):
            return []
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code is not code:
            trace = trace.tb_next
        line = trace.tb_lineno if trace is not None else 0
        index = next(n for n, statement in enumerate(body) if line <= (statement.end_lineno or 0))
        failed, below = body[index], body[index + 1 :]
        if isinstance(failed, ast.Raise):
            return []
        if isinstance(failed, ast.Import | ast.ImportFrom) and len(failed.names) > 1:
            return [*(type(failed)(**{**vars(failed), "names": [name]}) for name in failed.names), *below]
        self._missing.update(_bound_by(failed))
        return below


def _is_of_this_place(error: Exception) -> bool:
    """Whether an error may say nothing about the student: a package, a file, a GPU, memory is not here."""
    text = error_text(error)  # which runs nothing of the student's
    is_of_kind = isinstance(error, ImportError | OSError | EOFError | MemoryError)
    return is_of_kind or any(part in text for part in _OF_THIS_PLACE)


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement would have given a value."""
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


@opaque
def _raise_timeout(*_: Any) -> None:
    raise CellTimeout("the cell took longer than a cell may")


@sealed
class _Loop(asyncio.BaseEventLoop):
    """An event loop that knows timers and tasks; the cage lets nothing else through to wait for."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self  # asyncio's own name for what waits for the world

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("this cell awaits something that only a running kernel could deliver")
        time.sleep(timeout)
        return []

    def _process_events(self, _: Any) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """No thread sleeps while another calls."""


def _drive(coroutine: Any) -> None:
    """Run top-level ``await``, as Jupyter does."""
    loop = _Loop()
    try:
        loop.run_until_complete(coroutine)
    finally:
        loop.close()


# Stand-ins for what notebooks import to talk to Jupyter and to graders; they do nothing. Notebooks for Otter
# begin with ``import otter``, and the real package costs a second and unpickles files.

#: Cell magics that run their body in the notebook; the body is the student's answer like any other.
_TRANSPARENT = {"time", "capture", "prun"}
_PROGRESS_BARS = {"tqdm": "tqdm", "tqdm_notebook": "tqdm", "trange": "trange", "tnrange": "trange"}


@sealed
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


def _shell_of(notebook: Notebook) -> Any:
    """What ``get_ipython()`` gives: magics and commands are recognised and not executed."""

    def execute(text: str, origin: str) -> None:
        """Run a text; report it if it stands in no cell, where the flags of cells cannot see it."""
        file = f"<{notebook.cell}, {origin}>"
        if not any(repr(text) in source for source in notebook.sources.values()):
            notice("imports at run time", file)
        notebook.execute(text, file)

    @sealed
    class Shell(NullObject):
        """It holds nothing: a student's code may look through it."""

        user_ns = notebook.names

        def run_line_magic(self, name: str, line: str, *_: Any, **__: Any) -> None:
            """``%name line``; only ``%time statement`` runs its statement."""
            if name == "time" and line.strip():
                execute(line, f"%{name}")

        def run_cell_magic(self, name: str, _line: str, cell: str) -> None:
            """``%%name``; the body of a cell that is measured or captured runs."""
            if name in _TRANSPARENT:
                execute(cell, f"below %%{name}")

        def getoutput(self, *_: Any, **__: Any) -> list[str]:
            """``x = !command`` prints nothing."""
            return []

    return Shell()


def install_fakes(notebook: Notebook) -> None:
    """Put the stand-ins where imports and cells find them."""
    shell = _shell_of(notebook)
    get_ipython = opaque(lambda: shell)
    silent = ("otter", "grader", "IPython.display", "ipywidgets", "google.colab")
    for name in (*silent, "matplotlib_inline", "matplotlib_inline.backend_inline"):
        sys.modules[name] = _module(name)
    vars(IPython).update(get_ipython=get_ipython, display=sys.modules["IPython.display"])
    vars(sys.modules.setdefault("google", _module("google")))["colab"] = sys.modules["google.colab"]
    notebook.names.update(get_ipython=get_ipython, display=NullObject())
    bars = sys.modules["tqdm.notebook"] = types.ModuleType("tqdm.notebook")
    bars.__dict__["__getattr__"] = _plain_progress_bar
    if "tqdm" in sys.modules:
        vars(sys.modules["tqdm"])["notebook"] = bars
    os.environ["TORCHDYNAMO_DISABLE"] = "1"  # no compiler can be started here: what is compiled runs as it is


@opaque
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


@opaque
def _silent_attribute(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return NullObject()
