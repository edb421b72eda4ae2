# Tries: to have the message read backwards, by a character that turns what stands after it.
# Stopped by: pages
# Without it: a diagnosis is made fit for a terminal before it comes to a page.
# Shows: \u202e
# %%
def make_weight(shape, scale=0.1, seed=0):
    raise ValueError("\u202estniop lla denrae")
