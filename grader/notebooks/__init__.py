"""An .ipynb read as data; nothing of it is run.

Notebooks are read from the shape of their JSON, not by nbformat: real notebooks break its schema (missing
ids, old tools, odd sources), and its converter for format 3 raises on some of them. nbformat writes what
`build` makes, and tests compare our reading of both formats with its own.
"""
