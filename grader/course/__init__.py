"""Reads, checks and builds authors' files: notebook sources, hidden checks, contracts, settings.

* TODO stands for unwritten parts, in valid Python (`author_file.py`). A question with a TODO is omitted
  completely, and an assignment with a TODO is not published. A TODO counts in code, strings and the text of a
  notebook source. It does not count in comments, so that an author's remark cannot withdraw an assignment.
* jupytext is imported only when a notebook source is read (`notebook_source.py`), because that takes half a
  second and the doctor often has the cells in its cache.
* Student notebooks say `otter.Notebook("NN_name.ipynb", tests_dir="tests/NN_name")`. With the name alone,
  Otter 7 looks into any `./tests` beside the notebook and stops with `FileNotFoundError` if that is another
  folder.
* A question with an afterword has a single public test. Otter shows a test's success message even if another
  test of the question fails, so a student would read why an answer is right although it is wrong.
* A bonus task earns no points. Bonus points would make all totals, here and in Canvas, depend on a
  task without hints. A result holds it beside its questions (`end_task`), and exports never see it.
* A notebook's picture is a PNG in a data address, in a cell of text (`pictures.py`). Colab shows
  neither attachments nor SVG there, and a saved output is gone once a student runs all cells.
* The line of an error in a contract is computed outside. The worker gets no path and no comment. The code
  that is sent has the same line breaks as the file, so a line in the error determines the line of the file
  (`place_in_file`).
* Settings decide verdicts, too: partial credit and points are in the fingerprint of an assignment, limits in
  that of evidence. The parts of the feedback are in `run.json`. This entry is null until all pages are
  written, so that the next run completes a run that was stopped.
"""
