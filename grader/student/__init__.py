"""The code for a student's own machine: output of commands and kernels, public checks, hints and `reset`.

The notebook and the machine are the student's own, so there is no sandbox. This package contains no hidden
check, reference or answer.

* **Cells mean the same as in grading.** `runner_cells.py` uses the worker's own cells, stand-ins and
  comparison with starter code (`runtime/`). It needs neither Otter nor Jupyter.
* **Events go into a file** that is opened before the notebook runs, never through the notebook's output. The
  process ends when its standard input closes, and so with the command that started it.
* **Windows has no alarm.** There a cell that hangs is ended with its process and left out, and the others run
  again. Python's watchdog reports the line on all systems.
* **The checks come from files**: the nearest `.handout/` (or `assignments/`), otherwise the notebooks in a
  released package, otherwise the notebook's own tests.
* **A public test runs in one way**, `public_tests.py`, in a kernel and in the process of ``runner.py``. So
  both report an error with the same message.
"""
