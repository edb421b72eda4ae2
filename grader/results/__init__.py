"""What a run leaves: results, the folder that holds them, the gradebook, changes and statistics.

* A result has one form (`model.py`), from judging to JSON and back. msgspec reads the JSON strictly, by the
  types of the model, three times as fast as our own code did; it only reads, because it writes NaN as null.
* A second run knows an unchanged class by its results: what a notebook was recognised as stands there,
  beside the hash of its file. There is no index that could be wrong.
* Changes are found by comparing gradebooks, because the gradebook is written only when a run ends. The
  history is written before it, so a run that is killed in between finds its changes again, and does not
  write them twice.
* Pages and tables are made of results and of summaries of them (`statistics.py`), never of
  evidence; only pictures are.
* Equal answers are found by digests (`similar.py`), which stay in the results folder by the hash of their
  notebook: for 500 notebooks with 3,350 answers they take 2 s of processor time once, and 20 ms afterwards.
* Evidence is JSON whose first line says on what it depends (`store.py`), so that the rest need not
  be read.
"""
