"""Outside: one module for each command of ``python -m grader``; each imports what it needs when it runs."""
