"""The output of a run: results, their folder, the gradebook, changes and statistics.

* A result has one form (`model.py`), from judging to JSON and back. msgspec reads the JSON strictly, by the
  types of the model, three times as fast as our own code did; it only reads, because it writes NaN as null.
* A run reads only the results and the first lines of stored evidence (`store.py`) of earlier runs. Tables and
  pages are written and never read. ``run.json`` has one type, `Run`.
* A change is logged before its result is replaced, so a run that is killed in between logs it again.
* Equal answers are found by digests (`similar.py`), which are part of the results.
"""
