# Tries: to pass for another student, by a character that turns the rest of the name round.
# Stopped by: names
# Student: \u202enaed eht
# Shows: \u202e
# %%
import torch


def make_weight(shape, scale=0.1, seed=0):
    return None
