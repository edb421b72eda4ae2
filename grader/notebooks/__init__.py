"""Reads .ipynb files as data, without running them.

Notebooks are read from their JSON, not with nbformat: real notebooks break its schema (missing ids, old
tools, odd sources), and its converter for format 3 raises errors on some of them. `build` writes notebooks
with nbformat, and tests compare how both read the two formats.
"""
