"""Switches off one layer in the zygote, for the matrix of attacks only.

Imported by the zygote in the place of nothing else: the production code knows no switches. Every switch
is thrown after torch has warmed up, at the moment at which the zygote imports the rest itself.
"""

import importlib.machinery
import json
import operator
import random
import resource
import types

_MOST_MEMORY = 3 << 30  # without limits there is still this one, or the machine would have to serve for proof


def switch_off(layer):
    """Let the zygote run without a layer; a preflight would only report what is known."""
    from grader.sandbox.worker import zygote

    really_warm_up = zygote._warm_up

    def warm_up_and_patch(torch):
        from grader.sandbox.worker import preflight

        really_warm_up(torch)
        _exchange(preflight, preflight=lambda *_, **__: preflight.Findings({}, {}))
        SWITCHES[layer]()

    _exchange(zygote, _warm_up=warm_up_and_patch)


def _exchange(place, **replaced):
    """Put something in the place of what is there; the name of nothing would switch off nothing."""
    for name, value in replaced.items():
        getattr(place, name)
        setattr(place, name, value)


def _clean_start():
    from grader.sandbox.worker import confinement

    _exchange(confinement, _close_all_but=lambda _: None)


def _limits():
    """Far beyond what a worker may have, and yet not beyond what a machine can give."""
    from grader.sandbox.worker import confinement, zygote

    limits, hard = confinement._limits, resource.getrlimit
    memory = zygote._virtual_memory() + _MOST_MEMORY
    lifted = {
        resource.RLIMIT_AS: (memory, memory),
        resource.RLIMIT_NOFILE: (hard(resource.RLIMIT_NOFILE)[1],) * 2,
        resource.RLIMIT_NPROC: (4096, 4096),
        resource.RLIMIT_FSIZE: (_MOST_MEMORY, _MOST_MEMORY),
    }

    def far_beyond(*given):
        return tuple((which, lifted.get(which, pair)) for which, pair in limits(*given))

    _exchange(confinement, _limits=far_beyond)


def _user():
    from grader.sandbox.worker import access

    _exchange(access.Privileges, shed=lambda *_: None)


def _landlock():
    import os

    from grader.sandbox.worker import access

    _exchange(access.Ruleset, enforce=lambda ruleset: os.close(ruleset.descriptor))


def _seccomp():
    from grader.sandbox.worker import seccomp

    _exchange(seccomp.Filter, install=lambda *_: None)


def _wire():
    from grader.runtime import encoding, errors, torch_objects

    for module in (errors, encoding, torch_objects):
        for cap in [name for name in vars(module) if name.startswith("MAX_")]:
            setattr(module, cap, 1 << 62)


def _restoring():
    from grader.runtime import torch_state

    _exchange(torch_state, restore_modes=lambda: None, interceptions=lambda _: ([], []))
    _exchange(torch_state, intercepting_modes=list, exchanged_kernels=list)
    _exchange(torch_state, restore_attributes=list)


def _captured():
    """Observations are read as anybody would read them: by name, through whatever claims to be a tensor."""
    _share_builtins()
    import torch

    from grader.runtime import (
        contract,
        encoding,
        errors,
        gradients,
        graph,
        kinds,
        names,
        student_namespace,
        torch_objects,
        torch_state,
        vocabulary,
        watching,
    )
    from grader.sandbox.worker import service

    def kind(value):
        return next((k for k in known if isinstance(value, k)), type(value))

    known = (torch.nn.Parameter, torch.Tensor, encoding.Snap, encoding.Raised)
    known += (bool, int, float, str, list, tuple, dict)
    asking = {
        "is_tensor": lambda value: isinstance(value, torch.Tensor),
        "named": _named,
        "opaque": lambda function: function,
        "error_text": str,
        "explains": lambda *_: True,  # whoever raises an error in torch's words
        "make_plain": lambda _: [],
        "seed_python": lambda seed: random.seed(seed),  # noqa: PLW0108 - which is looked up then
    }
    modules = (contract, errors, encoding, gradients, graph, kinds, vocabulary, watching)
    for module in (*modules, student_namespace, torch_objects, torch_state, names):
        for name, captured in list(vars(module).items()):
            if name in asking or isinstance(captured, _OF_C):
                setattr(module, name, asking.get(name) or _by_name(captured))
    torch_objects.type = encoding.type = kind
    _exchange(contract, _SECONDS=30.0)  # our own code takes longer, and not only the student's
    _exchange(service, _chunks=lambda message, _: json.dumps(message, separators=(",", ":")))
    _exchange(service, _scan=lambda text, _: (json.loads(text), None))


_OF_C = types.MethodDescriptorType | types.MethodWrapperType | types.BuiltinFunctionType


def _share_builtins():
    """What is imported from here on calls those functions of Python that a notebook can exchange."""
    copied = b"__builtins__ = builtins_copy()"

    def get_code(loader, name):
        source = loader.get_data(loader.path)
        return compile(source.replace(copied, b""), loader.path, "exec", dont_inherit=True)

    importlib.machinery.SourceFileLoader.get_code = get_code


def _by_name(captured):
    """What asks for a function of torch by its name, or an object for a method or an attribute."""
    if isinstance(captured, types.BuiltinFunctionType):
        return _looked_up(captured)
    if isinstance(captured, types.MethodDescriptorType):
        return lambda value, *given, **named: getattr(value, captured.__name__)(*given, **named)
    if captured.__name__ == "__get__":
        return operator.attrgetter(captured.__self__.__name__)
    return captured


def _looked_up(function):
    """A function of one of torch's modules, whatever stands there under its name by then."""
    import torch

    name = function.__name__
    for place in (torch, torch._C):
        if vars(place).get(name) is function:
            return lambda *given, **named: getattr(place, name)(*given, **named)  # noqa: PLW0108 - as it is then
    return function


def _named(module, part):
    """As anybody would find out: by asking."""
    return dict(getattr(module, f"named{part}")(remove_duplicate=False))


SWITCHES = {
    "clean start": _clean_start,
    "limits": _limits,
    "user": _user,
    "landlock": _landlock,
    "seccomp": _seccomp,
    "wire": _wire,
    "restoring": _restoring,
    "captured": _captured,
}
