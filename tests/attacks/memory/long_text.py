# Tries: to return a text of two hundred million characters.
# Stopped by: process
# Without it: a grader in one process writes the text into its report.
# %%
def make_weight(n, m, scale):
    return "x" * 200_000_000
