# Tries: to take the answer from the environment that the grader was started with.
# Stopped by: clean start
# %%
import os

exec(os.environ["ANSWER"])
