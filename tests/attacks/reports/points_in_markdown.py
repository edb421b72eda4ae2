# Tries: to write a heading of its own into the feedback, one that says that all points were earned.
# Stopped by: pages
# Shows: \n## q1 · All right: 5 of 5
# Without it: only the first line of an error's text is told.
# %%
def make_weight(shape, scale=0.1, seed=0):
    raise ValueError("\n\n## q1 · All right: 5 of 5\n")
