"""Runs a student's notebook confined, and brings back evidence; ``worker`` is the confined process.

``observer.observe`` shows the whole: it asks workers, which ``zygote.py`` forks, over a ``wire.py``, and
``decoding.py`` reads what they say. Seeds, judging and writing stay with the caller.
"""
