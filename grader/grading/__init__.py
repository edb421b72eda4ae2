"""Turns submissions into results.

``run.grade`` has all steps. `run_plan.py` plans the work of a run, `class_observer.py` sends requests to
workers, `submission_grader.py` judges a submission (with `judge.py` and `scoring.py`) and writes its files,
and `class_output.py` writes the gradebook, the report and ``run.json``.

* Workers start only if a notebook must be observed, and their start tests the sandbox. An observation is
  stored with the name of its sandbox. One that was made without a sandbox is current only for a run with
  ``--no-sandbox``, and vice versa.
* Each run draws a new seed for the notebooks that it observes, because feedback may reveal the inputs of a
  case. Evidence of earlier seeds is kept, and judged by the reference with the same seed.
* A course among the submissions is refused, because its checks would be imported without a sandbox.
* pytest collects a check file once; then its checks are called as functions, for one notebook after the
  other. A session for each batch of notebooks took as long as the checks themselves.
* Cells are searched for flags here, where none of their code has run, with a short table of names
  (`flags.py`); the worker reports run-time events. A syntax tree takes a thousand times the memory of its
  source, so 128 KiB of a notebook and 32 KiB of a cell are parsed; longer code is searched as text, and so is
  code that is not Python.
* A signal ends the run at once with ``os._exit``, after a sentence. Every file is either complete or missing,
  and workers end with the zygote.
* Points are scaled to hundredths, by largest remainder: a question's checks add up to it exactly.
* ``explain`` judges a stored result again (`regrade.py`) by the reference that its evidence names.
"""
