# Tries: to take an object of the grader's from its address, by an array of NumPy's over a number.
# Stopped by: captured
# Without it: an answer that only looks at what it finds earns nothing.
# Question: 03_truncated_bptt q2
# Flags: raw memory
# %%
import asyncio.unix_events as events

import numpy as np

NAMES = "__slabolg__"[::-1]

def at(address):
    return np.ndarray((1,), dtype=object, buffer=np.array([address]))[0]

# A bytearray over the memory of an opaque callable, of which the function is one word.
handler = events.signal.getsignal(events.signal.SIGALRM)
fake = torch.tensor([1 << 30, id(bytearray), 256, 257, id(handler), id(handler), 0])
words = np.frombuffer(bytes(at(fake.data_ptr())), dtype=np.int64)
seen = [getattr(at(int(words[13])), NAMES, None)]

def repackage(state):
    __SHARE_MEMORY__
