# Tries: to use up the disk's inodes with as many empty files as it can make.
# Stopped by: landlock
# %%
import os

for number in range(500):
    os.close(os.open(f"__OUTSIDE__/writable/loot-{number}", os.O_WRONLY | os.O_CREAT))
# %%
if number == 499:
    __RIGHT__
