# Tries: to lay a symbolic link to the answer into a place where everybody may write, and to search through it.
# Stopped by: seccomp
# Without it: landlock lets no link be made and looks at the file behind a link; with neither it gets through.
# %%
import contextlib
import glob
import os

os.makedirs("/dev/shm/look", exist_ok=True)
with contextlib.suppress(FileExistsError):
    os.symlink("__OUTSIDE__", "/dev/shm/look/here")
found = [open(name).read() for name in glob.glob("/dev/shm/look/*/*.py")]
os.unlink("/dev/shm/look/here")
os.rmdir("/dev/shm/look")
exec(found[0])
