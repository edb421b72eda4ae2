"""Outside: the many ways in which an answer is written, broken, hidden and overwritten."""

from real_life.draft import case

# --- right answers that look different


@case("05_inplace_reinit")
def compiled(draft):
    """An answer below torch.compile: nothing can be compiled here, so it runs as it stands."""
    draft.edit("def residual_block(", "@torch.compile\ndef residual_block(")
    draft.edit("def fit_by_hand(", "@torch.compile(fullgraph=False)\ndef fit_by_hand(")


@case()
def decorated(draft):
    """no_grad, a stopwatch with functools.wraps, overloads, enable_grad: what is decorated is an answer."""
    draft.edit("def make_weight(", "@torch.no_grad()\ndef make_weight(")
    draft.edit(
        "def input_gradient(",
        "import functools, time\ndef timed(f):\n    @functools.wraps(f)\n    def g(*args, **kwargs):\n"
        "        start = time.time()\n        result = f(*args, **kwargs)\n"
        "        print(f.__name__, time.time() - start)\n        return result\n    return g\n\n"
        "@timed\ndef input_gradient(",
    )
    draft.edit(
        "def total_loss(",
        "from typing import overload\n@overload\ndef total_loss(losses: list, weights: list): ...\n"
        "@overload\ndef total_loss(losses: tuple, weights: tuple): ...\ndef total_loss(",
    )
    draft.edit("def weighted_backward(", "@torch.enable_grad()\ndef weighted_backward(")


@case()
def reading_its_own_source(draft):
    """TorchScript and inspect.getsource read the source of a cell, as they can in Jupyter."""
    draft.write(
        "make_weight",
        "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n\n"
        "    @torch.jit.script\n    def scaled(t: torch.Tensor, scale: float) -> torch.Tensor:\n"
        "        return t * scale\n\n"
        "def make_weight(n, m, scale):\n    g = torch.Generator().manual_seed(0)\n"
        "    return scaled(torch.randn(n, m, generator=g), scale).requires_grad_()",
    )
    draft.end("import inspect\nassert 'return scaled' in inspect.getsource(make_weight)")


@case("05_inplace_reinit")
def typed_in_the_future(draft):
    """The first cell postpones annotations for the whole notebook, as it does in Jupyter."""
    draft.top("from __future__ import annotations")
    draft.edit(
        "def fit_by_hand(w, X, y, lr, steps):",
        "def fit_by_hand(w: Weight, X: Data, y: Data, lr: float, steps: int) -> list[Loss]:",
    )


@case(points="0 6 5 5 5 5", unanswered={"q1": "missing"}, cells=("NameError: name 'Tensor' is not defined",))
def typed_without_the_import(draft):
    """A type hint whose import is missing: as in a fresh Jupyter, the definition fails, and is named."""
    draft.edit("def make_weight(n, m, scale):", "def make_weight(n: int, m: int, scale: float) -> Tensor:")


@case()
def names_of_builtins(draft):
    """Variables called sum, list, max, type and loss in other cells: the checks do not use them."""
    draft.end("list = [1]\nsum = 0\nmax = 3\ntype = 'a'\nlen = 5\nprint = None\nid = 1\nisinstance = 0")


# --- answers that are lost, and why


@case(points="5 6 5 5 0 5", says={"q5": "name 'weigh' is not defined"})
def a_helper_deleted(draft):
    """The helper of an answer was in a cell that is gone: the message names it."""
    draft.write("total_loss", "def total_loss(losses, weights):\n    return weigh(losses, weights)")


@case(
    points="0 0 5 5 0 5",
    cells=("NameError",) * 11,
    says={"q1": "name 'torch' is not defined", "q5": "This name had no value when your code used it"},
)
def the_first_cell_deleted(draft):
    """The imports are gone: what needs them is lost, with the name; what does not earns its points."""
    draft.cells.remove(draft.find("from torch import nn"))


@case("03_truncated_bptt", "0 6 6 5 5", says={"q1": "no GPU"})
def cuda_in_an_answer(draft):
    """.cuda() in an answer: an error, with the reason that the grader has none."""
    draft.edit(
        "h = h.detach()\n        for x in xs:\n            h = cell(x, h)",
        "h = h.detach()\n        for x in xs:\n            h = cell(x.cuda(), h)",
    )


@case(
    points="0 6 5 5 5 5",
    unanswered={"q1": "missing"},
    says={"q1": "`make_weight` is a Tensor at the end of the notebook"},
)
def overwritten_by_its_result(draft):
    """The student tried the function and gave its result the same name: the message says what it is now."""
    draft.end("make_weight = make_weight(2, 3, 0.1)")


@case(points="0 6 5 5 5 5", cells=("SyntaxError: 'return' outside function",))
def cut_in_two(draft):
    """A definition was split in its middle: its first half is an answer, its second an error."""
    lines = draft.answer("make_weight")["source"].splitlines()
    draft.write("make_weight", "\n".join(lines[:-1]))
    draft.above("input_gradient", lines[-1])


@case(points="5 6 5 5 5 0", says={"q6": "Bdb"})
def a_debugger_left_inside(draft):
    """breakpoint() was left in an answer: nobody types, so it ends, in this question only."""
    draft.edit("    losses.backward(", "    import pdb; pdb.set_trace()\n    losses.backward(")


@case(points="0 6 5 5 5 5", says={"q1": "make_weight() takes 2 positional arguments but 3 were given"})
def another_signature(draft):
    """The student gave the function other arguments: the message is Python's."""
    draft.write(
        "make_weight",
        "def make_weight(shape, scale):\n    return (torch.randn(shape) * scale).requires_grad_()",
    )


@case(points="5 6 5 5 5 0", says={"q6": "EOF"})
def input_in_an_answer(draft):
    """An answer asks a question: nobody answers it."""
    draft.edit("    losses.backward(", "    input('Continue?')\n    losses.backward(")


@case(points="5 6 5 5 5 0", unanswered={"q6": "missing"}, cells=("SyntaxError",))
def unfinished(draft):
    """The last answer breaks off in the middle of a line."""
    draft.write("weighted_backward", "def weighted_backward(losses, w):\n    losses.backward(gradient=w.")
