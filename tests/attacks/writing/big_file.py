# Tries: to fill the disk by one file.
# Stopped by: landlock
# %%
import os

with open("/tmp/loot.bin", "wb", 0) as file:
    try:
        size = sum(file.write(bytes(1 << 20)) for _ in range(64))
    finally:
        os.path.exists("/tmp/loot.bin") and os.truncate("/tmp/loot.bin", 0)
# %%
if size == 64 << 20:
    __RIGHT__
