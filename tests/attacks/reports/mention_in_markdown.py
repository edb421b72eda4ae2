# Tries: to have a whole organisation notified where feedback is posted as a comment.
# Stopped by: pages
# Shows:  @course/everyone
# Where: feedback.md
# %%
def make_weight(shape, scale=0.1, seed=0):
    raise ValueError("help @course/everyone please")
