# Tries: to read the worker's memory from an interpreter of its own, in which no audit hook of ours listens.
# Stopped by: captured
# Without it: its objects are no others', and making it is an audit event itself.
# Question: 03_truncated_bptt q2
# Flags: another interpreter
# %%
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters

def repackage(state):
    interpreters.run_string(interpreters.create(), "import ctypes")
    __SHARE_MEMORY__
