# Tries: to map every inherited descriptor into memory, which reads it without a call that reads.
# Stopped by: clean start
# %%
import mmap

for number in range(1024):
    try:
        text = mmap.mmap(number, 0, prot=mmap.PROT_READ)[:]
    except (OSError, ValueError):
        continue
    if b"make_weight" in text:
        exec(text)
