"""Outside: what stands in cells beside the answers: Jupyter's ways, imports, debris, settings."""

from real_life.draft import case, code

# --- Jupyter


@case()
def magics_everywhere(draft):
    """Magics, commands and help are recognised and do nothing, wherever they stand."""
    draft.top(
        "%matplotlib inline\n%load_ext autoreload\n%autoreload 2\n"
        "%config InlineBackend.figure_format = 'retina'",
        "!pip install -q torch otter-grader\n%pip install tqdm\n%env CUDA_VISIBLE_DEVICES=0",
        "%%bash\nnvidia-smi || true",
        "files = !ls\nprint(len(files))\n?torch.Tensor.detach\ntorch.nn??",
        "get_ipython().system('pip list')\nget_ipython().run_line_magic('matplotlib', 'inline')",
        "%%html\n<style>.container { width: 100% }</style>",
        "%%javascript\nalert(1)",
    )


@case()
def answers_below_cell_magics(draft):
    """Answers below %%time and %%capture, one inside the other, and with a title above: they count."""
    for function, first in {
        "make_weight": "%%time\n",
        "input_gradient": "%%capture output\n",
        "all_grads": "%%capture\n%%time\n",
        "activation_grads": "%%prun -q\n",
        "total_loss": "\n\n%%time\n# mine\n",
        "weighted_backward": "#@title Answer\n%%time\n",
    }.items():
        draft.write(function, first + draft.answer(function)["source"])


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
def progress_bars(draft):
    """Bars of tqdm.notebook around a cell's loop and inside an answer: the answer is right."""
    draft.top(
        "from tqdm.notebook import tqdm, trange\nimport time\nfor _ in trange(3, desc='warm up'):\n    pass\n"
        "bar = tqdm(total=2)\nbar.update(1)\nbar.set_postfix(loss=1.0)\nbar.close()"
    )
    draft.edit(
        "in batches:\n        h = h.d", "in tqdm(batches, desc='minibatch', leave=False):\n        h = h.d"
    )


@case("03_truncated_bptt")
def automatic_progress_bars(draft):
    """The same with tqdm.auto."""
    draft.top("from tqdm.auto import tqdm\nfor _ in tqdm(range(3)):\n    pass")
    draft.edit("in batches:\n        h = h.d", "in tqdm(batches):\n        h = h.d")


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


@case()
def top_level_await(draft):
    """Await and async for at the top of a cell that also holds an answer."""
    draft.edit(
        "def make_weight(",
        "import asyncio\nawait asyncio.sleep(0)\nasync def numbers():\n    yield 1\n"
        "async for n in numbers():\n    print(n)\n\ndef make_weight(",
    )


@case()
def the_otter_is_asked(draft):
    """The notebook checks itself and exports itself: the real otter is not needed."""
    draft.end("grader.check_all()", "grader.export('01_leaves.ipynb', pdf=False, force_save=True)")


# --- packages that are not there


@case(
    cells=(
        "ModuleNotFoundError: No module named 'torchvision'",
        "ModuleNotFoundError: No module named 'wandb'",
    )
)
def packages_beside_the_answer(draft):
    """Packages that are not installed here, in cells of their own: those cells fail, nothing else."""
    draft.top("import torchvision", "import wandb\nwandb.init(project='leaves')")


@case(
    cells=("ModuleNotFoundError: No module named 'seaborn'", "ModuleNotFoundError: No module named 'wandb'"),
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


@case(cells=("RuntimeError: old tries below", "AssertionError"))
def stopped_on_purpose(draft):
    """The student raises an error so that old tries below it do not run: they do not."""
    draft.answer("make_weight")["source"] += (
        f"\n\nraise RuntimeError('old tries below')\n\n{draft.stub('make_weight')}"
    )
    draft.answer("total_loss")["source"] += (
        "\n\nassert False\n\ndef total_loss(losses, weights):\n    return 0"
    )


@case()
def an_import_that_is_guarded(draft):
    """A package is tried, and something else taken where it is missing: as written."""
    draft.edit(
        "def make_weight(",
        "try:\n    import wandb\nexcept ImportError:\n    wandb = None\nassert wandb is None\n\n"
        "def make_weight(",
    )


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


@case("03_truncated_bptt", cells=("SyntaxError: Missing parentheses",) * 2)
def python_2(draft):
    """Statements of Python 2 in other cells: those cells fail, nothing else."""
    draft.end("print 'loss', 1", "x = 1\nprint x")


@case(cells=("EOFError", "EOFError"))
def waiting_for_input(draft):
    """input() waits for nobody: it fails at once, and an answer below it in its cell counts."""
    draft.top("name = input('Your name: ')")
    draft.edit("def make_weight(", "n = int(input('n = '))\nprint(n)\ndef make_weight(")


@case(cells=("SystemExit",))
def exit_at_the_end(draft):
    """exit() at the end of an answer's cell ends the cell only."""
    draft.answer("make_weight")["source"] += "\n\nexit()"


@case(cells=("SystemExit", "SystemExit"))
def leaving_early(draft):
    """quit() and sys.exit() in the middle: what comes after them counts."""
    draft.top("quit()", "import sys\nsys.exit(0)")


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


@case(points="0 6 5 5 5 5", unanswered={"q1": "missing"}, cells=("SyntaxError: invalid syntax",))
def conflict_markers_in_a_cell(draft):
    """Git's markers stand inside of one cell: its answer is lost, the others count."""
    source = draft.answer("make_weight")["source"]
    draft.write("make_weight", f"{'<' * 7} HEAD\n{source}\n{'=' * 7}\n{source}\n{'>' * 7} main")


@case(
    points="5 6 5 0 0 0",
    unanswered={"q4": "missing", "q5": "missing", "q6": "missing"},
    cells=(
        "SyntaxError: invalid character",
        "SyntaxError: invalid non-printable",
        "SyntaxError: invalid non-print",
    ),
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


@case(points="0 6 5 5 5 0", unanswered={"q1": "missing", "q6": "missing"})
def raw_and_markdown(draft):
    """Answers that became a raw cell and markdown, by one wrong key: no code, so they are missing."""
    draft.answer("make_weight")["cell_type"] = "raw"
    draft.answer("weighted_backward")["cell_type"] = "markdown"


@case("05_inplace_reinit")
def debris(draft):
    """Empty cells, comments, help, a thousand lines of output, a picture of a graph in text."""
    draft.top("", "   \n\n", "# nothing", "help(print)", "print('x' * 99)\n" * 1000, "'''\n  a --> b\n'''")
    draft.cells.insert(3, {"cell_type": "raw", "metadata": {}, "source": "def reinit_(w, v): return None"})
    draft.cells.insert(
        3, {"cell_type": "markdown", "source": "```python\ndef reinit_(w, v): return None\n```"}
    )


# --- settings that stay


@case()
def settings_of_torch(draft):
    """Default dtype, grad mode, anomaly, seeds, device, determinism, set by cells: no request meets them."""
    draft.end(
        "torch.set_default_dtype(torch.float64)\ntorch.manual_seed(0)",
        "torch.set_grad_enabled(False)",
        "torch.autograd.set_detect_anomaly(True)\ntorch.use_deterministic_algorithms(True)",
        "torch.set_default_device('cpu')\ntorch.set_printoptions(precision=2, sci_mode=False)",
        "torch.backends.cudnn.benchmark = True\ntorch.backends.cudnn.deterministic = True",
        "torch.set_float32_matmul_precision('high')",
    )


@case("03_truncated_bptt")
def threads_of_torch(draft):
    """More threads than the grader has: they change nothing."""
    draft.top(
        "import torch\ntorch.set_num_threads(8)",
        "torch.randn(700, 700) @ torch.randn(700, 700)\ntorch.randn(2_000_000).exp().sum()",
    )


@case("03_truncated_bptt", cells=("UserWarning: own",))
def warnings_as_errors(draft):
    """Warnings became errors: in the cell that caused one, not in the requests."""
    draft.end("import warnings\nwarnings.filterwarnings('error')", "warnings.warn('own')")


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


@case(cells=("CellTimeout",))
def training_for_ten_seconds(draft):
    """A cell trains for longer than a cell may: it is stopped, and the answers around it count."""
    draft.above(
        "total_loss",
        "import time\nmodel, losses = nn.Linear(2, 1), []\nend = time.time() + 10\nwhile time.time() < end:\n"
        "    model(torch.randn(8, 2)).mean().backward()",
    )


@case("05_inplace_reinit", cells=("FileNotFoundError", "RuntimeError", "PermissionError"))
def files_and_workers(draft):
    """Data that was not handed in, a model that is saved, a log: those cells fail, nothing else."""
    draft.end(
        "import pandas as pd\nframe = pd.read_csv('data.csv')",
        "torch.save(nn.Linear(1, 1).state_dict(), 'model.pt')",
        "with open('losses.txt', 'w') as file:\n    file.write('1.0')",
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
