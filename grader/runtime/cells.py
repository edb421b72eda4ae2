"""Runs the code cells of a notebook as Jupyter would.

IPython's own transformer recognises ``%magic``, ``!command`` and ``?help``; it reads a student's text, so it
runs here, under a time limit. Cell magics such as ``%%time`` run their body: otherwise a right answer in a
timed cell would be missing.

There is one exception. After a top-level statement that raises, the imports, definitions and assignments of
literals below it in its cell still run. So a package, a file, a locale or a GPU that this machine lacks costs
only the statements that need it. These statements may replace starter code, but no name that a student's cell
defined before. ``raise``, ``assert``, an exit and a time limit end the cell.
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
import sys
import time
import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import IPython
import torch
from IPython.core.inputtransformer2 import TransformerManager, leading_empty_lines, leading_indent

from .audit import expect, notice
from .errors import class_name, printable, remember_source
from .names import POSTPONED, NameHistory, Sources, answer_above, answer_status, text_of
from .opaque import opaque, sealed
from .originals import (
    ITIMER_REAL,
    SIGALRM,
    builtins_copy,
    empty,
    set_default_device,
    set_signal_handler,
    set_timer,
    traceback_of,
)

__builtins__ = builtins_copy()

# Bounds of the report on skipped statements: statements, names of each, characters.
_MOST_SKIPPED, _MOST_NAMES, _LONGEST_NAME, _LONGEST_TEXT = 40, 10, 60, 100


# Text that IPython's transformer may change; without it, the slow transformer is not needed.
_MAGIC = re.compile(r"(?m)^[ \t]*(?:[%!?;,/]|>>>|\.\.\.|In ?\[)|=\s*[%!]|\?[ \t]*$|\A\s")


def _as_python(source: str) -> str:
    if _MAGIC.search(source):
        return str(TransformerManager().transform_cell(source))  # type: ignore[no-untyped-call]
    return source if source.endswith("\n") else source + "\n"


def _without_margin(source: str) -> str:
    """A cell as IPython's transformer reads its tokens, without blank lines and indentation at its margin."""
    lines = leading_empty_lines(source.splitlines(keepends=True))  # type: ignore[no-untyped-call]
    return "".join(leading_indent(lines))  # type: ignore[no-untyped-call]


_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def _compiled(piece: str | ast.Module, file: str, flags: int) -> types.CodeType:
    code: types.CodeType = compile(piece, file, "exec", flags, dont_inherit=True)
    return code


class CellTimeout(BaseException):
    """The cell exceeded its time limit."""


class Skipped(NamedTuple):
    """A statement below a cell's error that did not run, and the names it would have defined."""

    line: int
    text: str
    names: tuple[str, ...]


class Notebook:
    """The names a notebook's cells define, and how to run a cell among them."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins, "__doc__": None}
        self.history = NameHistory(self.names)
        self.sources: Sources = {}
        self.cell = "cell"  # that runs, as a student knows it
        self.skipped: list[Skipped] = []  # in the cell that ran last
        self._flags = _FLAGS
        self._starter_code: Mapping[str, str] = {}
        self._checks: Mapping[str, Collection[int]] = {}
        self._seen_by: dict[str, dict[str, Any]] = {}  # once all cells have run: the names, by the answer

    def live_in(self, names: dict[str, Any]) -> None:
        """Use this dictionary for the notebook's names; call it before the first cell."""
        names.update(self.names)
        self.names, self.history = names, NameHistory(names)

    def set_assignment(
        self,
        demonstrations: Collection[str],
        starter_code: Mapping[str, str],
        checks: Mapping[str, Collection[int]],
    ) -> None:
        """Set the assignment, before the first cell runs.

        Args:
            demonstrations: the sources of the released cells, without starter code.
            starter_code: by the name of each answer; empty if it is unknown.
            checks: the numbers of the cells that check it.
        """
        texts = set()
        for source in demonstrations:
            with suppress(SyntaxError):
                texts.add(text_of(_compiled(_as_python(source), "<cell>", _FLAGS)))
        self.history.demonstrations = frozenset(texts)
        self._starter_code, self._checks = starter_code, checks

    def survey(self) -> dict[str, str]:
        """Once all cells have run: whether each answer is ``answered``, ``untouched`` or ``missing``."""
        self._seen_by = {name: self.history.seen_by(name, self._checks[name]) for name in self._starter_code}
        return {
            name: answer_status(starter_code, name, self._seen_by[name], self.sources)
            for name, starter_code in self._starter_code.items()
        }

    def not_callable(self) -> dict[str, str]:
        """After the survey: the answers whose names have another value, and the class of that."""
        values = {name: seen[name] for name, seen in self._seen_by.items() if name in seen}
        return {name: class_name(type(value)) for name, value in values.items() if not callable(value)}

    def answer_above(self, answer: str) -> int | None:
        """After the survey, for starter code: the cell above it with a definition that it replaced."""
        last = self.history.given_in(answer)
        if last is None:
            return None
        return answer_above(self._starter_code[answer], answer, last, self.sources)

    def show(self, answer: str) -> None:
        """After the survey: bind the names that this answer sees; the objects are unchanged."""
        names = self._seen_by[answer]
        for name in self.names.keys() - names.keys():
            del self.names[name]
        self.names.update((n, value) for n, value in names.items() if self.names.get(n) is not value)

    def run(self, number: int, source: str, seconds: float) -> BaseException | None:
        """Run a cell; returns its exception, or None. A time limit raises CellTimeout in the cell."""
        self.skipped = []
        set_signal_handler(SIGALRM, _raise_timeout)
        set_timer(ITIMER_REAL, seconds)
        self.cell = f"cell {number}"
        try:
            self.execute(source, f"<{self.cell}>")
        except BaseException as error:  # SystemExit and KeyboardInterrupt end only their cell, too
            return error
        finally:
            set_timer(ITIMER_REAL, 0)
            _leave_missing_device()
        return None

    def execute(self, source: str, file: str) -> None:
        """Transform, compile and run a piece of notebook source."""
        try:
            text = _as_python(source)
        except SyntaxError as error:  # which names a file of the tokenizer's own
            self._remember(file, _without_margin(source))
            raise type(error)(error.msg, (file, error.lineno, error.offset, error.text)) from None
        self._remember(file, text)
        code = _compiled(text, file, self._flags)
        self.history.run(code, text_of(code), lambda: self._run(code, text, file))

    def _remember(self, file: str, text: str) -> None:
        """Keep the text of a piece of code, for its errors and for ``inspect.getsource``."""
        self.sources[file] = text
        remember_source(file, text)
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)

    def _run(self, code: types.CodeType, text: str, file: str) -> None:
        """Run the code of a text, and statements that may run below an error; raises that error."""
        self._flags |= code.co_flags & POSTPONED  # for all cells below, as in Jupyter
        failed: Exception | None = None
        try:
            self._run_code(code)
        except Exception as error:
            failed = error
        if failed is not None:  # no error is being handled now, as far as the code below can see
            with suppress(Exception):
                self._run_below(_end_of_failed(failed, code), text, file)
            try:
                raise failed
            finally:
                del failed  # a reference cycle through this frame would keep the cell's objects alive

    def _run_code(self, code: types.CodeType) -> None:
        if code.co_flags & inspect.CO_COROUTINE:
            _drive(types.FunctionType(code, self.names)())
        else:
            expect(code)
            exec(code, self.names)

    def _run_below(self, end: tuple[int, int], text: str, file: str) -> None:
        """Run statements that may run below the one that raised, and record the others.

        Args:
            end: the line and column at which the code that raised ends.
        """
        body = ast.parse(text).body
        index = next(
            n for n, each in enumerate(body) if end <= (each.end_lineno or 0, each.end_col_offset or 0)
        )
        failed, below = body[index], body[index + 1 :]
        if isinstance(failed, ast.Raise | ast.Assert):
            return
        protected = {name: self.names[name] for name in self._answered_names()}
        names = _parts(failed) if isinstance(failed, ast.Import | ast.ImportFrom) else []
        missing = [name for name in names if not self._runs(name, protected, file)]
        skipped = missing[1:]  # the first raised the error
        for statement in below:
            if _ends_cell(statement):
                break
            skipped += [part for part in _parts(statement) if not self._runs(part, protected, file)]
        said = [part for part in skipped if not _does_nothing(part)]
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self.skipped += [_skipped(part, lines) for part in said[: _MOST_SKIPPED - len(self.skipped)]]

    def _answered_names(self) -> list[str]:
        """The names that students' cells have defined so far, except for starter code."""
        starter = self._starter_code
        return [
            name
            for name in self.history.own_names()
            if name not in starter
            or answer_status(starter[name], name, self.names, self.sources) != "untouched"
        ]

    def _runs(self, statement: ast.stmt, protected: Mapping[str, Any], file: str) -> bool:
        """Run a statement if it may run below an error; returns whether it has run completely.

        Args:
            protected: names that it must not replace, and their values.
        """
        if not _may_run(statement):
            return False
        # An import mostly gives the same value again.
        is_import = isinstance(statement, ast.Import | ast.ImportFrom)
        if not is_import and not protected.keys().isdisjoint(_bound_by(statement)):
            return False
        try:
            self._run_code(_compiled(ast.Module([statement], []), file, self._flags))
        except Exception:
            return False
        finally:
            is_done = all(
                name in self.names and self.names[name] is value for name, value in protected.items()
            )
            self.names.update(protected)
        return is_done


def _end_of_failed(error: Exception, code: types.CodeType) -> tuple[int, int]:
    """The line and column at which the code that raised ends, in the frame of a cell."""
    trace = traceback_of(error)
    while trace.tb_frame.f_code is not code:
        trace = trace.tb_next
    _, line, _, column = list(code.co_positions())[trace.tb_lasti // 2]
    return (line, column) if line is not None and column is not None else (trace.tb_lineno, 0)


def _parts(statement: ast.stmt) -> Sequence[ast.stmt]:
    """A statement, or one import for each name if it imports several."""
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return [statement]
    return [type(statement)(**{**vars(statement), "names": [name]}) for name in statement.names]


#: The nodes of literals and of arithmetic with them, such as ``[1, -2.5, 3 * 4]``.
_LITERAL = (
    *(ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp),
    *(ast.operator, ast.unaryop, ast.expr_context),
)


def _may_run(statement: ast.stmt) -> bool:
    """Whether a statement may run below an error: an import, a definition or an assignment of literals."""
    if isinstance(statement, ast.Assign):
        targets, value = statement.targets, statement.value
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets, value = [statement.target], statement.value
    else:
        definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        return isinstance(statement, ast.Import | ast.ImportFrom | definitions)
    names = (ast.Name, ast.Tuple, ast.List, ast.Starred, ast.expr_context)
    return all(isinstance(node, names) for target in targets for node in ast.walk(target)) and (
        isinstance(value, ast.Lambda) or _is_literal(value)
    )


def _is_literal(value: ast.expr) -> bool:
    """Whether an expression is made of literals, or chooses one, as ``"cuda" if has_gpu() else "cpu"``."""
    match value:
        case ast.IfExp(body=one, orelse=other):
            return _is_literal(one) and _is_literal(other)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="torch"), attr="device"), args=[name], keywords=[]
        ):
            return _is_literal(name)
    return all(isinstance(node, _LITERAL) for node in ast.walk(value))


def _ends_cell(statement: ast.stmt) -> bool:
    """Whether a statement ends its cell wherever it runs."""
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    called = (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and statement.value.func
    )
    return isinstance(statement, ast.Raise) or (
        isinstance(called, ast.expr) and ast.unparse(called) in ("exit", "quit", "sys.exit", "os._exit")
    )


def _does_nothing(statement: ast.stmt) -> bool:
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or isinstance(statement, ast.Pass)


def _skipped(statement: ast.stmt, lines: Sequence[str]) -> Skipped:
    if isinstance(statement, ast.Import | ast.ImportFrom):  # perhaps of one name of several
        said = ast.unparse(statement)
    else:
        end = statement.end_col_offset if statement.end_lineno == statement.lineno else None
        line = lines[statement.lineno - 1].encode()  # offsets count bytes
        said = line[statement.col_offset : end].decode(errors="replace")
    names = tuple(printable(name) for name in _bound_by(statement) if len(name) <= _LONGEST_NAME)
    return Skipped(statement.lineno, printable(said[:_LONGEST_TEXT]), names[:_MOST_NAMES])


def _bound_by(statement: ast.stmt) -> list[str]:
    """The names to which a statement gives a value, without those inside of functions and classes."""
    names: list[str] = []
    nodes: list[ast.AST] = [statement]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
            continue
        if isinstance(node, ast.alias):
            names.append(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        if not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            nodes.extend(ast.iter_child_nodes(node))
    return names


def _leave_missing_device() -> None:
    """Unset a default device that this machine lacks: every new tensor would raise."""
    default = getattr(getattr(torch, "_GLOBAL_DEVICE_CONTEXT", None), "device_context", None)
    if default is not None:
        try:
            empty(0, device=default.device)
        except Exception:
            set_default_device(None)


@opaque
def _raise_timeout(*_: Any) -> None:
    raise CellTimeout("the cell took longer than a cell may")


@sealed
class _Loop(asyncio.BaseEventLoop):
    """An event loop with only timers and tasks, because the sandbox allows nothing else to wait for."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self  # asyncio's own name for the object that waits for input and output

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
    """An object whose every attribute and call does nothing and returns the object."""

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
    """The result of ``get_ipython()``: it recognizes magics and commands, and does not run them."""

    def execute(text: str, origin: str, above: str = "") -> None:
        """Run a text; report it if it stands in no cell, where the flags of cells cannot see it."""
        file = f"<{notebook.cell}, {origin}>"
        if not any(repr(text) in source for source in notebook.sources.values()):
            notice("imports at run time", file)
        notebook.execute(above + text, file)

    @sealed
    class Shell(NullObject):
        """A shell without any state, because student code can inspect it."""

        user_ns = notebook.names

        def run_line_magic(self, name: str, line: str, *_: Any, **__: Any) -> None:
            """``%name line``; only ``%time statement`` runs its statement."""
            if name == "time" and line.strip():
                execute(line, f"%{name}")

        def run_cell_magic(self, name: str, line: str, cell: str) -> None:
            """``%%name``; the body of a cell that is measured or captured runs.

            ``%%capture output`` defines ``output``, which holds nothing: what a cell prints is not stored.
            """
            if name in _TRANSPARENT:
                execute(cell, f"below %%{name}", "" if cell.startswith("%%") else "#\n")  # as many lines
            if name == "capture":
                outputs = [word for word in line.split() if word.isidentifier()]
                notebook.names.update((output, NullObject()) for output in outputs)

        def getoutput(self, *_: Any, **__: Any) -> list[str]:
            """``x = !command`` prints nothing."""
            return []

    return Shell()


def install_fakes(notebook: Notebook) -> None:
    """Install the stand-ins where imports and cells find them."""
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
    with suppress(ImportError):
        tqdm = importlib.import_module("tqdm.std").tqdm
        tqdm.monitor_interval = 0  # otherwise the first bar starts a thread, which is a side effect
        vars(sys.modules["tqdm"])["notebook"] = bars
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.show = opaque(lambda *_, **__: pyplot.close("all"))  # as Jupyter does
    os.environ["TORCHDYNAMO_DISABLE"] = "1"  # no compiler can be started here: what is compiled runs as it is


@opaque
def _plain_progress_bar(name: str) -> Any:
    """A progress bar of characters instead of a notebook's widget."""
    if name not in _PROGRESS_BARS:
        raise AttributeError(name)
    return getattr(importlib.import_module("tqdm.std"), _PROGRESS_BARS[name])


def _module(name: str) -> types.ModuleType:
    """A module from which any name can be imported; the imported object does nothing."""
    module = types.ModuleType(name)
    module.__dict__.update(__path__=[], __getattr__=_silent_attribute)
    return module


@opaque
def _silent_attribute(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return NullObject()
