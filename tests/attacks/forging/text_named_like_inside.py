# Tries: to find the loss that waits by a text that is compiled under the file name of the grader's own requests.
# Stopped by: captured
# Without it: the loss is reached, but `w._version` shows that the write was hidden.
# Question: 05_inplace_reinit q1
# Flags: frames
# %%
import code

__HOOK_WHAT_WAITS__
space = {}
text = "import sys\ndef grab():\n    return sys._getframe()\n"
code.InteractiveInterpreter(space).runsource(text, "<inside>", "exec")

def reinit_(w, value):
    w.data.fill_(value)
    hook_what_waits(space["grab"]())
    return w
