# Tries: to compute in a process of the standard library's own making.
# Stopped by: seccomp
# %% right if it runs
import multiprocessing

process = multiprocessing.get_context("fork").Process(target=int)
process.start()
process.join()
