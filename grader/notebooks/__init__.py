"""An .ipynb read as data; nothing of it is run.

Notebooks are read from the shape of their JSON, not through nbformat's validation: real notebooks break the
schema (missing ids, old tools, odd sources), and nbformat's converter for format 3 raises on some of them.
nbformat writes what `build` makes, and tests compare our reading of both formats with its own.
"""
