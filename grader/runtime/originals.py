"""Functions and classes of torch, NumPy and Python as they were before any student's code ran.

A notebook can replace ``torch.cat``, but not the name ``cat`` of a module that imported it from here. All our
code that runs beside student code imports these. Attributes of torch's and Python's classes are read by their
descriptors, which no student's class can override. Prefer a function of ``torch_objects.py`` or ``errors.py``
to a name that begins with ``raw``: ``is_leaf`` also answers where torch raises an error.
"""

from __future__ import annotations

import _imp
import _signal  # type: ignore[import-not-found]
import _thread
import ast
import binascii
import builtins
import functools
import gc
import hashlib
import os
import random
import signal
import struct
import sys
import time
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

_builtins = dict(vars(builtins))


def builtins_copy() -> Any:
    """Python's built-in functions, for a module that patches of the module ``builtins`` must not reach.

    The functions that are defined below ``__builtins__ = builtins_copy()`` find them there.
    """
    return _builtins.copy()


# Python.

#: A number of its own for each object that lives, its address, as ``id`` gives it. But ``id`` raises an audit
#: event, at each of which our own listener is called (``audit.py``).
identity: Callable[[object], int] = object.__hash__
vars_of, names_of = vars, dir  # which `reported.py` replaces
weak_reference = weakref.ref
lru_cache_wrapper: Any = functools._lru_cache_wrapper
CacheInfo = functools._CacheInfo

# Attributes of classes, functions and errors.
raw_class_name, module_of_class, mro_of, class_dict_of = (
    type.__dict__[name].__get__ for name in ("__name__", "__module__", "__mro__", "__dict__")
)
set_class = object.__dict__["__class__"].__set__
code_of, function_dict_of = (types.FunctionType.__dict__[name].__get__ for name in ("__code__", "__dict__"))
error_args_of, traceback_of = (BaseException.__dict__[name].__get__ for name in ("args", "__traceback__"))
syntax_error_file, syntax_error_line = (SyntaxError.__dict__[name].__get__ for name in ("filename", "lineno"))

# The process: garbage, threads, signals, tracing, imports.
collect_garbage, freeze_garbage, referents_of = gc.collect, gc.freeze, gc.get_referents
is_collecting, enable_collecting = gc.isenabled, gc.enable
set_collector_debug, DEBUG_SAVEALL = gc.set_debug, gc.DEBUG_SAVEALL
count_allocated_blocks, count_threads = sys.getallocatedblocks, _thread._count
set_signal_handler = _signal.signal
if sys.platform != "win32" and hasattr(signal, "setitimer"):
    SIGALRM, SIGPROF = signal.SIGALRM, signal.SIGPROF
    set_timer, get_timer = signal.setitimer, signal.getitimer
    ITIMER_REAL, ITIMER_PROF = signal.ITIMER_REAL, signal.ITIMER_PROF
else:  # a student's own Windows, where no alarm ends a cell
    SIGALRM = SIGPROF = signal.SIGTERM
    ITIMER_REAL, ITIMER_PROF = 0, 2

    def set_timer(which: int, seconds: float, interval: float = 0.0, /) -> tuple[float, float]:  # noqa: ARG001
        """Do nothing."""
        return 0.0, 0.0

    def get_timer(which: int, /) -> tuple[float, float]:  # noqa: ARG001
        """No time is left."""
        return 0.0, 0.0


get_trace, set_trace = sys.gettrace, sys.settrace
get_profile, set_profile = sys.getprofile, sys.setprofile
create_builtin_module = _imp.create_builtin
sleep = time.sleep

# Bytes, syntax trees, warnings.
read_descriptor, write_descriptor, exit_process = os.read, os.write, os._exit
pack, unpack = struct.pack, struct.unpack
bytes_from_base64, bytes_to_base64 = binascii.a2b_base64, binascii.b2a_base64
sha256 = hashlib.sha256
walk_syntax: Any = ast.walk
iter_child_nodes = ast.iter_child_nodes
catch_warnings, simplefilter = warnings.catch_warnings, warnings.simplefilter

# Random generators. torch's own is seeded in 1 us, where ``torch.manual_seed`` takes 90.
seed_torch, get_torch_random_state = torch.default_generator.manual_seed, torch.default_generator.get_state
seed_python, seed_numpy = random.seed, np.random.seed

# NumPy.
numpy_float64, numpy_bool, bytes_of_array = np.float64, np.bool_, np.ndarray.tobytes

# Classes and constants of torch.
Tensor, TensorBase, Parameter = torch.Tensor, torch._C.TensorBase, torch.nn.Parameter
Module, Optimizer = torch.nn.Module, torch.optim.Optimizer
Size, strided = torch.Size, torch.strided
float32, float64 = torch.float32, torch.float64

# Functions of torch.
empty, empty_strided = torch.empty, torch.empty_strided
ones, ones_like, zeros = torch.ones, torch.ones_like, torch.zeros
rand, randn, randn_like = torch.rand, torch.randn, torch.randn_like
cat, equal, view_as_real = torch.cat, torch.equal, torch.view_as_real

# Methods of tensors.
detach, multiply, permute, reshape = TensorBase.detach, TensorBase.mul, TensorBase.permute, TensorBase.reshape
to_dtype, to_numpy = TensorBase.to, TensorBase.numpy
resolve_conj, resolve_neg = TensorBase.resolve_conj, TensorBase.resolve_neg
numel, dimensions_of, strides_of = TensorBase.numel, TensorBase.dim, TensorBase.stride
is_complex, is_inference = TensorBase.is_complex, TensorBase.is_inference
raw_storage, data_pointer = TensorBase.untyped_storage, TensorBase.data_ptr
element_size = TensorBase.element_size

# Attributes of tensors, modules and optimizers, and storages.
raw_is_leaf, requires_grad, retains_grad, raw_grad, raw_grad_fn, output_number = (
    TensorBase.__dict__[name].__get__
    for name in ("is_leaf", "requires_grad", "retains_grad", "grad", "grad_fn", "output_nr")
)
shape_of, dtype_of, layout_of, version_of, backward_hooks_of, post_accumulate_grad_hooks_of = (
    TensorBase.__dict__[name].__get__
    for name in ("shape", "dtype", "layout", "_version", "_backward_hooks", "_post_accumulate_grad_hooks")
)
set_grad = TensorBase.__dict__["grad"].__set__
tensor_dict_of, module_dict_of, optimizer_dict_of = (
    kind.__dict__["__dict__"].__get__ for kind in (Tensor, Module, Optimizer)
)
storage_address, storage_size = torch.UntypedStorage.data_ptr, torch.UntypedStorage.nbytes
storage_number = torch._C.StorageBase.__dict__["_cdata"].__get__

# The autograd graph. A Python node is that of a ``torch.autograd.Function``.
PythonNode: Any = torch._C._FunctionBase
AccumulateGrad: Any = torch._C._functions.AccumulateGrad  # type: ignore[attr-defined]
variable_of = AccumulateGrad.__dict__["variable"].__get__
next_of_python_node, raw_saved_by_python_node, saved_by_python_node = (
    PythonNode.__dict__[name].__get__ for name in ("next_functions", "_raw_saved_tensors", "saved_tensors")
)
unpack_hook_of, saved_data_of = (
    torch._C._autograd.SavedTensor.__dict__[name].fget for name in ("unpack_hook", "data")
)
run_backward = torch.autograd.Variable._execution_engine.run_backward
next_sequence_number = torch._C._autograd._get_sequence_nr

# The wrappers of ``torch.func``.
_functorch: Any = torch._C._functorch
peek_interpreter, without_transforms = _functorch.peek_interpreter_stack, torch._C._DisableFuncTorch
is_wrapped, is_batched = _functorch.is_functorch_wrapped_tensor, _functorch.is_batchedtensor
unwrapped, batch_dimension = _functorch.get_unwrapped, _functorch.maybe_get_bdim
without_subclasses: Any = torch._C.DisableTorchFunctionSubclass

# Modes of torch.
is_grad_enabled, set_grad_enabled = torch.is_grad_enabled, torch._C._set_grad_enabled
get_default_dtype, set_default_dtype = torch.get_default_dtype, torch.set_default_dtype
set_default_device = torch.set_default_device
is_warn_always_enabled, set_warn_always = torch._C._get_warnAlways, torch._C._set_warnAlways
is_anomaly_enabled = torch.is_anomaly_enabled
is_inference_mode_enabled, InferenceMode = torch.is_inference_mode_enabled, torch._C._InferenceMode
is_autocast_enabled, set_autocast_enabled = torch.is_autocast_enabled, torch.set_autocast_enabled
get_autocast_dtype, set_autocast_dtype = torch.get_autocast_dtype, torch.set_autocast_dtype
is_autocast_cached, set_autocast_cached = torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled
enter_autocast, leave_autocast = torch.autocast_increment_nesting, torch.autocast_decrement_nesting
clear_autocast_cache = torch.clear_autocast_cache

# Modes and hooks that torch calls while it computes.
count_function_modes, function_mode_at = torch._C._len_torch_function_stack, torch._C._get_function_stack_at
pop_function_mode = torch._C._pop_torch_function_stack
count_dispatch_modes = torch._C._len_torch_dispatch_stack
pop_dispatch_mode = torch._C._pop_torch_dispatch_stack
top_saved_tensors_hooks = torch._C._autograd._top_saved_tensors_default_hooks
pop_saved_tensors_hooks = torch._C._autograd._pop_saved_tensors_default_hooks
_frame_evaluation: Any = torch._C._dynamo.eval_frame
get_frame_evaluation = _frame_evaluation.get_eval_frame_callback
set_frame_evaluation = _frame_evaluation.set_eval_frame
