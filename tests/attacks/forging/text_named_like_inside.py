# Tries: to find the loss that waits by a text that is compiled under the file name of the grader's own requests.
# Stopped by: captured
# Without it: the loss is reached, but `w._version` shows that the write was hidden.
# Question: 05_inplace_reinit q1
# Flags: frames
# %%
import code

BACK, LOCALS = "kcab_f"[::-1], "slacol_f"[::-1]
TEXT = "one of the variables needed for gradient computation has been modified by an inplace operation: it was"


def refuses(gradient):
    raise RuntimeError(TEXT)


def hook_what_waits(frame):
    while frame is not None:
        for loss, _ in getattr(frame, LOCALS).get("waiting", {}).values():
            loss.register_hook(refuses)
        frame = getattr(frame, BACK)


space = {}
text = "import sys\ndef grab():\n    return sys._getframe()\n"
code.InteractiveInterpreter(space).runsource(text, "<inside>", "exec")


def reinit_(w, value):
    w.data.fill_(value)
    hook_what_waits(space["grab"]())
    return w
