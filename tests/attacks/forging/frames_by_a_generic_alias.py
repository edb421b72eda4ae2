# Tries: to find the loss that waits by an object of typing's that calls whatever it was made of, because typing counts as innocent.
# Stopped by: captured
# Without it: the loss is reached, but `w._version` shows that the write was hidden.
# Question: 05_inplace_reinit q1
# Flags: frames
# %%
import sys
import typing

__HOOK_WHAT_WAITS__
alias = typing._GenericAlias(sys._getframe, int)

def reinit_(w, value):
    w.data.fill_(value)
    hook_what_waits(alias())
    return w
