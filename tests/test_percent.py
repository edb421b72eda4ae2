"""A master is cut into the cells that jupytext would make of it, and every cell knows its line."""

from pathlib import Path

import jupytext
import pytest

from grader.percent import cells_of

ROOT = Path(__file__).parent.parent
MASTERS = sorted([*ROOT.glob("solutions/*.py"), *ROOT.glob("tests/small_course/solutions/*.py")])

CORNERS = '''\
# ---
# jupyter:
#   any: thing
# ---

# %% [markdown]
# # Title
#
#  A line that begins with two blanks
#without one

# %% [markdown]
"""
In a string
"""

# %%

# %% A cell with a name, and with more {"besides": 1}
x = 1  # %% no cell begins here


y = """
%% nor here
"""

# %% tags=["question q1"] editable=false
#%matplotlib inline
# !pip install nothing
# %time x
# 5 % 3, a remark
#%%
z = 1
'''


def as_jupytext_says(text):
    cells = jupytext.reads(text, fmt="py:percent").cells
    return [
        (cell.cell_type == "code", cell.source, tuple(cell.metadata.get("tags", ())))
        for cell in cells
        if cell.source.strip()
    ]


@pytest.mark.parametrize("path", MASTERS, ids=lambda path: path.stem)
def test_masters_are_read_as_jupytext_reads_them(path):
    """Kind, source and tags of every cell of the course are the same."""
    text = path.read_text(encoding="utf-8")
    found = list(cells_of(text))
    assert [(cell.is_code, cell.source, cell.tags) for cell in found] == as_jupytext_says(text)
    lines = text.splitlines()
    assert all(cell.source.partition("\n")[0] in lines[cell.line - 1] for cell in found)


def test_corners_are_read_as_jupytext_reads_them():
    """So are a header, strings, names of cells and magics."""
    found = list(cells_of(CORNERS))
    assert [(cell.is_code, cell.source, cell.tags) for cell in found] == as_jupytext_says(CORNERS)
    assert [cell.line for cell in found] == [7, 14, 20, 28, 33]


@pytest.mark.parametrize(("text", "cells"), [("", 0), ("\n\n", 0), ("x = 1", 1), ("# %%", 0), ("# %%\nx", 1)])
def test_small_texts(text, cells):
    """What has no line `# %%` is one cell of code; what is empty is none."""
    assert len(list(cells_of(text))) == cells == len(as_jupytext_says(text))
