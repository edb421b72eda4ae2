# Tries: to spend for ever on one match of a regular expression.
# Stopped by: deadlines
# %%
import re

re.fullmatch("(a|a)*b", "a" * 100)
