# Tries: to raise its limit on processor time as far as anybody may.
# Stopped by: seccomp
# %% right if it runs
import resource

hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
