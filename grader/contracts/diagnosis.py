"""Diagnoses of torch's errors, by fragments of their texts.

The fragments stayed the same over many releases of torch; names of nodes are not among them.
"""

from __future__ import annotations

import re

from grader.contracts.finding import Finding, Kind, Place, diagnosis_and_hint
from grader.sandbox.values import Raised
from grader.text import capital, printable, quoted

_MAX_TEXT = 200
_SENTENCE_END = re.compile(r"(?<!torch)\.(?=\s|[A-Z])")  # some of torch's sentences lack a space
_ATTRIBUTE = re.compile(r"'NoneType' object has no attribute '(\w+)'")
_GRAD = re.compile(r"\.grad\b(?!\()")
_OF_A_CELL = re.compile(r"cell (\d{1,5}), line (\d{1,9})")
_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")

#: Diagnoses by a fragment of the text; the first match counts. `{versions}` are an overwritten tensor's.
_DIAGNOSES = {
    "backward through the graph a second time": (
        "a part of this graph was already backpropagated, which freed its saved tensors. Do two calls of "
        "backward() or autograd.grad() pass through it, or is a state still attached to an earlier step?"
    ),
    "modified by an inplace operation": (
        "a tensor that backward needs was written to after an operation had saved it{versions}. That may "
        "have been an operation in place, or an optimizer's step between forward and backward"
    ),
    "a view of a leaf Variable that requires grad": (
        "a slice or a view of a trainable leaf is written to while gradients are recorded. To update "
        "it, write under torch.no_grad(). To compute with it, write to a copy"
    ),
    "leaf Variable that requires grad": (
        "a trainable leaf is overwritten while gradients are recorded. To update it, "
        "write under torch.no_grad(). To compute with it, use the out-of-place operation"
    ),
    "moved into the graph interior": (
        "a leaf was given a history after it had been used: it was changed in place between forward and "
        "backward, while gradients were recorded"
    ),
    "does not require grad and does not have a grad_fn": (
        "no recorded operation connects this tensor to one that requires grad. It may have been computed "
        "under no_grad() or in inference mode, cut off by detach(), .data, .item(), numpy or "
        "torch.tensor(...), or made of tensors that do not require grad"
    ),
    "appears to not have been used in the graph": (
        "the output was not computed from this tensor. Is the tensor unused? Was the output computed from a "
        "copy, or from a view made later? Or does the name now refer to another tensor?"
    ),
    "One of the differentiated Tensors does not require grad": (
        "a gradient is asked for with respect to a tensor that does not require one. Is it a frozen "
        "parameter, was it detached, or was requires_grad_() left out, or called after the operation?"
    ),
    "grad can be implicitly created only for scalar": (
        "to go back without a given gradient needs an output of one element. Reduce the tensor, or say in "
        "which direction: backward(gradient=v)"
    ),
    "can't retain_grad": (
        "retain_grad() on a tensor without requires_grad: it will never have a gradient to retain"
    ),
    "register a hook on a tensor that doesn't require": (
        "a hook on a tensor that does not require grad would never be called"
    ),
    "only change requires_grad flags of leaf": (
        "requires_grad of a non-leaf cannot be switched off; detach() gives a tensor without history"
    ),
    "can't optimize a non-leaf": (
        "the optimizer was given a non-leaf. Do the arithmetic first, switch requires_grad on last"
    ),
    "created in no_grad mode": (
        "a view was made under no_grad and written to outside of it: autograd cannot know whether this write "
        "counts"
    ),
    "returns multiple views": "outputs of chunk, split and unbind may not be written to in place",
    "Can't detach views in-place": "detach_() does not work on a view; detach() does",
    "detached in-place": "detach_() took the history from a tensor that another computation had saved",
    "single memory location": (
        "several elements of what is written to share one memory cell, as in an expanded tensor: clone() "
        "before writing"
    ),
    "nference tensor": (
        "a tensor that was allocated in inference_mode is used where gradients are recorded, or written to: "
        "use no_grad there, or clone() it"
    ),
    "call numpy() on Tensor that requires grad": (
        "numpy leaves the graph: .detach().numpy() is for values that need no gradient"
    ),
    "incorrect number of gradients": (
        "the backward of a Function returns one value for every argument of forward, None for what is no "
        "tensor"
    ),
    "invalid gradient at index": "the backward of a Function returned a gradient that does not fit its input",
    "marked as dirty": "a tensor passed to mark_dirty must also be returned by forward",
    "can only save variables": "save_for_backward takes tensors only; numbers are kept on ctx",
    "before Module.__init__() call": "the first line of __init__ has to be super().__init__()",
    "as parameter '": (
        "an attribute that holds a Parameter accepts only a Parameter or None; change its values in place "
        "under no_grad"
    ),
    "more than one parameter group": "a parameter was given to the optimizer twice",
    "support the deepcopy protocol": (
        "only a leaf can be deep-copied; copy a non-leaf with detach().clone()"
    ),
    "got an empty parameter list": (
        "the optimizer was given no parameters. Was a generator of them used up before?"
    ),
    "'tuple' object has no attribute 'detach'": (
        "a tuple is detached member by member; an LSTM's state, for one, is a tuple (h, c)"
    ),
    "unexpected keyword argument 'retain_variables'": (
        "retain_variables is called retain_graph, and is rarely the cure"
    ),
}

#: A word for a device, in a text of torch's.
_DEVICE = re.compile(
    r"(?<![a-z])(cuda|mps|xpu|xla|hpu|mtia|ipu|hip|vulkan|maia|nvidia|nvtx|accelerator)(?![a-z])",
    re.IGNORECASE,
)
#: Texts of other errors that name devices: a name that no device has, and errors of a GPU that is there.
_OTHER_DEVICE_ERRORS = ("at start of device string", "out of memory", "CUDA error")
#: Parts of torch's errors about classes and counts that only builds for GPUs have.
_WITHOUT_GPU = ("Tried to instantiate dummy base class", "allocated_bytes.all.current")
#: Parts of errors, other than RuntimeErrors, that torch raises if it was built without a device.
_OF_BUILD = ("not compiled with", "module 'torch._C' has no attribute", "No module named 'torch.")
_NO_GPU = "The grader has no GPU. Compute on the device of the tensors you are given."

_NO_GRAD = (
    "either no backward has reached that tensor, or it is not a leaf, or its .grad was cleared (zero_grad() "
    "sets it to None)"
)
_NO_GRAD_FN = (
    "this grad_fn is None: the tensor is a leaf, or was computed while nothing was recorded, or was detached"
)
_NONE = (
    "this value is None. Is a return missing in a function that is called, or is None one of the values here?"
)
_NO_NAME = (
    "this name had no value when it was used. Is it spelled otherwise, or did its own cell not run through?"
)


#: The class of an error in the words of torch's check of saved tensors that no saved tensor confirms.
UNCONFIRMED = "UnconfirmedError"


def diagnose(error: Raised) -> str:
    """One sentence on the meaning of an error, with its class, its place and the start of its own text."""
    if "MemoryError" in error.types:
        return "your code used up the memory a notebook may have; does something grow without end?"
    needs_gpu = _needs_gpu(error)
    said = "" if needs_gpu else beginning(error.text)  # torch names parts of its own then
    name = "an error" if error.type == UNCONFIRMED else printable(error.type)
    text = f"{name}: {said}".removesuffix(": ")
    if error.line:
        event = f"{_place(error)}: {quoted(error.line)} stopped with {text}"
    elif error.where:
        event = f"your code stopped in code {error.where}, with {text}"
    else:
        event = f"code that uses what your call returned or changed stopped with {text}"
    if needs_gpu:
        return f"{event}. {_NO_GPU}"
    meaning = meaning_of(error)
    sentence = f"{event} — {meaning}" if meaning else event
    return sentence if sentence.endswith(("?", "!")) else f"{sentence}."


def finding_of(error: Raised, kind: Kind, text: str = "", group: str = "") -> Finding:
    """The finding for an error that was observed instead of a value.

    Args:
        kind: ``unobserved`` if the request ended with it, ``raised`` if ``attempt`` caught it.
        text: an author's words before the diagnosis, which may bring a hint.
        group: the subject of the text, so that the same error about another subject is another finding.
    """
    lead, hint = diagnosis_and_hint(text)
    lead, diagnosis = lead.rstrip("."), diagnose(error)
    message = f"{lead}: {diagnosis}" if lead else capital(diagnosis)
    same = f"{group} {error.type} {_fragment(error)}"
    place = _OF_A_CELL.fullmatch(error.where)
    is_in_code = bool(error.where) or "MemoryError" in error.types  # else it came of what the code returned
    return Finding(
        kind,
        message,
        hint,
        group=same.strip(),
        stopped=is_in_code,
        place=Place(int(place[1]), int(place[2]), error.function, error.line) if place else None,
        error=error.type,
        is_none=not is_in_code and "'NoneType'" in error.text,
    )


def _place(error: Raised) -> str:
    """The function in which the error happened, or the line of a cell."""
    if error.function:
        return f"in {printable(error.function)} (code {error.cell})"
    return f"in code {error.where}"


def with_article(noun: str) -> str:
    """As in ``an int``."""
    return f"{'an' if noun[:1].lower() in {*'aeiou'} else 'a'} {noun}"


def beginning(text: str) -> str:
    """The first line without torch's advice, cut where a sentence ends."""
    line = printable(text.strip().partition("\n")[0].partition(" Hint:")[0])
    if len(line) > _MAX_TEXT:
        ends = [end.start() for end in _SENTENCE_END.finditer(line, 0, _MAX_TEXT)]
        line = line[: ends[-1]] if ends else line[:_MAX_TEXT].rpartition(" ")[0] or line[:_MAX_TEXT]
    return line.rstrip(".")


def meaning_of(error: Raised) -> str | None:
    """The meaning of an error, if it is certain, or a question about a likely cause."""
    if "'NoneType'" in error.text and error.type in {"AttributeError", "TypeError"}:
        return _meaning_of_none(error)
    if error.type == "NameError" and "is not defined" in error.text:
        return _NO_NAME
    if _needs_gpu(error):
        return _NO_GPU
    match = _VERSIONS.search(error.text)
    versions = f" (saved at version {match[2]}, now at {match[1]})" if match else ""
    fragment = _fragment(error)
    return _DIAGNOSES[fragment].format(versions=versions) if fragment else None


def _fragment(error: Raised) -> str:
    """The fragment by which an error's text is known, or a name for its cause; empty if it is unknown."""
    known = next((fragment for fragment in _DIAGNOSES if fragment in error.text), "")
    return known or ("no GPU" if _needs_gpu(error) else "")


def _needs_gpu(error: Raised) -> bool:
    """Whether torch raised an error because there is no such device as a line of the student's asks for."""
    if any(fragment in error.text for fragment in (*_DIAGNOSES, *_OTHER_DEVICE_ERRORS)):
        return False
    if any(fragment in error.text for fragment in _WITHOUT_GPU):
        return True
    is_of_torch = not {"RuntimeError", "AssertionError"}.isdisjoint(error.types)
    return (is_of_torch or any(fragment in error.text for fragment in _OF_BUILD)) and _DEVICE.search(
        error.text
    ) is not None


def _meaning_of_none(error: Raised) -> str:
    """The meaning of a None: `.grad.zero_()` leaves no choice, `lr * w.grad` leaves one."""
    attribute = _ATTRIBUTE.search(error.text)
    if attribute and f".grad.{attribute[1]}" in error.line:
        return f"this .grad is None: {_NO_GRAD}"
    if attribute and f".grad_fn.{attribute[1]}" in error.line:
        return _NO_GRAD_FN
    if not attribute and _GRAD.search(error.line):
        return f"something is None here. If it is the .grad: {_NO_GRAD}"
    return _NONE
