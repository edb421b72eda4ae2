"""What an author writes, read, checked and built: masters, hidden checks, contracts, settings and new files.

* What has to be written says TODO, in valid Python (`author_file.py`): a question that says it is left out
  as a whole, and an assignment that says it anywhere is not published. The word counts in code, in strings
  and in a master's text, and not in comments: an author's remark takes no assignment from a class.
* jupytext is imported only where a master is read (`master.py`): that takes half a second, and often the
  doctor remembers the cells.
* Student notebooks say `otter.Notebook("NN_name.ipynb", tests_dir="tests/NN_name")`. With the name alone,
  Otter 7 looks into any `./tests` beside the notebook and stops with `FileNotFoundError` if that is another
  folder.
* A question with an afterword has a single public test. Otter shows a test's success message even if another
  test of the question fails; a student would read why an answer is right that is not.
* A bonus task earns no points. Bonus points would make all totals, here and in Canvas, depend on a
  task without hints. A result holds it beside its questions (`end_task`), and exports never see it.
* A notebook's picture is a PNG in a data address, in a cell of text (`pictures.py`). Colab shows
  neither attachments nor SVG there, and a saved output is gone once a student runs all cells.
* The line of an error in a contract is computed outside. The worker gets no path and no comment. What is sent
  keeps the lines of its definitions, so the line that comes back tells that of the file (`place_in_file`).
* Settings are part of what decides a verdict: partial credit and points are in an assignment's fingerprint,
  limits in that of evidence. What feedback shows is in `run.json`; it is null until all pages are written
  anew, so that the next run mends a killed or partial run.
"""
