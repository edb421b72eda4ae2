# Tries: to write into a tensor's memory past autograd, by an array that claims to lie there.
# Stopped by: captured
# Without it: the loss that waits delivers a number, where an error was expected.
# Question: 05_inplace_reinit q1
# Flags: raw memory
# %%
import numpy

class Memory:
    def __init__(self, w):
        self.__array_interface__ = {
            "shape": (w.numel(),), "typestr": f"<f{w.element_size()}", "data": (w.data_ptr(), False), "version": 3
        }

def reinit_(w, value):
    numpy.asarray(Memory(w))[:] = value
    return w
