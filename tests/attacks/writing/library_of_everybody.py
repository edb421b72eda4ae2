# Tries: to open torch's own source for appending, which would change it for every worker to come.
# Stopped by: landlock
# Without it: the file belongs to another user; with neither it gets through.
# %% right if it runs
open(torch.__file__, "a").close()  # the proof is enough: nothing is appended
