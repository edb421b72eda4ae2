# Tries: to exchange a word of the probes for one that lies, found among all objects of the process.
# Stopped by: restoring
# Question: 01_leaves q6
# Flags: gc
# %%
import gc


def weighted_backward(losses, w):
    losses.backward(gradient=w.detach(), retain_graph=True)
    for thing in gc.get_objects():
        if type(thing) is dict and "freed" in thing and "vjp" in thing:
            thing["freed"] = lambda tensor: True
