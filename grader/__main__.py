"""``python -m grader``."""

from grader.cli import run

run()
