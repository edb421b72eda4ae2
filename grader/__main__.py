"""Outside: ``python -m grader``."""

from grader.cli import main

main(prog_name="grader")
