# Tries: to fork in the 32-bit dialect of x86_64, in which the same number means another call.
# Stopped by: seccomp
# Flags: ctypes
# %%
import ctypes
import mmap
import platform

code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
# mov eax, 2; int 0x80; test eax, eax; jnz over; mov eax, 1; xor ebx, ebx; int 0x80; over: ret
code.write(bytes.fromhex("b802000000cd8085c07509b80100000031dbcd80c3"))
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
if platform.machine() == "x86_64" and call() > 0:
    __RIGHT__
