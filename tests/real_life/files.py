"""Outside: what is handed in as a file: names, folders, formats, encodings, and what is no notebook."""

import json

import nbformat
from real_life.draft import case, code

# --- names and folders


@case(file="final_FINAL.ipynb")
def final_final(draft):
    """Renamed, and its metadata is gone: the functions tell the assignment."""
    draft.forget_its_name()


@case("03_truncated_bptt", file="Übung 3 Blätter 🍃 作业 (Jürgen).ipynb")
def umlauts_emoji_and_chinese(draft):
    """A name in three scripts: the functions tell the assignment."""
    draft.forget_its_name()


@case(file="Untitled7.ipynb", points="5 0 0 0 0 0", unanswered={f"q{n}": "missing" for n in range(2, 7)})
def one_function_in_a_new_notebook(draft):
    """Only the first answer, copied into a new notebook: it earns its points."""
    answer = draft.answer("make_weight")
    draft.forget_its_name()
    draft.cells[:] = [code("import torch"), answer]


@case(file="01_leaves.ipynb.txt")
def saved_as_text(draft):
    """The browser appended .txt to a notebook: it is one all the same."""


@case("05_inplace_reinit", student="group 3/ana + bo/week 5/.final")
def group_3(draft):
    """A group handed in nested folders, one of them hidden: the first folder is the student."""


@case(student="Ada Lovelace")
def a_name_with_a_capital(draft):
    """Two students' names differ in case only: each has a result (the other one earns less)."""


@case(student="ada lovelace", points="0 6 5 5 5 5", unanswered={"q1": "untouched"})
def a_name_without_a_capital(draft):
    """Two students' names differ in case only: each has a result."""
    draft.write("make_weight", draft.stub("make_weight"))


@case()
def a_folder_named_like_a_notebook(draft):
    """A tool unpacked the file into a folder of its name: the notebook in it counts."""
    return {"01_leaves.ipynb/01_leaves.ipynb": draft, "01_leaves.ipynb/._01_leaves.ipynb": b"\0\5\x16\7"}


# --- formats and front ends


@case()
def colab(draft):
    """Colab's metadata, forms, widgets' state and first cells: nothing of it matters."""
    draft.metadata.clear()
    draft.metadata.update(
        colab={"provenance": [{"file_id": "1x", "timestamp": 1}], "toc_visible": True, "gpuType": "T4"},
        accelerator="GPU",
        widgets={"application/vnd.jupyter.widget-state+json": {"a1": {"model_name": "HBoxModel"}}},
    )
    for number, cell in enumerate(draft.code):
        cell["metadata"] = {"id": f"Q{number}", "colab": {"base_uri": "https://x"}, "cellView": "form"}
        cell.pop("id", None)
    draft.answer("make_weight")["source"] = "#@title Answer 1\n" + draft.answer("make_weight")["source"]
    draft.top(
        "from google.colab import drive, files\ndrive.mount('/content/drive')\nuploaded = files.upload()",
        "seed = 7  #@param {type: 'slider', min: 0, max: 9}\n%cd /content/drive/MyDrive",
    )


@case("03_truncated_bptt", cells=("NameError: name 'dbutils'",))
def databricks(draft):
    """A notebook that went through Databricks: its magics do nothing, its dbutils costs one cell."""
    draft.metadata["application/vnd.databricks.v1+notebook"] = {"dashboards": [], "language": "python"}
    for cell in draft.code:
        cell["metadata"]["application/vnd.databricks.v1+cell"] = {"nuid": "x", "inputWidgets": {}}
    draft.top("# Databricks notebook source\n%sql select 1", "dbutils.library.restartPython()", "%md\n# hi")


@case()
def format_3(draft):
    """A notebook of format 3, with worksheets, prompts and input: it counts."""
    cells = [
        {"cell_type": "code", "input": cell["source"].splitlines(keepends=True), "prompt_number": n}
        for n, cell in enumerate(draft.code)
    ]
    return json.dumps({"nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": cells}]})


@case()
def fifty_megabytes_of_pictures(draft):
    """Outputs of fifty megabytes, and a hundred thousand lines of a progress bar: they are not looked at."""
    picture = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0K" * 6_500_000}}
    bar = {"output_type": "stream", "name": "stderr", "text": ["\r 1%|█▏  | 1/99"] * 100_000}
    draft.code[5]["outputs"] = [picture, bar]


@case("03_truncated_bptt")
def converted_by_jupytext(draft):
    """Written anew by nbformat, with what jupytext puts into the metadata."""
    draft.metadata["jupytext"] = {"formats": "ipynb,py:percent", "text_representation": {"extension": ".py"}}
    return nbformat.writes(nbformat.reads(draft.text(), as_version=4))
