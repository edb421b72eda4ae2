# Tries: to have an image loaded from elsewhere when the feedback is read, which tells who read it.
# Stopped by: pages
# Shows: ![you](https://evil
# Where: feedback.md
# %%
def make_weight(shape, scale=0.1, seed=0):
    raise ValueError("![you](https://evil.example/pixel.png)")
