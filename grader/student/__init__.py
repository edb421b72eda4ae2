"""A student's own machine: what commands and a kernel show, public checks, hints and a way back.

The notebook and the machine are the student's own, so there is no sandbox. Nothing here knows a
hidden check, a reference or an answer.

* **Cells mean the same as in grading.** `runner_cells.py` uses the worker's own cells, stand-ins and
  comparison with starter code (`runtime/`). It needs neither Otter nor Jupyter.
* **Events go into a file** that is opened before the notebook runs, never through the notebook's output. The
  process's standard input is its lifeline: it ends with the command that started it, however that ends.
* **Windows has no alarm.** There a cell that hangs is ended with its process and left out, and the others
  run again. Python's watchdog names the line everywhere.
* **Files say what is checked**: the nearest `.handout/` (or `assignments/`), else the notebooks that a
  released package carries, else the notebook's own tests.
* **A public test runs in one way**, `public_tests.py`, in a kernel and in the process of ``runner.py``. So
  both report an error with the same message.
"""
