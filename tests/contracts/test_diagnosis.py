"""Errors of torch become diagnoses: what a student should look for."""

import string

import pytest
from msgspec.structs import replace

from grader.contracts.diagnosis import diagnose, finding_of, meaning_of
from grader.contracts.finding import Place
from grader.sandbox.values import Raised

OVERWRITTEN = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.FloatTensor [2, 2]], which is output 0 of AsStrided, is at version {now}; expected version "
    "{saved} instead."
)

CASES = [
    ("Trying to backward through the graph a second time (or directly access", "went through a part of this"),
    (OVERWRITTEN.format(now=1, saved=0), "was written to afterwards (saved at version 0"),
    ("a leaf Variable that requires grad is being used in an in-place", "writes to a trainable leaf"),
    ("a leaf Variable that requires grad has been used in an in-place", "writes to a trainable leaf"),
    ("a view of a leaf Variable that requires grad is being used in", "a view of a trainable leaf"),
    ("leaf variable has been moved into the graph interior", "changed it in place between forward"),
    (
        "element 0 of tensors does not require grad and does not have a grad_fn",
        "No recorded operation connects this tensor to one that requires grad. Typical causes",
    ),
    ("The differentiated Tensor at index 1 appears to not have been used in the graph.", "was not computed"),
    ("One of the differentiated Tensors does not require grad", "with respect to a tensor that does not re"),
    ("grad can be implicitly created only for scalar outputs", "needs a tensor of one element"),
    ("can't retain_grad on Tensor that has requires_grad=False", "never has a gradient to retain"),
    ("cannot register a hook on a tensor that doesn't require gradient", "would never be called"),
    ("you can only change requires_grad flags of leaf variables.", "You cannot switch off"),
    ("can't optimize a non-leaf Tensor", "The optimizer got a non-leaf"),
    ("optimizer got an empty parameter list", "The optimizer got no parameters"),
    ("some parameters appear in more than one parameter group", "to the optimizer twice"),
    ("A view was created in no_grad mode and is being", "autograd cannot know whether it must record"),
    (
        (
            "Output 0 of Unbind is a view and is being modified inplace. This view is the output of a"
            " function that returns multiple views."
        ),
        "`chunk`, `split` and `unbind`",
    ),
    ("Can't detach views in-place. Use detach() instead.", "`detach_()` does not work on a view"),
    ("Trying to use a saved tensor that has been detached in-place, i.e.", "`detach_()` disconnected"),
    (
        "more than one element of the written-to tensor refers to a single memory location.",
        "share one memory cell",
    ),
    ("Inference tensors cannot be saved for backward.", "that was allocated in `inference_mode()`"),
    ("Inplace update to inference tensor outside InferenceMode", "that was allocated in `inference_mode()`"),
    (
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol",
        "works only for leaves",
    ),
    ("Can't call numpy() on Tensor that requires grad. Use tensor.detach().", "NumPy is outside the graph"),
    ("function DBackward returned an incorrect number of gradients", "one value for every argument of"),
    ("Function DBackward returned an invalid gradient at index 0", "that does not match its input"),
    ("Some elements marked as dirty during the forward method were not", "must also return every tensor"),
    ("save_for_backward can only save variables, but argument 1 is of", "numbers as attributes of `ctx`"),
    ("cannot assign 'torch.FloatTensor' as parameter 'weight'", "accepts only a Parameter or `None`"),
    ("'tuple' object has no attribute 'detach'", "a tuple `(h, c)`"),
    ("Tensor.backward() got an unexpected keyword argument 'retain_variables'", "is called `retain_graph`"),
]


STOPPED = "in code cell 3, line 5, your code raised"


def error(text, kind="RuntimeError", where="cell 3, line 5"):
    return Raised((kind, "Exception", "BaseException"), text, where)


@pytest.mark.parametrize(("text", "words"), CASES)
def test_a_text_of_torch_gets_its_meaning(text, words):
    told = diagnose(error(text))
    own = f"{STOPPED} RuntimeError: {text.rstrip('.')}. "
    assert told.startswith(own)
    meaning = told.removeprefix(own)
    assert words in meaning
    assert meaning[0] in string.ascii_uppercase + "`"
    assert "{" not in meaning
    assert told.endswith((".", "?"))
    assert not told.endswith(("..", "?."))


def test_every_diagnosis_is_tried():
    """No two errors of different cause share their meaning by accident."""
    meanings = {meaning_of(error(text)) for text, _ in CASES}
    assert len(meanings) == len({words for _, words in CASES})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (OVERWRITTEN.format(now=12, saved=0), " (saved at version 0, now at 12)"),
        (OVERWRITTEN.format(now=105, saved=99), " (saved at version 99, now at 105)"),
        ("one of the variables has been modified by an inplace operation", ""),
    ],
)
def test_versions_are_named(text, told):
    assert f" was written to afterwards{told}. Typical" in diagnose(error(text))


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (error("the shapes differ"), f"{STOPPED} RuntimeError: the shapes differ."),
        (error("the shapes differ."), f"{STOPPED} RuntimeError: the shapes differ."),
        (error("  first\nsecond"), f"{STOPPED} RuntimeError: first."),
        (error("", "KeyError"), f"{STOPPED} KeyError."),
        (error(" \n ", "KeyError"), f"{STOPPED} KeyError."),
        (error("{x} {0}", "KeyError"), f"{STOPPED} KeyError: {{x}} {{0}}."),
        (
            error("index 3", "IndexError", where=""),
            "code that uses the result, or an object that your call changed, raised IndexError: index 3.",
        ),
        # Of an error's text 200 characters are told, whole sentences where possible, and no hint of torch.
        (error("x" * 199 + "yz"), f"{STOPPED} RuntimeError: {'x' * 199}y."),
        (error("x" * 200), f"{STOPPED} RuntimeError: {'x' * 200}."),
        (error("One. " + "x" * 200), f"{STOPPED} RuntimeError: One."),
        (error("One. Two. " + "x" * 200), f"{STOPPED} RuntimeError: One. Two."),
        (error("One. Two."), f"{STOPPED} RuntimeError: One. Two."),
        (error("It broke. Hint: look elsewhere"), f"{STOPPED} RuntimeError: It broke."),
        (
            error("One: [torch " + "x" * 182 + " yyyyyyyyy"),
            f"{STOPPED} RuntimeError: One: [torch {'x' * 182}.",
        ),
    ],
)
def test_an_unknown_text_is_told_as_it_is(raised, told):
    """An error without a diagnosis is told with its place, its class and the beginning of its first line."""
    assert diagnose(raised) == told


@pytest.mark.parametrize(
    ("function", "line", "told"),
    [
        ("train", "loss.backward()", "in `train` (code cell 3), `loss.backward()` raised"),
        ("", "loss.backward()", "in code cell 3, line 5, `loss.backward()` raised"),
        ("f", "x = `\u202e`", "in `f` (code cell 3), `x = '\N{REPLACEMENT CHARACTER}'` raised"),
        ("train", "", STOPPED),
    ],
)
def test_the_line_is_quoted(function, line, told):
    assert diagnose(replace(error("no"), function=function, line=line)) == f"{told} RuntimeError: no."


@pytest.mark.parametrize(
    ("raised", "stopped", "place"),
    [
        (replace(error("no"), function="train", line="y.sum()"), True, Place(3, 5, "train", "y.sum()")),
        (replace(error("no"), function="", line=""), True, Place(3, 5, "", "")),
        (replace(error("no"), function="", line="", where=""), False, None),
        (replace(error("no"), types=("MemoryError",), where=""), True, None),
    ],
)
def test_a_finding_says_whether_and_where_code_stopped(raised, stopped, place):
    """An error over what the code returned is no stop of the code; the line is a field of its own."""
    found = finding_of(raised, "raised", "The loss cannot go back.\n\nWhy?")
    assert (found.stopped, found.place, found.error) == (stopped, place, raised.type)
    assert found.sentence == f"The loss cannot go back: {diagnose(raised)}"
    assert found.hint == "Why?"


def test_whose_line_it_was_makes_no_other_mistake():
    """Those who were told the same of another line of theirs made the same mistake."""
    ada = replace(error("no"), function="train", line="loss.backward()")
    ben = replace(error("no"), function="", line="total.backward()", where="cell 12, line 5")
    other = replace(ada, types=("ValueError", "Exception"))
    groups = [finding_of(raised, "unobserved").group for raised in (ada, ben, other)]
    assert groups[0] == groups[1] != groups[2]


_OF_ZERO = "'NoneType' object has no attribute 'zero_'"
_OF_NEXT = "'NoneType' object has no attribute 'next_functions'"
_OF_PRODUCT = "unsupported operand type(s) for *: 'float' and 'NoneType'"


@pytest.mark.parametrize(
    ("kind", "text", "line", "told"),
    [
        ("AttributeError", _OF_ZERO, "w.grad.zero_()", "This `.grad` is None: no backward"),
        ("AttributeError", _OF_ZERO, "make(w).zero_()", "A value is None here. Look for"),
        ("AttributeError", _OF_ZERO, "w.grad = make(w).zero_()", "A value is None here. Look for"),
        ("AttributeError", _OF_ZERO, "", "A value is None here. Look for"),
        ("TypeError", _OF_PRODUCT, "w -= 0.1 * w.grad", "None here. If it is the `.grad`, no"),
        ("TypeError", _OF_PRODUCT, "w -= 0.1 * torch.autograd.grad(y, w)", "A value is None here. Look for"),
        ("TypeError", _OF_PRODUCT, "return 0.1 * step(w)", "A value is None here. Look for"),
        ("AttributeError", _OF_NEXT, "y.grad_fn.next_functions", "This `grad_fn` is None"),
        ("NameError", "name 'hidden' is not defined", "hidden(1)", "This name had no value when your code"),
    ],
)
def test_the_line_decides_what_is_certain(kind, text, line, told):
    """Of a None or an unknown name only what the line shows is said, and the rest is asked."""
    assert told in diagnose(replace(error(text, kind), line=line))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("SyntaxError", "cannot assign to literal"),
        ("TypeError", "cannot assign 'int' object to buffer 'running' (torch Tensor or None required)"),
        ("ValueError", "the state is not defined"),
        ("KeyError", "'NoneType' object has no attribute 'zero_'"),
    ],
)
def test_words_of_another_error_get_no_meaning(kind, text):
    assert diagnose(error(text, kind)).endswith(f"{text}.")


def test_used_up_memory_is_told_without_torchs_words():
    told = diagnose(Raised(("OutOfMemory", "MemoryError", "Exception"), "DefaultCPUAllocator: ...", "cell 3"))
    assert told == (
        "your code used all the memory that a notebook may use. Look for something that grows without end."
    )


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("AssertionError", "Torch not compiled with CUDA enabled"),
        ("AssertionError", "Torch not compiled with XPU enabled"),
        ("RuntimeError", "PyTorch is not linked with support for mps devices"),
        ("NotImplementedError", "Could not run 'aten::empty.memory_format' with arguments from the 'MPS'"),
        ("AttributeError", "module 'torch._C' has no attribute '_cuda_setDevice'"),
        ("RuntimeError", "Cannot execute emptyCache() without MPS backend."),
        ("RuntimeError", "torch.cuda.Stream requires CUDA support"),
        ("RuntimeError", "Tried to instantiate dummy base class Event"),
        ("RuntimeError", "Cannot get CUDA generator without ATen_cuda library."),
        ("RuntimeError", "Cannot access accelerator device when none is available."),
        ("RuntimeError", "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"),
        ("RuntimeError", "NVTX functions not installed. Are you sure you have a CUDA build?"),
        ("TypeError", "type torch.cuda.FloatTensor not available. Torch not compiled with CUDA enabled."),
        ("ModuleNotFoundError", "No module named 'torch.hpu'"),
        ("KeyError", "'allocated_bytes.all.current'"),
    ],
)
def test_an_answer_that_needs_a_gpu_is_told_that_there_is_none(kind, text):
    """Whatever a CPU build of torch says when code asks for a device, the message says what to do instead."""
    types = {"NotImplementedError": ("NotImplementedError", "RuntimeError")}.get(kind, (kind,))
    raised = Raised(types, text, "cell 3, line 2", function="f", line='return x.to("cuda")')
    assert diagnose(raised) == (
        f'in `f` (code cell 3), `return x.to("cuda")` raised {kind}. The grader has no GPU. Compute on '
        "the device of the input tensors."
    )


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("RuntimeError", "Expected one of cpu, cuda, ipu, xpu device type at start of device string: gpu"),
        ("AttributeError", "module 'torch.cuda' has no attribute 'is_here'"),
        ("NameError", "name 'cuda' is not defined"),
        ("KeyError", "'cuda'"),
        ("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    ],
)
def test_other_errors_on_a_line_with_a_device_name_no_gpu(kind, text):
    """A typing error or a wrong shape is not put down to the grader's machine."""
    raised = Raised((kind,), text, "cell 3, line 2", function="f", line='return (x @ x).to("cuda")')
    assert "no GPU" not in diagnose(raised)
