"""Inside the worker: the seccomp filter, an allowlist of system calls written in BPF."""

import ctypes
import errno
from typing import NamedTuple

from . import allowlist, syscalls
from .libc import syscall

_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06  # BPF operations on 32-bit words
_CALL_NUMBER, _CALL_ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data

_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


class Instruction(NamedTuple):
    """One BPF instruction; jumps count the instructions to skip."""

    code: int
    if_true: int
    if_false: int
    operand: int


class _RawInstruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("operand", ctypes.c_uint32),
    )


class _RawProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_RawInstruction)))


def _load(offset: int) -> Instruction:
    return Instruction(_LOAD, 0, 0, offset)


def _answer(verdict: int) -> Instruction:
    return Instruction(_RETURN, 0, 0, verdict)


def _gate(machine: str) -> list[Instruction]:
    """Kill whoever speaks another architecture's dialect: its numbers mean other calls."""
    gate = [
        _load(_CALL_ARCHITECTURE),
        Instruction(_EQUAL, 1, 0, _ARCHITECTURE[machine]),
        _answer(_KILL),
        _load(_CALL_NUMBER),
    ]
    if machine == "x86_64":
        gate += [Instruction(_AT_LEAST, 0, 1, _X32_BIT), _answer(_KILL)]
    return gate


def _demand(demand: allowlist.Demand, refusal: int) -> list[Instruction]:
    """Fall through when the argument is one of the values (`unless`: none of them), else refuse."""
    word = _ARGUMENTS + 8 * demand.argument + (4 if demand.upper_half else 0)
    last = len(demand.values) - 1
    return [
        _load(word),
        Instruction(_AND, 0, 0, demand.mask),
        *(
            Instruction(_EQUAL, last - place + (not demand.unless), demand.unless and place == last, value)
            for place, value in enumerate(demand.values)
        ),
        _answer(refusal),
    ]


def _rule(number: int, rule: allowlist.Rule) -> list[Instruction]:
    """Decide one system call; every other one skips these instructions."""
    refusal = _ERRNO | rule.refusal
    body = [step for demand in rule.demands for step in _demand(demand, refusal)]
    body.append(_answer(_ALLOW if rule.allowed else refusal))
    return [Instruction(_EQUAL, 0, len(body), number), *body]


def program(machine: str, *, sealed: bool) -> list[Instruction]:
    """Write the filter, with OWN_PID where the pid of the process has to stand.

    Args:
        machine: one of `syscalls.MACHINES`.
        sealed: whether opening and looking up files is refused too.
    """
    numbers = syscalls.numbers(machine)
    rules = allowlist.rules(sealed=sealed)
    steps = [step for rule in rules if rule.call in numbers for step in _rule(numbers[rule.call], rule)]
    return [*_gate(machine), *steps, _answer(_ERRNO | errno.EPERM)]


def available() -> bool:
    """Tell whether this kernel takes filters: asked with a null pointer, one that does answers EFAULT."""
    try:
        syscall("prctl", _PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)
    except OSError as error:
        return error.errno == errno.EFAULT
    return False


class Filter:
    """The filter in the kernel's form, prepared before the fork; `install` is irrevocable."""

    def __init__(self, machine: str, *, sealed: bool) -> None:
        steps = program(machine, sealed=sealed)
        self._pid_places = [place for place, step in enumerate(steps) if step.operand == allowlist.OWN_PID]
        self._instructions = (_RawInstruction * len(steps))(*(_RawInstruction(*step) for step in steps))
        self._program = _RawProgram(len(steps), self._instructions)
        self._pointer = ctypes.byref(self._program)

    def install(self, pid: int) -> None:
        """Filter every system call of this process from now on; wants no_new_privs first.

        Args:
            pid: the process itself, the only one it may signal.

        Raises:
            OSError: the kernel refused.
        """
        for place in self._pid_places:
            self._instructions[place].operand = pid
        syscall("prctl", _PR_SET_SECCOMP, _MODE_FILTER, self._pointer, 0, 0)
