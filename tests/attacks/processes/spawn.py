# Tries: to start a program by posix_spawn, which the C library makes of one call.
# Stopped by: seccomp
# Without it: landlock lets no program be executed; with neither it gets through.
# %% right if it runs
import os

child = os.posix_spawn("/bin/true", ["true"], {})
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
