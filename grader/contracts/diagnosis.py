"""Diagnoses of torch's errors, by fragments of their texts.

The fragments stayed the same over many releases of torch; names of nodes are not among them.
"""

from __future__ import annotations

import re

from grader.contracts.finding import Finding, Kind, Place, diagnosis_and_hint
from grader.sandbox.values import Raised
from grader.text import capital, code, printable, quoted

_MAX_TEXT = 200
_SENTENCE_END = re.compile(r"(?<!torch)\.(?=\s|[A-Z])")  # some of torch's sentences lack a space
_ATTRIBUTE = re.compile(r"'NoneType' object has no attribute '(\w+)'")
_GRAD = re.compile(r"\.grad\b(?!\()")
_OF_A_CELL = re.compile(r"cell (\d{1,5}), line (\d{1,9})")
_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")

#: Diagnoses by a fragment of the text; the first match counts. `{versions}` are an overwritten tensor's. They
#: are sentences, without the last full stop.
_DIAGNOSES = {
    "backward through the graph a second time": (
        "An earlier backward pass went through a part of this graph and freed its saved tensors. Look for "
        "two calls of `backward()` or `autograd.grad()` that share a part of the graph, or for a state "
        "that is still connected to an earlier step"
    ),
    "modified by an inplace operation": (
        "An operation saved a tensor for backward, and the tensor was written to afterwards{versions}. "
        "Typical writes are an in-place operation, and an optimizer step between forward and backward"
    ),
    "a view of a leaf Variable that requires grad": (
        "Your code writes to a slice or a view of a trainable leaf while gradients are recorded. To update "
        "the leaf, write under `torch.no_grad()`. To compute with it, write to a copy"
    ),
    "leaf Variable that requires grad": (
        "Your code writes to a trainable leaf while gradients are recorded. To update the leaf, write under "
        "`torch.no_grad()`. To compute with it, use the out-of-place operation"
    ),
    "moved into the graph interior": (
        "A leaf became a non-leaf after it had been used: your code changed it in place between forward and "
        "backward, while gradients were recorded"
    ),
    "does not require grad and does not have a grad_fn": (
        "No recorded operation connects this tensor to one that requires grad. Typical causes are "
        "`no_grad()`, `inference_mode()`, `detach()`, `.data`, `.item()`, NumPy, `torch.tensor(...)`, and "
        "inputs that do not require grad"
    ),
    "appears to not have been used in the graph": (
        "The output was not computed from this tensor. Check whether the tensor is unused, whether the "
        "output was computed from a copy or a later view of it, and whether its name now refers to another "
        "tensor"
    ),
    "One of the differentiated Tensors does not require grad": (
        "Your code asks for the gradient with respect to a tensor that does not require grad. Check "
        "whether it is a frozen parameter, whether it was detached, and whether `requires_grad_()` is "
        "missing or comes after the operation"
    ),
    "grad can be implicitly created only for scalar": (
        "`backward()` without an argument needs a tensor of one element. Reduce the tensor to one element, "
        "or pass a vector: `backward(gradient=v)`"
    ),
    "can't retain_grad": "A tensor that does not require grad never has a gradient to retain",
    "register a hook on a tensor that doesn't require": (
        "A hook on a tensor that does not require grad would never be called"
    ),
    "only change requires_grad flags of leaf": (
        "You cannot switch off `requires_grad` of a non-leaf. `detach()` returns a tensor that is not "
        "connected to the graph"
    ),
    "can't optimize a non-leaf": (
        "The optimizer got a non-leaf. Do the arithmetic first, and set `requires_grad` last"
    ),
    "created in no_grad mode": (
        "Your code made a view under `no_grad()` and wrote to it outside: autograd cannot know whether it "
        "must record this write"
    ),
    "returns multiple views": (
        "Autograd does not allow in-place writes to the outputs of `chunk`, `split` and `unbind`"
    ),
    "Can't detach views in-place": "`detach_()` does not work on a view. `detach()` does",
    "detached in-place": (
        "`detach_()` disconnected a tensor from the graph after another computation had saved it"
    ),
    "single memory location": (
        "Several elements of the tensor that your code writes to share one memory cell, as in an expanded "
        "tensor. Call `clone()` before you write"
    ),
    "nference tensor": (
        "A tensor that was allocated in `inference_mode()` is used where gradients are recorded, or is "
        "written to. Use `no_grad()` instead of `inference_mode()`, or `clone()` the tensor"
    ),
    "call numpy() on Tensor that requires grad": (
        "NumPy is outside the graph. Use `.detach().numpy()` for values that need no gradient"
    ),
    "incorrect number of gradients": (
        "The `backward` of a Function must return one value for every argument of `forward`, and `None` "
        "for an argument that is not a tensor"
    ),
    "invalid gradient at index": (
        "The `backward` of a Function returned a gradient that does not match its input, for example in shape"
    ),
    "marked as dirty": "`forward` must also return every tensor that it passes to `mark_dirty`",
    "can only save variables": "`save_for_backward` takes only tensors. Store numbers as attributes of `ctx`",
    "before Module.__init__() call": "The first line of `__init__` must be `super().__init__()`",
    "as parameter '": (
        "An attribute that holds a Parameter accepts only a Parameter or `None`. Change the values of the "
        "Parameter in place, under `no_grad()`"
    ),
    "more than one parameter group": "Your code passes a parameter to the optimizer twice",
    "support the deepcopy protocol": (
        "`deepcopy` works only for leaves. Copy a non-leaf with `detach().clone()`"
    ),
    "got an empty parameter list": (
        "The optimizer got no parameters. Check whether an earlier loop used up the generator `parameters()`"
    ),
    "'tuple' object has no attribute 'detach'": (
        "Detach each entry of a tuple. For example, the state of an LSTM is a tuple `(h, c)`"
    ),
    "unexpected keyword argument 'retain_variables'": (
        "Today, `retain_variables` is called `retain_graph`, and you rarely need it"
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
_NO_GPU = "The grader has no GPU. Compute on the device of the input tensors."

_NO_GRAD = (
    "no backward has reached the tensor, it is not a leaf, or its `.grad` was cleared (`zero_grad()` sets "
    "it to None)"
)
_NO_GRAD_FN = (
    "This `grad_fn` is None: the tensor is a leaf, was detached, or was computed while autograd recorded "
    "nothing"
)
_NONE = "A value is None here. Look for a called function without a `return`, and for an input that is None"
_NO_NAME = (
    "This name had no value when your code used it. Check its spelling, and whether the cell that defines "
    "it ran to its end"
)


#: The class of an error in the words of torch's check of saved tensors that no saved tensor confirms.
UNCONFIRMED = "UnconfirmedError"


def diagnose(error: Raised) -> str:
    """Sentences about an error: its class, its place and the start of its own text; then what it means."""
    if "MemoryError" in error.types:
        return (
            "your code used all the memory that a notebook may use. Look for something that grows without "
            "end."
        )
    needs_gpu = _needs_gpu(error)
    said = "" if needs_gpu else beginning(error.text)  # torch names parts of its own then
    name = "an error" if error.type == UNCONFIRMED else printable(error.type)
    text = f"{name}: {said}".removesuffix(": ")
    if error.line:
        event = f"{_place(error)}, {quoted(error.line)} raised {text}"
    elif error.where:
        event = f"in code {error.where}, your code raised {text}"
    else:
        event = f"code that uses the result, or an object that your call changed, raised {text}"
    sentences = [event, meaning_of(error) or ""]
    return " ".join(each if each.endswith((".", "?", "!")) else f"{each}." for each in sentences if each)


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
        return f"in {_function(error.function)} (code {error.cell})"
    return f"in code {error.where}"


def _function(name: str) -> str:
    """A function's name as code; "a lambda" and the like are unchanged."""
    return code(printable(name)) if name.isidentifier() else printable(name)


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
    """What an error means and where to look, in sentences without the last full stop; None if unknown."""
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
        return f"This `.grad` is None: {_NO_GRAD}"
    if attribute and f".grad_fn.{attribute[1]}" in error.line:
        return _NO_GRAD_FN
    if not attribute and _GRAD.search(error.line):
        return f"A value is None here. If it is the `.grad`, {_NO_GRAD}"
    return _NONE
