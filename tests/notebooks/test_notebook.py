"""What is read from any notebook, and that nothing in it can harm its reader."""

import bz2
import gzip
import hashlib
import json
import os
from pathlib import Path
from unittest.mock import Mock

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import time_limit

from grader.errors import GraderError
from grader.notebooks import reader as notebook
from grader.notebooks import recognition
from grader.notebooks.definitions import defines
from grader.notebooks.files import MAX_FILE_BYTES, NotebookError
from grader.notebooks.reader import Cell, Notebook, OtherCell, cells_of, read_notebook


def code(source, **extra):
    return {"cell_type": "code", "source": source, **extra}


def markdown(source):
    return {"cell_type": "markdown", "source": source}


@pytest.fixture
def read(tmp_path):
    """Write text, bytes or a JSON value to a file and read it as a notebook."""

    def read(content):
        path = tmp_path / "x.ipynb"
        if not isinstance(content, (str, bytes)):
            content = json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_notebook(path)

    return read


@pytest.fixture
def read_cells(read):
    def read_cells(*cells):
        return [cell.source for cell in read({"nbformat": 4, "nbformat_minor": 5, "cells": cells}).cells]

    return read_cells


def test_format_4(tmp_path):
    v4 = nbformat.v4
    nb = v4.new_notebook(metadata={"otter": {"assignment_name": "01_leaves", "tests": {}}})
    nb.cells = [
        v4.new_markdown_cell("# Leaves"),
        v4.new_code_cell("import torch\n\nx = 1", outputs=[v4.new_output("stream", text="def no(): ...")]),
        v4.new_raw_cell("def raw(): ..."),
        v4.new_code_cell("y = 'é 🔥'"),
    ]
    path = tmp_path / "x.ipynb"
    nbformat.write(nb, path)
    assert read_notebook(path) == Notebook(
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        cells=(Cell(1, "import torch\n\nx = 1"), Cell(2, "y = 'é 🔥'")),
        assignment="01_leaves",
        others=(OtherCell("markdown", 0, "# Leaves"), OtherCell("raw", 1, "def raw(): ...")),
    )


def test_format_3(read):
    """The code cells of format 3 are read from all its worksheets, as nbformat's own converter does."""
    v3 = nbformat.v3
    first = v3.new_worksheet(cells=[v3.new_heading_cell("Old"), v3.new_code_cell("a = 1\nb = 2")])
    second = v3.new_worksheet(cells=[v3.new_text_cell("markdown", "text"), v3.new_code_cell("c = 3")])
    nb = v3.new_notebook(worksheets=[first, second])
    text = nbformat.v3.writes_json(nb)
    converted = nbformat.reads(text, as_version=4)
    expected = [cell.source for cell in converted.cells if cell.cell_type == "code"]
    assert expected == ["a = 1\nb = 2", "c = 3"]
    assert [cell.source for cell in read(text).cells] == expected


@pytest.mark.parametrize("key", ["source", "input"])
def test_lines_without_ends(read, key):
    """Lines that lost their ends get them back in both formats; those that kept them get no second one."""
    every = ["# a", "b"], ["a\n", "b"], ["a\n", "\n", "b\n"], [], [None, "c"]
    cells = [{"cell_type": "code", key: lines} for lines in every]
    both = {"cells": cells}, {"nbformat": 3, "worksheets": [{"cells": cells}, None, {"cells": 3}]}
    for document in both:
        assert [cell.source for cell in read(document).cells] == ["# a\nb", "a\nb", "a\n\nb\n", "", "c"]


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"nbformat": 4, "nbformat_minor": 99},
        {"nbformat": "4", "metadata": None},
        {"nbformat": 4, "metadata": {"colab": {"provenance": []}}, "accelerator": "GPU"},
        {"nbformat": 4, "metadata": {"otter": []}},
        {"nbformat": 4, "metadata": {"otter": {"assignment_name": "x" * 256}}},
    ],
)
def test_schema_violations(read, extra):
    found = read({"cells": [code("x = 1")], **extra})
    assert found.cells == (Cell(1, "x = 1"),)
    assert found.assignment is None


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"kernelspec": {"display_name": "R", "language": "R", "name": "ir"}}, "R"),
        ({"kernelspec": {"name": "ir"}, "language_info": {"name": "R", "version": "4.3"}}, "R"),
        ({"kernelspec": {"language": "python"}, "language_info": {"name": "R"}}, ""),
        ({"kernelspec": {"language": ""}, "language_info": {"name": "ipython3"}}, ""),
        ({"kernelspec": {"name": "my-env", "display_name": "Any"}}, ""),
        ({"kernelspec": {"language": "x" * 41}}, ""),
        ({"kernelspec": {"language": ["R"]}, "language_info": None}, ""),
        ({"kernelspec": "R"}, ""),
        ({}, ""),
    ],
)
@pytest.mark.parametrize("is_plain", [True, False])
def test_the_language_of_the_kernel(read, metadata, language, is_plain):
    """It is the one that the metadata name, in any JSON; Python and a strange or missing name are none."""
    text = json.dumps({"cells": [code("x = 1")], "metadata": metadata, "extra": 0})
    assert read(text if is_plain else text.replace("0}", "NaN}")).language == language


@pytest.mark.parametrize(
    ("cell", "source"),
    [
        (code(["a\n", "b"]), "a\nb"),
        (code(["a\n", 3, None, "b"]), "a\nb"),
        (code("a", outputs="none", attachments=3, vscode={"languageId": "python"}), "a"),
        (code(None), ""),
        (code({"a": "b"}), ""),
        ({"cell_type": "code"}, ""),
    ],
)
def test_code_cells(read_cells, cell, source):
    """A source may be text or lines; one that is impossible or missing is an empty cell that counts."""
    assert read_cells(cell, code("last")) == [source, "last"]


@pytest.mark.parametrize(
    "cell", [None, 3, "code", ["code"], {}, {"source": "a"}, {"cell_type": ["code"], "source": "a"}]
)
def test_what_is_no_code_cell_is_skipped(read_cells, cell):
    assert read_cells(cell, code("last")) == ["last"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_encodings(read, encoding):
    text = json.dumps({"cells": [code("x = 'é 🔥'")]}, ensure_ascii=False)
    assert read(text.encode(encoding)).cells == (Cell(1, "x = 'é 🔥'"),)


def test_a_byte_that_is_not_utf_8_spoils_one_character(read):
    (cell,) = read(b'{"cells": [{"cell_type": "code", "source": "x = 1  # f\xfcr"}]}').cells
    assert cell.source == "x = 1  # f\ufffdr"


@pytest.mark.parametrize("source", ["a\r\nb\rc\n", ["a\r", "\nb\r", "c\n"]])
def test_line_ends(read_cells, source):
    assert read_cells(code(source)) == ["a\nb\nc\n"]


def test_characters_nobody_can_write(read):
    found = read('{"cells": [{"cell_type": "code", "source": "a\\u0000\\ud800\\ud83d\\udd25\\udc00"}]}')
    assert found.cells == (Cell(1, "a\ufffd\ufffd🔥\ufffd"),)
    found = read('{"cells": [], "metadata": {"otter": {"assignment_name": "a\\u0000\\udcff"}}}')
    assert found.assignment == "a\ufffd\ufffd"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        ('{"cells": [],\n\n "metadata": }', r"its text is not JSON \(line 3\)\. It may be incomplete: check"),
        ("# In[1]:\nimport torch\n", "a Python script, not a notebook"),
        ("#!/usr/bin/env python\nx = 1\n", "a Python script, not a notebook"),
        ('"""My answers."""\n\ndef double(x):\n    return 2 * x\n', "a Python script, not a notebook"),
        (gzip.compress(b"{}"), "a compressed file, not a notebook"),
        (bz2.compress(b"{}"), "a compressed file, not a notebook"),
        ('{"url": "https://docs.google.com/open?id=1", "doc_id": "1"}', "a link to Google Drive, not"),
        ("\n <!DOCTYPE html><html>", "a web page, not a notebook"),
        (b"PK\3\4\24\0\0\0", "a ZIP archive, not a notebook"),
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n",
            "run `git lfs pull` in the clone",
        ),
        (
            "/annex/objects/SHA256E-s9--ab.ipynb\n",
            "a pointer of git-annex, not the notebook: run `git annex get`",
        ),
        (b"%PDF-1.7\n%\xe2\xe3", "a PDF, not a notebook"),
        ('{"cells": [\n<<<<<<< HEAD\n', r"markers of a merge conflict in it \(line 2\)"),
        ("\0" * 9, "is damaged: it contains null bytes only"),
        ("[]", "no list of cells"),
        ("null", "no list of cells"),
        ({}, "no list of cells"),
        ({"cells": {}}, "no list of cells"),
        ("[" * 100_000, "nested too deeply"),
        ('{"cells": ' + '[{"a":' * 100_000, "nested too deeply"),
        ('{"cells": [' + "1" * 1_000_000 + "]}", "number of thousands of digits"),
    ],
    ids=range(23),
)
def test_no_notebook(read, content, reason):
    sentence = rf"^x\.ipynb .*{reason}.*[,.:] .*([Ss]ubmit|collect again)"
    with pytest.raises(NotebookError, match=sentence) as caught:
        read(content)
    assert isinstance(caught.value, GraderError)


def test_a_merge_conflict_is_not_said_to_be_an_incomplete_file(read):
    with pytest.raises(NotebookError) as caught:
        read('{"cells": [\n<<<<<<< HEAD\n')
    assert str(caught.value) == (
        "x.ipynb is not a notebook: Git left the markers of a merge conflict in it (line 2). Resolve the"
        " conflict, check that the notebook opens in Jupyter, save it and submit it again."
    )


def test_strange_files(tmp_path):
    good = tmp_path / "good.ipynb"
    good.write_text('{"cells": []}')
    names = ("folder", "pipe", "link", "large")
    folder, pipe, link, large = (tmp_path / f"{name}.ipynb" for name in names)
    folder.mkdir()
    large.touch()
    os.truncate(large, MAX_FILE_BYTES + 1)
    os.mkfifo(pipe)
    link.symlink_to(good)
    refused = {folder: "is a folder", pipe: "is a pipe", link: "is a link", Path("/dev/zero"): "a device"}
    refused[large] = "larger than 100 MiB"
    refused[tmp_path / "none.ipynb"] = "cannot be read.*No such file"
    refused[tmp_path / "a\0b.ipynb"] = "a\ufffdb.ipynb cannot be read"
    with time_limit(10):
        for path, reason in refused.items():
            with pytest.raises(NotebookError, match=reason):
                read_notebook(path)


def test_files_that_change_between_two_looks(tmp_path, monkeypatch):
    good, pipe, link = (tmp_path / f"{name}.ipynb" for name in ("good", "pipe", "link"))
    good.write_text('{"cells": []}')
    os.mkfifo(pipe)
    link.symlink_to(good)
    status = good.lstat()
    monkeypatch.setattr(Path, "lstat", lambda _: status)
    with time_limit(10):
        with pytest.raises(NotebookError, match="is a pipe"):
            read_notebook(pipe)
        with pytest.raises(NotebookError, match="cannot be read"):
            read_notebook(link)


def test_permission_denied(tmp_path, monkeypatch):
    path = tmp_path / "x.ipynb"
    path.write_text('{"cells": []}')
    monkeypatch.setattr(os, "open", Mock(side_effect=PermissionError(13, "Permission denied")))
    with pytest.raises(NotebookError, match=r"x\.ipynb cannot be read \(Permission denied\)"):
        read_notebook(path)


def test_caps(read_cells):
    mebibyte = "#" * 1024**2
    assert len(read_cells(*[code("")] * 5_000)) == 5_000
    assert len(read_cells(*[code(mebibyte)] * 16)) == 16
    assert read_cells(code("é" * 500_000)) == ["é" * 500_000]  # six times as long in the file
    for cells, reason in (
        ([code("")] * 5_001, "more than 5000 code cells"),
        ([code("x"), code(mebibyte + "#")], "more than 1 MiB of code in code cell 2"),
        ([code("é" * (1024**2 // 2 + 1))], "more than 1 MiB"),
        ([code(mebibyte)] * 16 + [code("x")], "more than 16 MiB of code"),
    ):
        with pytest.raises(NotebookError, match=reason):
            read_cells(*cells)


def test_outputs_do_not_matter(read_cells):
    output = {"output_type": "display_data", "data": {"image/png": "A" * 5_000_000}}
    text = {"output_type": "stream", "text": ["[1, 2, {3: 4}],\n"] * 100_000}
    markdown = {"cell_type": "markdown", "source": "#" * 2_000_000}
    assert read_cells(markdown, code("x", outputs=[output, text])) == ["x"]


NAN, LARGE, SIGNS = float("nan"), "x" * (1 << 20), '[,{:"\\' * 100
X, RAW, LINES = code("x"), {"cell_type": "raw"}, ["ab\n"] * 50
CAPS = {"MAX_LOOSE_BYTES": 1 << 20, "MAX_CELLS": 3, "MAX_CODE_CELLS": 3, "MAX_ESCAPED_BYTES": 1_000}
LOOSE = "MAX_LOOSE_SOURCE_BYTES"


def shows(*outputs):
    return code("x", outputs=[*outputs])


@pytest.mark.parametrize(
    ("cap", "fits", "refused", "reason"),
    [
        ("MAX_OBJECTS", [shows(SIGNS)], [shows(*[{}] * 101)], "millions of values"),
        ("MAX_VALUES", [shows(NAN, SIGNS)], [shows(NAN, [[]] * 101)], "millions of values"),
        ("MAX_VALUES", [X], [shows(NAN, {str(i): 0 for i in range(101)})], "millions of values"),
        ("MAX_VALUES", [X], [shows(NAN, [1] * 101)], "millions of values"),
        ("MAX_LOOSE_BYTES", [shows(LARGE)], [shows(LARGE, NAN)], "not plain JSON.*Clear all its outputs"),
        ("MAX_CELLS", [RAW] * 3, [RAW] * 4, "more than"),
        ("MAX_CODE_CELLS", [X] * 3, [X] * 4, "more than"),
        ("MAX_ESCAPED_BYTES", [X], [code("x" * 1_001)], "of code in code cell 1"),
        ("MAX_LINES", [markdown(LINES)], [markdown(LINES)] * 3, "more than 100 lines"),
        ("MAX_LINES", [code(LINES)], [code(LINES)] * 3, "more than 100 lines"),
        (LOOSE, [code([[]] * 25)], [code([[]] * 25)] * 3, "damaged text"),
        (LOOSE, [{**RAW, "source": [1.5] * 10}], [{**RAW, "source": [1.5] * 10}] * 3, "damaged text"),
    ],
)
def test_what_fills_the_memory_is_refused(read_cells, monkeypatch, *, cap, fits, refused, reason):
    """Brackets in a text are no values; outputs with NaN are read by Python, which makes objects of them."""
    monkeypatch.setattr(notebook, cap, CAPS.get(cap, 100))
    read_cells(*fits)
    with pytest.raises(NotebookError, match=reason):
        read_cells(*refused)


def test_what_is_no_code_is_read_up_to_a_cap(read_cells, monkeypatch):
    """Long texts cost nothing: those beyond the cap are left out, and so are types and ids that are long."""
    monkeypatch.setattr(notebook, "MAX_SOURCE_BYTES", 100)
    text = {"cell_type": "markdown", "source": "#" * 90, "id": [[]] * 1_000}
    assert read_cells(text, text, {"cell_type": [[]] * 1_000}, code("x")) == ["x"]


@pytest.mark.parametrize("text", ['"' + '\\"' * 300_000, '"' * 300_001, '"' + "\\" * 300_001, '"a' * 300_001])
def test_counting_takes_linear_time(read, monkeypatch, text):
    monkeypatch.setattr(notebook, "MAX_OBJECTS", 10)
    with time_limit(10), pytest.raises(NotebookError):
        read("{" * 11 + text)


@pytest.mark.parametrize(
    "source",
    [
        *(
            "double: object = lambda x: x",
            "other, (*double, last) = 1, (2, 3)",
            "for double in range(3): pass",
        ),
        *("if True:\n    def double(x):\n        return x", "with open('x') as double:\n    pass"),
        *("try:\n    pass\nexcept OSError:\n    double = 1", "from operator import neg as double"),
        *("import double.trouble", "print(double := 1)", "match 1:\n    case double:\n        pass"),
        *("%matplotlib inline\nif True:\n    !ls\n    double = 1", "double = abs\nx = !ls"),
    ],
)
def test_whatever_gives_a_name_a_value_defines_it(source):
    assert defines(source, "double")


@pytest.mark.parametrize(
    "source",
    [
        *("double: object", "def helper():\n    double = 1", "class Helper:\n    double = 1", "double(3)"),
        *("[double for double in range(3)]", "print(lambda double: double)", "helper(double=3)"),
        *("x = !ls\nprint(double)", "# double = 1"),
    ],
)
def test_what_only_mentions_a_name_defines_nothing(source):
    assert not defines(source, "double")


def test_a_name_cannot_write_to_the_terminal(tmp_path):
    path = tmp_path / os.fsdecode(b"a\x1b[2J\n\xff.ipynb")
    path.write_text("")
    with pytest.raises(NotebookError, match=r"^a\ufffd.2J\ufffd\ufffd.ipynb is empty"):
        read_notebook(path)


KEYS = ["cells", "worksheets", "cell_type", "source", "input", "metadata", "otter", "assignment_name"]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just("code"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=20,
)
SOURCES = st.text(st.characters(), max_size=20)
CELLS = st.lists(
    ANYTHING
    | st.fixed_dictionaries(
        {"cell_type": st.sampled_from(["code", "markdown", 3])},
        optional={"source": SOURCES | st.lists(SOURCES | ANYTHING, max_size=3) | ANYTHING, "input": ANYTHING},
    )
)
METADATA = st.fixed_dictionaries({"otter": ANYTHING | st.dictionaries(st.just(KEYS[-1]), SOURCES)})
WORKSHEETS = st.lists(ANYTHING | st.fixed_dictionaries({"cells": CELLS}))
OPTIONAL = {"cells": CELLS | ANYTHING, "worksheets": WORKSHEETS | ANYTHING, "metadata": ANYTHING | METADATA}
NEARLY_NOTEBOOKS = st.fixed_dictionaries({}, optional=OPTIONAL)
FILES = st.binary(max_size=200) | (ANYTHING | NEARLY_NOTEBOOKS).map(lambda value: json.dumps(value).encode())


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("notebooks") / "x.ipynb"


@settings(max_examples=200, deadline=None, database=None)
@given(content=FILES)
def test_any_file_is_a_notebook_or_an_error(path, content):
    path.write_bytes(content)
    try:
        found = read_notebook(path)
    except NotebookError as error:
        assert str(error).startswith("x.ipynb ")
        return
    for number, cell in enumerate(found.cells, start=1):
        assert cell.number == number
        assert not {"\0", "\r"} & set(cell.source)
        assert json.dumps(cell.source, ensure_ascii=False).encode()
    assert (found.assignment or "").encode() is not None


def test_functions_are_searched_in_the_beginning_of_a_long_notebook(monkeypatch):
    cells = cells_of(["def f(): ...", "x = 1\n" * 100, "def g(): ..."])
    asked = {"01_a": ["f"], "02_b": ["g", "x"]}
    monkeypatch.setattr(recognition, "MAX_SEARCHED", 100)
    for found, functions, stem in (
        (cells, {"01_a": ["f"], "02_b": ["g"]}, "01_a"),
        (cells[1:], asked, "02_b"),
        (cells[1:], {"02_b": ["g"]}, None),
    ):
        recognised = recognition.recognise("untitled", Notebook("", found, None), functions)
        assert recognised.assignment == stem


def test_a_longer_notebook_than_is_searched_is_taken_to_hold_answers(monkeypatch):
    starter = "def f(): ..."
    cells = cells_of([starter] * 10)
    assert not recognition.has_answers(cells, ["f"], [starter])
    monkeypatch.setattr(recognition, "MAX_SEARCHED", 100)
    assert recognition.has_answers(cells, ["f"], [starter])
