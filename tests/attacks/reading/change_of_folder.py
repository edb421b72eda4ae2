# Tries: to go to the folder of the answer first, and to read the file by its bare name.
# Stopped by: seccomp
# Without it: landlock refuses the file by whatever name; with neither it gets through.
# %%
import os

os.chdir("__OUTSIDE__")
# %%
exec(open("answer.py").read())
