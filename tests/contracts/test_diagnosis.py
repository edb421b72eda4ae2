"""Errors of torch become diagnoses: what a student should look for."""

import string

import pytest
from msgspec.structs import replace

from grader.contracts.diagnosis import beginning, diagnose, finding_of, meaning_of
from grader.contracts.finding import Place
from grader.sandbox.values import Raised

OVERWRITTEN = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.FloatTensor [2, 2]], which is output 0 of AsStrided, is at version {now}; expected version "
    "{saved} instead. Hint: enable anomaly detection to find the operation that failed to compute its "
    "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)

#: Texts of torch 2.13 and Python 3.11, and words of the diagnosis each must get.
CASES = {
    "backward twice": (
        (
            "Trying to backward through the graph a second time (or directly access saved tensors after they "
            "have already been freed). Saved intermediate values of the graph are freed when you call "
            ".backward() or autograd.grad(). Specify retain_graph=True if you need to."
        ),
        "went through a part of this graph",
    ),
    "saved value overwritten": (
        OVERWRITTEN.format(now=1, saved=0),
        "was written to afterwards (saved at version 0, now at 1)",
    ),
    "leaf overwritten": (
        "a leaf Variable that requires grad is being used in an in-place operation.",
        "writes to a trainable leaf",
    ),
    "leaf marked dirty": (
        "a leaf Variable that requires grad has been used in an in-place operation.",
        "writes to a trainable leaf",
    ),
    "slice of a leaf overwritten": (
        "a view of a leaf Variable that requires grad is being used in an in-place operation.",
        "a view of a trainable leaf",
    ),
    "leaf moved inside": (
        "leaf variable has been moved into the graph interior",
        "changed it in place between forward and backward",
    ),
    "loss without history": (
        "element 0 of tensors does not require grad and does not have a grad_fn",
        "No recorded operation connects this tensor to one that requires grad. Typical causes",
    ),
    "unused tensor": (
        (
            "The differentiated Tensor at index 1 appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior."
        ),
        "was not computed from this tensor",
    ),
    "gradient of what needs none": (
        "One of the differentiated Tensors does not require grad",
        "with respect to a tensor that does not require grad",
    ),
    "loss of several elements": (
        "grad can be implicitly created only for scalar outputs",
        "needs a tensor of one element",
    ),
    "retain_grad": (
        "can't retain_grad on Tensor that has requires_grad=False",
        "never has a gradient to retain",
    ),
    "hook": ("cannot register a hook on a tensor that doesn't require gradient", "would never be called"),
    "requires_grad switched off": (
        (
            "you can only change requires_grad flags of leaf variables. If you want to use a computed "
            "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
        ),
        "You cannot switch off",
    ),
    "optimizer of a non-leaf": (
        "can't optimize a non-leaf Tensor",
        "The optimizer got a non-leaf",
    ),
    "optimizer of nothing": ("optimizer got an empty parameter list", "The optimizer got no parameters"),
    "parameter twice": ("some parameters appear in more than one parameter group", "to the optimizer twice"),
    "view made under no_grad": (
        (
            "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given "
            "that this use case is ambiguous and error-prone, it is forbidden."
        ),
        "autograd cannot know whether it must record this write",
    ),
    "one of several views": (
        (
            "Output 0 of Unbind is a view and is being modified inplace. This view is the output of a "
            "function that returns multiple views. Such functions do not allow the output views to be "
            "modified inplace."
        ),
        "`chunk`, `split` and `unbind`",
    ),
    "detach_ of a view": (
        (
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel "
            "(DDP) for training, gradients are views of DDP buckets."
        ),
        "`detach_()` does not work on a view",
    ),
    "detach_ of what was saved": (
        (
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not "
            "supported, please use out-of-place `.detach()` instead"
        ),
        "`detach_()` disconnected a tensor",
    ),
    "expanded": (
        (
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            "location. Please clone() the tensor before performing the operation."
        ),
        "share one memory cell",
    ),
    "inference tensor saved": (
        (
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference "
            "mode in computation tracked by autograd."
        ),
        "that was allocated in `inference_mode()`",
    ),
    "inference tensor overwritten": (
        "Inplace update to inference tensor outside InferenceMode is not allowed.",
        "that was allocated in `inference_mode()`",
    ),
    "deepcopy": (
        (
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
            "the moment."
        ),
        "works only for leaves",
    ),
    "numpy": (
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
        "NumPy is outside the graph",
    ),
    "number of gradients": (
        "function DBackward returned an incorrect number of gradients (expected 2, got 1)",
        "one value for every argument of `forward`",
    ),
    "shape of a gradient": (
        (
            "Function DBackward returned an invalid gradient at index 0 - got [1, 1] but expected shape "
            "compatible with [3]"
        ),
        "a gradient that does not match its input",
    ),
    "dirty and not returned": (
        "Some elements marked as dirty during the forward method were not returned as output.",
        "must also return every tensor",
    ),
    "a number saved": (
        "save_for_backward can only save variables, but argument 1 is of type float",
        "Store numbers as attributes of `ctx`",
    ),
    "parameter replaced": (
        "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None expected)",
        "accepts only a Parameter or `None`",
    ),
    "detach of an LSTM's state": ("'tuple' object has no attribute 'detach'", "a tuple `(h, c)`"),
    "retain_variables": (
        "Tensor.backward() got an unexpected keyword argument 'retain_variables'",
        "`retain_variables` is called `retain_graph`",
    ),
}


def error(text, kind="RuntimeError", where="cell 3, line 5"):
    return Raised((kind, "Exception", "BaseException"), text, where)


@pytest.mark.parametrize(("text", "words"), CASES.values(), ids=CASES)
def test_a_text_of_torch_gets_its_meaning(text, words):
    """Each error a student of autograd meets gets its diagnosis, after the error itself."""
    told = diagnose(error(text))
    own = f"in code cell 3, line 5, your code raised RuntimeError: {beginning(text)}. "
    assert told.startswith(own)
    meaning = told.removeprefix(own)
    assert words in meaning
    assert meaning[0] in string.ascii_uppercase + "`"
    assert "{" not in meaning
    assert told.endswith((".", "?"))
    assert not told.endswith(("..", "?."))


def test_every_diagnosis_is_tried():
    """No two errors of different cause share their meaning by accident, and each text above has one."""
    meanings = {meaning_of(error(text)) for text, _ in CASES.values()}
    assert None not in meanings
    shared = {"leaf marked dirty", "inference tensor overwritten"}
    assert len(meanings) == len(CASES) - len(shared)


@pytest.mark.parametrize(("now", "saved"), [(2, 1), (12, 0), (105, 99)])
def test_versions_are_named(now, saved):
    """Where torch gives the versions, the student reads which is which."""
    told = diagnose(error(OVERWRITTEN.format(now=now, saved=saved)))
    assert f"written to afterwards (saved at version {saved}, now at {now}). Typical" in told


def test_versions_may_be_missing():
    """Without versions in torch's text the diagnosis does without them."""
    told = diagnose(error("one of the variables has been modified by an inplace operation"))
    assert "written to afterwards. Typical" in told


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (
            error("the shapes differ"),
            "in code cell 3, line 5, your code raised RuntimeError: the shapes differ.",
        ),
        (
            error("the shapes differ."),
            "in code cell 3, line 5, your code raised RuntimeError: the shapes differ.",
        ),
        (error("  first\nsecond"), "in code cell 3, line 5, your code raised RuntimeError: first."),
        (error("", "KeyError"), "in code cell 3, line 5, your code raised KeyError."),
        (error(" \n ", "KeyError"), "in code cell 3, line 5, your code raised KeyError."),
        (error("{x} {0}", "KeyError"), "in code cell 3, line 5, your code raised KeyError: {x} {0}."),
        (
            error("index 3", "IndexError", where=""),
            "code that uses the result, or an object that your call changed, raised IndexError: index 3.",
        ),
    ],
)
def test_an_unknown_text_is_told_as_it_is(raised, told):
    """An error without a diagnosis is told with its place, its class and its first line."""
    assert diagnose(raised) == told


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("x" * 199 + "yz", "x" * 199 + "y"),
        ("x" * 200, "x" * 200),
        ("One. " + "x" * 200, "One"),
        ("One. Two. " + "x" * 200, "One. Two"),
        ("One. Two.", "One. Two"),
        ("It broke. Hint: look elsewhere", "It broke"),
        ("One: [torch.FloatTensor " + "x" * 170 + " " + "y" * 30, "One: [torch.FloatTensor " + "x" * 170),
    ],
)
def test_the_beginning_of_a_text_is_told(text, beginning):
    """Of an error's text 200 characters are told, whole sentences where possible, and no hint of torch."""
    assert diagnose(error(text, "MyError")).endswith(f"raised MyError: {beginning}.")


@pytest.mark.parametrize(
    ("function", "line", "told"),
    [
        (
            "train",
            "loss.backward()",
            "in `train` (code cell 3), `loss.backward()` raised RuntimeError: no.",
        ),
        ("", "loss.backward()", "in code cell 3, line 5, `loss.backward()` raised RuntimeError: no."),
        (
            "f",
            "x = `\u202e`",
            "in `f` (code cell 3), `x = '\N{REPLACEMENT CHARACTER}'` raised RuntimeError: no.",
        ),
        ("train", "", "in code cell 3, line 5, your code raised RuntimeError: no."),
    ],
)
def test_the_line_is_quoted(function, line, told):
    """Where code of the student's stopped, its line is quoted, with the function it stands in."""
    raised = replace(error("no"), function=function, line=line)
    assert diagnose(raised) == told


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
_OF_PRODUCT = "unsupported operand type(s) for *: 'float' and 'NoneType'"


@pytest.mark.parametrize(
    ("kind", "text", "line", "told"),
    [
        ("AttributeError", _OF_ZERO, "w.grad.zero_()", "This `.grad` is None: no backward"),
        ("AttributeError", _OF_ZERO, "make(w).zero_()", "A value is None here."),
        ("AttributeError", _OF_ZERO, "w.grad = make(w).zero_()", "A value is None here"),
        ("AttributeError", _OF_ZERO, "", "A value is None here."),
        (
            "TypeError",
            _OF_PRODUCT,
            "w -= 0.1 * w.grad",
            "A value is None here. If it is the `.grad`, no backward",
        ),
        ("TypeError", _OF_PRODUCT, "w -= 0.1 * torch.autograd.grad(y, w)", "A value is None here."),
        (
            "TypeError",
            _OF_PRODUCT,
            "return 0.1 * step(w)",
            "A value is None here.",
        ),
        (
            "AttributeError",
            "'NoneType' object has no attribute 'next_functions'",
            "y.grad_fn.next_functions",
            "This `grad_fn` is None",
        ),
        (
            "NameError",
            "name 'hidden' is not defined",
            "hidden(1)",
            "This name had no value when your code used it",
        ),
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
    """Words that only look like an error of torch's are told as they are."""
    assert diagnose(error(text, kind)).endswith(f"{text}.")


def test_used_up_memory_is_told_without_torchs_words():
    """Whatever the allocator says, the student reads that the memory was used up."""
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
        (
            "NotImplementedError",
            "Could not run 'aten::empty.memory_format' with arguments from the 'MPS' backend. This could be",
        ),
        ("AttributeError", "module 'torch._C' has no attribute '_cuda_setDevice'"),
        ("RuntimeError", "Cannot execute emptyCache() without MPS backend."),
        ("RuntimeError", "torch.cuda.Stream requires CUDA support"),
        ("RuntimeError", "Tried to instantiate dummy base class Event"),
        (
            "RuntimeError",
            "Cannot get CUDA generator without ATen_cuda library. PyTorch splits its backend into",
        ),
        ("RuntimeError", "Cannot access accelerator device when none is available."),
        (
            "RuntimeError",
            "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and",
        ),
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
