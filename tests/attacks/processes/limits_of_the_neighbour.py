# Tries: to set a limit of another process.
# Stopped by: seccomp
# Without it: the other process is another user's; with both away it gets through.
# %% right if it runs
import resource

limits = resource.prlimit(__NEIGHBOUR__, resource.RLIMIT_CORE)
resource.prlimit(__NEIGHBOUR__, resource.RLIMIT_CORE, limits)
