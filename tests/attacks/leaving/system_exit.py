# Tries: to end the run by SystemExit, which `except Exception` lets through.
# Stopped by: process
# Without it: a grader in one process ends there, with the exit status of success.
# %%
import sys

def make_weight(n, m, scale):
    sys.exit(0)
