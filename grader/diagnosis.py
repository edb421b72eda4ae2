"""Outside: torch's error texts turned into what a student should look for.

Matched on fragments that stayed the same over many releases of torch, never on names of nodes.
"""

from __future__ import annotations

import re

from grader.facts import Raised, Rebound
from grader.text import printable

_MAX_TEXT = 200
_SENTENCE_END = re.compile(r"\.(?=\s|[A-Z])")  # torch forgets a blank here and there
_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")

#: Diagnoses by a fragment of the text; the first that matches counts. Two numbers, where torch gives
#: them, are the version of the overwritten tensor now and when it was saved.
_DIAGNOSES = {
    "backward through the graph a second time": (
        "this graph was already back-propagated and its saved tensors are freed. Is a state, a statistic or "
        "a shared result still attached to an earlier step?"
    ),
    "modified by an inplace operation": (
        "backward needs a value that was overwritten after the forward pass{versions}. Write out of place, "
        "or before the value is used; an optimizer step between forward and backward overwrites weights too"
    ),
    "a view of a leaf Variable that requires grad": (
        "a slice or a view of a trainable leaf is written to while gradients are recorded. An update belongs "
        "under torch.no_grad(); a computation writes into a buffer that does not require grad"
    ),
    "leaf Variable that requires grad": (
        "a trainable leaf is overwritten while gradients are recorded. An update belongs under "
        "torch.no_grad(); a computation uses the out-of-place operation"
    ),
    "moved into the graph interior": (
        "a leaf was given a history after it had been used: it was changed in place between forward and "
        "backward"
    ),
    "does not require grad and does not have a grad_fn": (
        "nothing connects this loss to a parameter. Look for detach(), .data, .item(), numpy, "
        "torch.tensor(...) or a no_grad block between the parameters and the loss"
    ),
    "appears to not have been used in the graph": (
        "the tensor the gradient is asked for is not on the way to the output: a copy, a re-bound name, or "
        "a view made later"
    ),
    "One of the differentiated Tensors does not require grad": (
        "a gradient is asked for with respect to a tensor that does not require one: it was detached, or "
        "requires_grad_() came too late"
    ),
    "grad can be implicitly created only for scalar": (
        "backward() without an argument needs one element. Reduce the tensor, or say in which "
        "direction: backward(gradient=v)"
    ),
    "can't retain_grad": (
        "retain_grad() on a tensor without requires_grad: it will never have a gradient to retain"
    ),
    "register a hook on a tensor that doesn't require": (
        "a hook on a tensor that does not require grad would never be called"
    ),
    "only change requires_grad flags of leaf": (
        "requires_grad of a computed tensor cannot be switched off; detach() gives a tensor without history"
    ),
    "can't optimize a non-leaf": (
        "the optimizer was given a computed tensor. Do the arithmetic first, switch requires_grad on last"
    ),
    "created in no_grad mode": (
        "a view was made under no_grad and written to outside: both belong inside, or both outside"
    ),
    "returns multiple views": "outputs of chunk, split and unbind may not be written to in place",
    "Can't detach views in-place": "detach_() does not work on a view; detach() does",
    "detached in-place": "detach_() took the history from a tensor that another computation had saved",
    "single memory location": (
        "the rows of an expanded tensor share one memory cell: clone() before writing"
    ),
    "nference tensor": (
        "a tensor born in inference_mode takes part in training: use no_grad there, or clone() it"
    ),
    "call numpy() on Tensor that requires grad": (
        "numpy leaves the graph: .detach().numpy() is for values that need no gradient"
    ),
    "incorrect number of gradients": (
        "the backward of a Function returns one value for every argument of forward, None for what is no "
        "tensor"
    ),
    "invalid gradient at index": "the backward of a Function returned a gradient of the wrong shape",
    "marked as dirty": "a tensor passed to mark_dirty must also be returned by forward",
    "can only save variables": "save_for_backward takes tensors only; numbers are kept on ctx",
    "before Module.__init__() call": "the first line of __init__ has to be super().__init__()",
    "does not support the context manager protocol": (
        "what stands behind `with` is no context; are the parentheses missing (with torch.no_grad():)?"
    ),
    "cannot assign": (
        "a Parameter cannot be replaced by a computed tensor; change its values in place under no_grad"
    ),
    "more than one parameter group": "a parameter was given to the optimizer twice",
    "'NoneType' object has no attribute": (
        "something is None here. If it is a .grad: no backward has reached that tensor, it is not a leaf, "
        "or it was cleared"
    ),
    "and 'NoneType'": (
        "a .grad is None here. Was the name bound to a new, non-leaf tensor (w = w - ...), or did backward "
        "not reach it?"
    ),
    "'NoneType' and": "a .grad is None here: no backward has reached that tensor, or it is not a leaf",
    "support the deepcopy protocol": (
        "only a leaf can be deep-copied; detach() or clone() is what copies a computed tensor"
    ),
    "dtype can require gradients": "integers have no gradients: make the tensor of floating-point numbers",
    "arguments don't support automatic differentiation": (
        "out=... overwrites a tensor, which cannot be recorded: leave it away, or update under no_grad()"
    ),
    "got an empty parameter list": (
        "the optimizer was given no parameters; a generator of them gives its items only once"
    ),
    "'tuple' object has no attribute 'detach'": (
        "an LSTM's state is a tuple (h, c): both members need detaching"
    ),
    "unexpected keyword argument 'retain_variables'": (
        "retain_variables is called retain_graph, and is rarely the cure"
    ),
    "not compiled with CUDA": (
        "the grader has no GPU: compute on the device of the tensors you are given, x.device"
    ),
    "NVIDIA driver": "the grader has no GPU: compute on the device of the tensors you are given, x.device",
    "object is not callable": (
        "what is called here is no function any more; was its name bound to a value (f = f(x), sum = 0)?"
    ),
    "is not defined": "a name is used that no cell of this notebook defines",
}


def diagnose(error: Raised) -> str:
    """One sentence on what an error means, with its class, its place and the start of its own text."""
    if "MemoryError" in error.types:
        return "your code used up the memory a notebook may have; does something grow without end?"
    own = f"{printable(error.type)}: {_beginning(error.text)}".removesuffix(": ")
    if error.line:
        told = f"{_in(error)}: {quoted(error.line)} stopped with {own}"
    elif error.where:
        told = f"your code stopped in code {error.where}, with {own}"
    else:
        told = f"what your code returned could not be used as the exercise says: {own}"
    meaning = told_of(error.rebound) if error.rebound else _meaning(error.text)
    sentence = f"{told} — {meaning}" if meaning else told
    return sentence if sentence.endswith(("?", "!")) else f"{sentence}."


def _in(error: Raised) -> str:
    """Where it happened, as a student finds it: by the function, or by the line of a cell."""
    if error.function:
        return f"in {printable(error.function)} (code {error.cell})"
    return f"in code {error.where}"


def quoted(line: str) -> str:
    """A line of a student's, between backticks and without any of its own."""
    return f"`{printable(line).replace('`', chr(39))}`"


#: What Python calls some kinds of values, in the words of students.
_KINDS = {"type": "class", "builtin_function_or_method": "function"}


def told_of(rebound: Rebound) -> str:
    """That one cell took a name from another, and which."""
    given = f"came from code cell {rebound.given} as" if rebound.given is not None else "is Python's name of"
    line = "" if rebound.line is None else f", line {rebound.line},"
    now = "another one" if rebound.was == rebound.now else _a(rebound.now)
    did = f"has made it {now}" if rebound.now else "has deleted it"
    return f"`{printable(rebound.name)}` {given} {_a(rebound.was)}, but code cell {rebound.cell}{line} {did}"


def _a(kind: str) -> str:
    """A kind of value with its article."""
    if kind == "NoneType":
        return "None"
    noun = printable(_KINDS.get(kind, kind))
    return f"{'an' if noun[:1].lower() in set('aeiou') else 'a'} {noun}"


def _beginning(text: str) -> str:
    """The first line without torch's advice, cut where a sentence ends if it has to be cut."""
    line = printable(text.strip().partition("\n")[0].partition(" Hint:")[0])
    if len(line) > _MAX_TEXT:
        ends = [end.start() for end in _SENTENCE_END.finditer(line, 0, _MAX_TEXT)]
        line = line[: ends[-1]] if ends else line[:_MAX_TEXT].rpartition(" ")[0] or line[:_MAX_TEXT]
    return line.rstrip(".")


def _meaning(text: str) -> str | None:
    for fragment, diagnosis in _DIAGNOSES.items():
        if fragment in text:
            found = _VERSIONS.search(text)
            versions = f" (saved at version {found[2]}, now at {found[1]})" if found else ""
            return diagnosis.format(versions=versions)
    return None
