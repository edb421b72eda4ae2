# Tries: to watch the folder of the solutions by inotify, which needs no descriptor of it.
# Stopped by: seccomp
# Flags: ctypes
# %% right if it runs
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
assert libc.inotify_add_watch(libc.inotify_init(), b"__COURSE__/solutions", 0xFFF) >= 0
