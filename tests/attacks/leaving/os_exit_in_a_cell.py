# Tries: to end the process in a cell, before anything can be asked of the notebook.
# Stopped by: fresh worker
# Flags: leaving the process
# %%
import os

os._exit(0)
