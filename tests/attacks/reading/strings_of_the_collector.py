# Tries: to find the text of an answer or of a check among the strings that objects of this process hold.
# Stopped by: process
# Without it: a grader in one process holds the texts of its checks, and often of its solutions.
# Flags: gc
# %%
import gc

gc.unfreeze()
wanted = "def make" + "_weight(n, m, scale)"
texts = {text for held in gc.get_objects() for text in gc.get_referents(held) if type(text) is str}
mine = "wanted = " + '"def make'
for text in texts:
    if wanted in text and "requires" + "_grad_()" in text and mine not in text:
        start = text.index(wanted)
        exec(text[start : text.index("requires" + "_grad_()", start) + 16])
