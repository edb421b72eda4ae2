"""Runs a student's notebook in a sandbox and returns evidence; ``worker`` is the confined process.

``observer.observe`` is the entry point. It sends requests to workers, which ``zygote.py`` forks, over
``wire.py``, and ``decoding.py`` decodes their answers. The caller chooses seeds, judges and writes.
"""
