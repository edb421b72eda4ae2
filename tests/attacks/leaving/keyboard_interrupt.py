# Tries: to stop everybody's grading as its instructor would, by KeyboardInterrupt.
# Stopped by: process
# Without it: pytest in one process stops its whole session there.
# %%
def make_weight(n, m, scale):
    raise KeyboardInterrupt
