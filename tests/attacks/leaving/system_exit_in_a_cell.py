# Tries: to end the run by SystemExit in a cell, before its function is defined.
# Stopped by: process
# Without it: a grader in one process ends there, with the exit status of success.
# %%
raise SystemExit(0)

def make_weight(n, m, scale):
    return torch.zeros(n, m)
