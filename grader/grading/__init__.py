"""From submissions to results.

``run.grade`` shows all steps. `run_plan.py` decides what a run has to do, `class_observer.py` asks workers,
`submission_grader.py` judges a submission (by `judge.py` and `scoring.py`) and writes its files, and
`class_output.py` writes the gradebook, the report and ``run.json``.

* Only a notebook that has to be observed starts workers, and their start attacks the sandbox. An observation
  keeps the name of its sandbox, so a later run assumes nothing about it; one that was made without a sandbox
  is current only for a run with ``--no-sandbox``, and the other way round.

* A run that has ended is over. Feedback may tell a student the inputs of a case, so the next run draws a
  new seed for the notebooks it observes; evidence of earlier seeds stays, and is judged by the reference of
  its own seed.
* A course among the submissions is refused. Its checks would be imported, unconfined.
* pytest collects a check file once; then its checks are called, as functions, over one notebook after the
  other. A session for each batch of notebooks cost as much as the checks themselves.
* Cells are searched for flags here, where none of their code has run, with a short table of names
  (`flags.py`); the worker reports run-time events. A syntax tree takes a thousand times the memory of its
  source, so 128 KiB of a notebook and 32 KiB of a cell are parsed; longer code is searched as text, and so is
  code that is not Python.
* Stopping is dying. Every file is complete or not there, and workers end with the zygote. So the handler of
  a signal says a sentence and leaves by ``os._exit``.
* Points are scaled to hundredths, by largest remainder: a question's checks add up to it exactly.
* ``explain`` judges a stored result again (`regrade.py`) by the reference that its evidence names.
"""
