"""Finds out why a student's function returns None: which ``return`` gave it, and what its value came from.

A function that returned None in every case of a contract is called once more when all else was observed,
and its own frame is traced: each instruction of interest is looked up by its position in the source. What a
``.grad`` was read from is noted at that moment, because later the same name may stand for another tensor.

The tracer is a callable of C, since students' code can ask for it (``sys.gettrace``). It keeps texts only.
Tensors are read through what torch offered before any student's code ran; no method of a student's
class is called.
"""

from __future__ import annotations

import ast
import builtins
import dis
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import CodeType, FrameType, FunctionType
from typing import Any, cast

import torch

from . import torch_objects
from .errors import MAX_LINE, class_name, printable
from .opaque import opaque

globals()["__builtins__"] = dict(vars(builtins))  # a copy that patches of the module do not reach

_walk, _children = ast.walk, ast.iter_child_nodes
_set_trace, _get_trace = sys.settrace, sys.gettrace
_without_overrides = torch._C.DisableTorchFunction  # of tensors' classes, and of modes
_RETURNS = {number for name, number in dis.opmap.items() if name.startswith("RETURN_")}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_MAX_SOURCE = 200_000  # characters of a cell that is parsed
_MAX_STEPS = 5  # assignments that are followed back
_SECONDS = 0.2  # of processor time, after which a call goes on without being traced
_processor_time = time.process_time

_code_of = FunctionType.__dict__["__code__"].__get__
_Span = tuple[int | None, int | None, int | None, int | None]


class Follower:
    """What is known of the functions that returned None in a request."""

    def __init__(
        self, has_value: dict[str, bool], names: Mapping[str, Any], sources: Mapping[str, str]
    ) -> None:
        """Follow functions of a request.

        Args:
            has_value: of the request's `CallWatch`.
            names: of the notebook.
            sources: of the notebook's cells, by the file names of their code.
        """
        self._has_value, self._names, self._sources = has_value, names, sources
        self._found: dict[str, dict[str, str]] = {}

    def wants(self, function: str) -> bool:
        """Whether another call of a function is to be followed: it returned nothing but None."""
        return not self._has_value.get(function, True) and _get_trace() is None

    def follow(self, function: str, call: Callable[[], object]) -> None:
        """Trace one more call of a function that returned nothing but None."""
        tracer = _Tracer(self._sources)
        trace = opaque(tracer.event)
        tracer.itself = trace
        _set_trace(trace)
        try:
            call()
        finally:
            _set_trace(None)
            tracer.itself = tracer.call = None
        if not self._has_value[function]:
            self._found[function] = tracer.found
        self._has_value[function] = False  # as it was found in the calls that count

    def told(self) -> list[dict[str, str]]:
        """The fields of ``ReturnedNone`` of each function that returned nothing but None."""
        none = [name for name, has_value in self._has_value.items() if not has_value]
        return [{"function": name, **(self._found.get(name) or self._read(name))} for name in none]

    def _read(self, name: str) -> dict[str, str]:
        """What the source alone says of a function that nobody could follow."""
        function = self._names.get(name)
        code = _code_of(function) if type(function) is FunctionType else None
        if code is not None and code.co_filename in self._sources:
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                return _Call(code, self._sources[code.co_filename]).said_by_source()
        return {}


class _Tracer:
    """Follows the calls of the notebook's functions that no other function of the notebook called.

    When its time is over it traces nothing more. An error raised in here would make Python end the tracing,
    which would count as an act of the student's function.
    """

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self.itself: Any = None
        self._end = _processor_time() + _SECONDS
        self.call: _Call | None = None  # that runs
        self.found: dict[str, str] = {}

    def event(self, frame: FrameType, event: str, argument: Any) -> Any:
        """As ``sys.settrace`` has it; a mistake in here must not reach the student's code."""
        with suppress(Exception):
            if _processor_time() > self._end:
                self.call = frame.f_trace = None
                frame.f_trace_opcodes = False
                return None
            if event != "call":
                self._go_on(frame, event, argument)
                return self.itself
            if self.call is None and frame.f_code.co_filename in self._sources:
                self.call = _Call(frame.f_code, self._sources[frame.f_code.co_filename])
                frame.f_trace_lines, frame.f_trace_opcodes = False, True
                return self.itself
        return None

    def _go_on(self, frame: FrameType, event: str, argument: Any) -> None:
        call = self.call
        if call is None or call.code is not frame.f_code:
            return
        if event == "exception":
            call.returning = None  # the value of this return was not computed to its end
            return
        with _without_overrides():
            call.see(frame)
        if event == "return":
            self.call = None
            has_ended = argument is None and call.bytes[frame.f_lasti] in _RETURNS
            self.found = call.told() if has_ended else {}


class _Call:
    """A call of a function whose source is known: what it evaluated, in which order."""

    def __init__(self, code: CodeType, source: str) -> None:
        self.code, self.bytes = code, code.co_code
        self.returning: Any = None  # the last of them that was evaluated
        self._positions = [*code.co_positions()]
        self._lines = source.encode().splitlines(keepends=True)
        self._function = _definition(code, self._positions, source)
        self._at: dict[_Span, list[tuple[Any, ast.expr | None]]] = {}
        self._seen: dict[ast.AST, tuple[int, dict[str, str]]] = {}  # how late, and what of it was noted
        self._given: dict[str, list[ast.expr]] = {}  # by the name of a variable, the values of assignments
        self._unclear: set[str] = set()  # variables that get values another way, too
        self._steps = 0
        if self._function is not None:
            self._survey(self._function)

    def _survey(self, function: Any) -> None:
        """Note where each returned and each assigned value is evaluated."""
        if type(function) is ast.Lambda:
            self._watch(function.body, function)
        simple: set[ast.AST] = set()
        for node in _own_nodes(function):
            if type(node) is ast.Return:
                self._at.setdefault(_span(node), []).append((node, None))
                if node.value is not None:
                    self._watch(node.value, node)
            elif type(node) in (ast.Assign, ast.AnnAssign, ast.NamedExpr):
                targets = node.targets if type(node) is ast.Assign else [node.target]
                names = [target for target in targets if type(target) is ast.Name]
                if node.value is not None and names:
                    self._watch(node.value, None)
                    simple.update(names)
                    for name in names:
                        self._given.setdefault(name.id, []).append(node.value)
        self._unclear = {
            node.id
            for node in cast("Iterator[Any]", _walk(function))
            if type(node) is ast.Name and type(node.ctx) is not ast.Load and node not in simple
        }

    def _watch(self, value: ast.expr, returning: ast.AST | None) -> None:
        for part in _parts(value):
            for span in _spans(part):
                self._at.setdefault(span, []).append((returning, part))

    def see(self, frame: FrameType) -> None:
        """Note what the frame's next instruction evaluates."""
        for returning, value in self._at.get(self._positions[frame.f_lasti // 2], ()):
            if returning is not None:
                self.returning = returning
            # Not every Python shows each step: then a value is first looked at where it is returned.
            is_late = value is None and returning.value is not None and returning.value not in self._seen
            evaluated = returning.value if is_late else value
            if evaluated is not None:
                self._steps += 1
                self._seen[evaluated] = self._steps, self._noted(evaluated, frame)

    def _noted(self, value: Any, frame: FrameType) -> dict[str, str]:
        """Why a value is None, as far as that can only be seen now."""
        if not (type(value) is ast.Attribute and value.attr == "grad"):
            return {}
        of = value.value
        tensor = _value_of(of, frame)
        if not torch_objects.is_tensor(tensor) or torch_objects.read_grad(tensor) is not None:
            return {}
        noted = {"cause": "nothing stored", "tensor": self._text(of)}
        if torch_objects.is_leaf(tensor):
            if not torch_objects.requires_grad(tensor):
                noted["cause"] = "does not require grad"
        elif torch_objects.retains_grad(tensor):
            noted["cause"] = "nothing retained"
        else:
            node = torch_objects.made_by(tensor)
            noted["cause"] = "not a leaf"
            noted["grad_fn"] = "" if node is None else class_name(type(node))
        return noted

    def told(self) -> dict[str, str]:
        """What ended the call, in the fields of ``ReturnedNone``; nothing where that is not known."""
        if self._function is None:
            return {}
        statement = self.returning
        is_lambda = type(statement) is ast.Lambda
        value = None if statement is None else statement.body if is_lambda else statement.value
        if value is None:
            return {"ended": "without a value"}
        shown = value if is_lambda else statement
        return {"ended": "by a value", "statement": self._text(shown), **self._why(value)}

    def said_by_source(self) -> dict[str, str]:
        """The same of a call that was not followed, where every call of the function ends in the same way."""
        if self._function is None:
            return {}
        returns = [node for node in _own_nodes(self._function) if type(node) is ast.Return]
        if type(self._function) is ast.Lambda:
            self.returning = self._function
        elif any(node.value for node in returns):
            if returns != self._function.body[-1:]:
                return {}
            self.returning = returns[0]
        return self.told()

    def _why(self, value: Any) -> dict[str, str]:
        """Where a None came from; a variable is followed to the assignment that gave it its value."""
        for _ in range(_MAX_STEPS):
            value = self._last_seen(_parts(value)) or value
            given = self._given.get(value.id, []) if type(value) is ast.Name else []
            is_clear = given and value.id not in self._unclear
            before = self._last_seen(part for one in given for part in _parts(one)) if is_clear else None
            if before is None:
                break
            value = before
        text = self._text(value)
        match value:
            case ast.Attribute(attr="grad"):
                noted = self._seen[value][1] if value in self._seen else {}
                return {"cause": "grad", "value": text, **noted}
            case ast.Call(func=ast.Attribute(attr="backward")):
                return {"cause": "backward", "value": text}
            case ast.Call():
                return {"cause": "call", "value": text}
            case ast.Constant(value=None):
                return {"cause": "None", "value": text}
        return {"cause": "value", "value": text}

    def _last_seen(self, values: Iterator[ast.expr]) -> ast.expr | None:
        """Of some expressions, that which was evaluated last; None where none of them was."""
        seen = [value for value in values if value in self._seen]
        return max(seen, key=lambda value: self._seen[value][0]) if seen else None

    def _text(self, node: ast.AST) -> str:
        """A piece of the source, on one line."""
        first, last, begin, end = _span(node)
        lines = self._lines[first - 1 : last]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][begin:]
        text = " ".join(b"".join(lines[:20]).decode("utf-8", "replace").split())
        return printable(text[:MAX_LINE])


def _definition(code: CodeType, positions: list[Any], source: str) -> Any:
    """The definition in a cell that a piece of code was compiled from."""
    if len(source) > _MAX_SOURCE:
        return None
    tree = compile(source, "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
    for node in cast("Iterator[Any]", _walk(tree)):
        if type(node) is ast.Lambda:
            is_it = code.co_name == "<lambda>" and any(span in positions for span in _spans(node.body))
        elif type(node) in _FUNCTIONS:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            is_it = (node.name, first) == (code.co_name, code.co_firstlineno)
        else:
            is_it = False
        if is_it:
            return node
    return None


def _own_nodes(function: Any) -> Iterator[Any]:
    """What is below a definition, without what is below the definitions in it."""
    waiting = [*_children(function)]
    while waiting:
        node = waiting.pop()
        yield node
        if type(node) not in (*_FUNCTIONS, ast.ClassDef):
            waiting += _children(node)


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    """The expressions of which one gives a value: those of a condition, of ``or`` and of ``:=``."""
    match value:
        case ast.IfExp(body=one, orelse=other):
            yield from _parts(one)
            yield from _parts(other)
        case ast.BoolOp(values=several):
            for one in several:
                yield from _parts(one)
        case ast.NamedExpr(value=one):
            yield from _parts(one)
        case _:
            yield value


def _span(node: Any) -> Any:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _spans(value: Any) -> list[_Span]:
    """The positions that the last instruction of an expression may have.

    Python lays an attribute that stands on another line than what it is taken from to that line alone.
    """
    spans = [_span(value)]
    attribute = value.func if type(value) is ast.Call else value
    if type(attribute) is ast.Attribute and attribute.lineno != attribute.end_lineno:
        begin = cast("int", attribute.end_col_offset) - len(attribute.attr.encode())
        spans.append((attribute.end_lineno, value.end_lineno, begin, value.end_col_offset))
    return spans


def _value_of(expression: ast.expr, frame: FrameType) -> Any:
    """The object of a variable, of an entry of a list, tuple or dict, or of a module's part; else None."""
    match expression:
        case ast.Name(id=name):
            known = frame.f_locals
            return known[name] if name in known else frame.f_globals.get(name)
        case ast.Attribute(value=holder, attr=name):
            held = _value_of(holder, frame)
            kinds = ("_parameters", "_buffers", "_modules") if torch_objects.is_module(held) else ()
            return next(
                (v for kind in kinds for n, v in torch_objects.members(held, kind) if n == name), None
            )
        case ast.Subscript(value=holder, slice=ast.Constant(value=int() | str() as key)):
            held = _value_of(holder, frame)
            if type(held) is dict or (type(held) in (list, tuple) and type(key) is int):
                with suppress(LookupError):
                    return held[key]
    return None
