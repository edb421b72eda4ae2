# Tries: to have a spreadsheet compute what the name of a student says.
# Stopped by: spreadsheet
# Student: =2+3
# Shows: \n=2+3,
# Where: gradebook.csv
# %%
import torch


def make_weight(shape, scale=0.1, seed=0):
    return None
