# Tries: to find the reference's text in all of the process's own memory, page by page.
# Stopped by: process
# Without it: a grader in one process has read its solutions into this memory.
# Flags: ctypes
# Cost: slow
# %%
import ctypes
import gc
import platform

libc = ctypes.CDLL(None, use_errno=True)
rt_sigprocmask = {"x86_64": 14, "aarch64": 135}[platform.machine()]
begin, end = b"def make" + b"_weight(n, m, scale):\n", b"requires" + b"_grad_()"

def readable(address):
    libc.syscall(rt_sigprocmask, 99, ctypes.c_void_p(address), None, 8)
    return ctypes.get_errno() != 14  # EFAULT

def pieces():
    gc.unfreeze()
    for megabyte in sorted({id(held) >> 20 for held in gc.get_objects()}):
        pages = [page for page in range(megabyte << 20, megabyte + 1 << 20, 4096) if readable(page)]
        yield b"".join(ctypes.string_at(page, 4096) for page in pages)

for piece in pieces():
    text = piece.partition(begin)[2][:2000]
    body = text.partition(end)[0]
    if text and end in text and b"Tries" not in body and b"begin" not in body and b"\0" not in body:
        exec(begin + body + end)
        break
