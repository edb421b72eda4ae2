"""Outside: what stands in cells beside the answers: Jupyter's ways, imports, debris, settings."""

from real_life.draft import case, code

# --- Jupyter


@case()
def every_expression_is_shown(draft):
    """IPython's own settings and modules: they may be imported and set."""
    draft.top(
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "InteractiveShell.ast_node_interactivity = 'all'",
        "from IPython.display import display, HTML, Markdown, clear_output\ndisplay(HTML('<b>hi</b>'))\n"
        "clear_output(wait=True)",
        "from IPython import display\ndisplay.clear_output()\nimport IPython\nIPython.display.Image('x.png')",
        "from IPython.core.display import HTML\nfrom IPython.core.debugger import set_trace",
    )


@case("03_truncated_bptt")
def pictures(draft):
    """Losses are drawn and shown between the answers."""
    draft.end(
        "%matplotlib inline\nimport matplotlib.pyplot as plt\nimport numpy as np\n"
        "fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3))\n"
        "left.plot(np.arange(3), label='loss')\nleft.legend()\nplt.tight_layout()\nplt.show()\nfig"
    )


@case("03_truncated_bptt")
def progress_bar_in_an_answer(draft):
    """The first bar of tqdm is in an answer: the thread that watches bars is no side effect."""
    draft.top("from tqdm import tqdm")
    draft.edit("in batches:\n        h = h.d", "in tqdm(batches, leave=False):\n        h = h.d")


@case("05_inplace_reinit")
def widgets(draft):
    """Sliders and an interactive plot: they do nothing."""
    draft.end(
        "import ipywidgets as widgets\nfrom ipywidgets import interact, interactive, VBox\n"
        "slider = widgets.FloatSlider(value=0.1, min=0, max=1)\n"
        "slider.observe(lambda change: print(change), names='value')\ndisplay(VBox([slider]))",
        "@interact(x=(0, 10), y=['a', 'b'])\ndef show(x, y='a'):\n    print(x, y)",
        "out = widgets.Output()\nwith out:\n    print(1)\n@out.capture()\ndef on_click(_):\n    print(2)",
    )


@case()
def prompts_copied_along(draft):
    """An answer pasted with the prompts of a terminal, or of IPython: IPython takes them away."""
    lines = draft.answer("weighted_backward")["source"].splitlines()
    draft.write("weighted_backward", "\n".join([">>> " + lines[0], *("... " + line for line in lines[1:])]))
    lines = draft.answer("make_weight")["source"].splitlines()
    draft.write(
        "make_weight", "\n".join(["In [12]: " + lines[0], *("    ...: " + line for line in lines[1:])])
    )


# --- packages that are not there


@case(
    cells=("ModuleNotFoundError: No module named 'seaborn'", "ModuleNotFoundError: No module named 'wandb'")
)
def packages_in_the_cell_of_the_answer(draft):
    """Unneeded packages that are not installed here, imported above answers: the answers count."""
    draft.edit("def make_weight(", "import seaborn as sns\nfrom torch import nn\n\ndef make_weight(")
    draft.edit(
        "def input_gradient(",
        "from __future__ import annotations\nimport wandb\nimport torchvision.models as models\n\n"
        "def input_gradient(",
    )


@case(
    points="0 6 5 5 5 5", cells=("ModuleNotFoundError: No module named 'seaborn'",), says={"q1": "name 'sns'"}
)
def a_package_the_answer_needs(draft):
    """The answer uses a package that is not installed here: the message names what is missing."""
    draft.edit("    generator =", "    sns.set_theme()\n    generator =")
    draft.edit("def make_weight(", "import seaborn as sns\n\ndef make_weight(")


@case(cells=("ModuleNotFoundError: No module named 'seaborn'",))
def the_first_cell_of_a_tutorial(draft):
    """All imports in one cell, one of them not installed here and used at once: the others are there."""
    draft.find("from torch import nn")["source"] = (
        "import os, math, seaborn as sns, numpy as np\nimport matplotlib.pyplot as plt\n%matplotlib inline\n"
        "import matplotlib_inline.backend_inline\n"
        "matplotlib_inline.backend_inline.set_matplotlib_formats('svg')\nsns.set_theme()\n"
        "palette = sns.color_palette()\nblue = palette[0]\nos.makedirs('../saved', exist_ok=True)\n"
        "import torch\nprint(torch.cuda.get_device_name(0))\nfrom torch import nn\n"
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'"
    )
    draft.end("assert device == 'cpu' and np.ones(1)")


@case(cells=("FileNotFoundError", "RuntimeError", "AssertionError: Torch not compiled with CUDA"))
def files_and_gpus_in_the_cell_of_the_answer(draft):
    """A file and a GPU that are not here, used above answers in their cells: the answers count."""
    draft.edit(
        "def make_weight(",
        "table = open('/content/data.csv').read()\nrows = table.split()\nlen(rows)\n\ndef make_weight(",
    )
    draft.edit("def all_grads(", "torch.save({}, 'x.pt')\n\ndef all_grads(")
    draft.edit("def total_loss(", "torch.ones(1).cuda()\n\ndef total_loss(")


@case(
    cells=(
        "AttributeError: module 'torch._C' has no attribute '_cuda_setDevice'",
        "RuntimeError: PyTorch is not linked with support for mps devices",
        "Error: unsupported locale setting",
        "KeyError: 'DATA_DIR'",
    )
)
def devices_and_settings_of_another_machine(draft):
    """A GPU, a locale and a variable that are not here, used above imports and answers: the answers count."""
    draft.find("from torch import nn")["source"] = (
        "import torch\ntorch.cuda.set_device(0)\nfrom torch import nn\nimport torch.nn.functional as F"
    )
    draft.edit("def make_weight(", "torch.ones(1).to('mps')\n\ndef make_weight(")
    draft.edit("def all_grads(", "import locale\nlocale.setlocale(locale.LC_ALL, 'xx_XX')\n\ndef all_grads(")
    draft.edit("def total_loss(", "import os\nfolder = os.environ['DATA_DIR']\n\ndef total_loss(")


@case(
    "05_inplace_reinit",
    cells=("ModuleNotFoundError: No module named 'solution'", "NameError: name 'solution'"),
)
def a_module_left_beside(draft):
    """A module of the student's own was not handed in, and %run does nothing: other answers count."""
    draft.top("%run other.py", "import solution", "solution.reinit_(torch.ones(1), 1.0)")


@case(cells=("ModuleNotFoundError: No module named 'helpers'",))
def a_file_written_by_a_cell(draft):
    """%%writefile writes nothing here: importing the file fails in its cell, which costs nothing else."""
    draft.top("%%writefile helpers.py\ndef twice(x):\n    return 2 * x", "from helpers import twice")


# --- debris


@case(cells=("AssertionError", "NotImplementedError", "AssertionError: ouch"))
def own_tests_that_fail(draft):
    """The student's own asserts fail, and raise NotImplementedError is left in a cell."""
    draft.end(
        "assert make_weight(1, 1, 0.1).item() == 3",
        "def later():\n    raise NotImplementedError\nlater()",
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def test(self):\n        assert False, 'ouch'\nT().test()",
    )


@case()
def a_main_block(draft):
    """Answers in `if __name__ == "__main__":`, as in a script: the block runs."""
    source = draft.answer("weighted_backward")["source"]
    lines = "\n".join(f"    {line}" for line in source.splitlines())
    draft.write("weighted_backward", f'if __name__ == "__main__":\n{lines}\n    print("done")')


@case(
    points="5 6 5 0 0 0",
    unanswered={"q4": "missing", "q5": "missing", "q6": "missing"},
    cells=("SyntaxError: invalid character", *["SyntaxError: invalid non-printable"] * 2),
)
def pasted_from_a_pdf(draft):
    """Curly quotes, hard blanks, zero-width characters: in code they cost their cell, in comments nothing."""
    draft.edit("    generator =", "    # “a generator”\u00a0of its\u200bown\n    generator =")
    draft.edit("    return {name: activation", "    print(“done”)\n    return {name: activation")
    draft.edit("    return (torch.stack(", "\u00a0   return (torch.stack(")
    draft.edit("    losses.backward(", "    losses.\u200bbackward(")


@case(cells=("TabError: inconsistent use of tabs",))
def tabs_and_trailing_spaces(draft):
    """Answers indented with tabs, lines that end with blanks: they count; mixed up, they cost their cell."""
    for function in ("make_weight", "activation_grads"):
        draft.write(function, draft.answer(function)["source"].replace("    ", "\t"))
    draft.write("all_grads", draft.answer("all_grads")["source"].replace("\n", "   \n") + "  \n\t\n \n")
    draft.end("if True:\n        x = 1\n\ty = 2")


@case("05_inplace_reinit")
def debris(draft):
    """Empty cells, comments, help, a thousand lines of output, a picture of a graph in text."""
    draft.top("", "   \n\n", "# nothing", "help(print)", "print('x' * 99)\n" * 1000, "'''\n  a --> b\n'''")
    draft.cells.insert(3, {"cell_type": "raw", "metadata": {}, "source": "def reinit_(w, v): return None"})
    draft.cells.insert(
        3, {"cell_type": "markdown", "source": "```python\ndef reinit_(w, v): return None\n```"}
    )


# --- settings that stay


@case("03_truncated_bptt")
def threads_of_torch(draft):
    """More threads than the grader has: they change nothing."""
    draft.top(
        "import torch\ntorch.set_num_threads(8)",
        "torch.randn(700, 700) @ torch.randn(700, 700)\ntorch.randn(2_000_000).exp().sum()",
    )


@case()
def warnings_ignored(draft):
    """Warnings are switched off, as on every forum: 01_leaves still sees that none is raised."""
    draft.top("import warnings\nwarnings.filterwarnings('ignore')\nwarnings.simplefilter('ignore')")


@case("03_truncated_bptt", cells=("AssertionError: Torch not compiled with CUDA enabled",))
def devices(draft):
    """Code that asks for a GPU and takes what there is; where it insists, it costs its cell."""
    draft.top(
        "import torch\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')\ntorch.cuda.empty_cache()\n"
        "torch.cuda.manual_seed_all(0)",
        "torch.ones(1).cuda()",
    )
    draft.edit(
        "h = h.detach()\n        for x in xs:\n            h = cell(x, h)",
        "h = h.detach()\n        for x in xs.to(device):\n            h = cell(x, h).to(device)",
    )


@case()
def merged_into_one(draft):
    """All cells merged into one."""
    draft.cells[:] = [code("\n\n".join(cell["source"] for cell in draft.code))]


@case()
def split_into_lines(draft):
    """Every definition and every import in a cell of its own, empty cells between, the rest thrown away."""
    answers = [draft.answer(q)["source"] for q in ("make_weight", "input_gradient", "all_grads")]
    answers += [draft.answer(q)["source"] for q in ("activation_grads", "total_loss", "weighted_backward")]
    draft.cells[:] = [code(source) for answer in answers for source in ("", answer, "print('next')")]
    draft.top("import torch", "from torch import nn")


@case(cells=("NameError: name 'torch'",))
def turned_round(draft):
    """All answers before the imports, from the last to the first: names are looked up when called."""
    answers = [cell for cell in draft.code if cell["source"].startswith("def ")]
    draft.cells[:] = [
        code("x = torch.ones(1)"),
        *reversed(answers),
        code("from torch import nn\nimport torch"),
    ]
