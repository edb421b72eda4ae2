"""Switches off one layer in the zygote, for the matrix of attacks only.

Imported by the zygote in the place of nothing else: the production code knows no switches. Every switch
is thrown after torch has warmed up, at the moment at which the zygote imports the rest itself.
"""

import json
import operator
import random
import resource
import types

_MOST_MEMORY = 3 << 30  # without limits there is still this one, or the machine would have to serve for proof


def switch_off(layer):
    """Let the zygote run without a layer; a preflight would only report what is known."""
    from worker import zygote

    really_warm_up = zygote._warm_up

    def warm_up_and_patch(torch):
        from worker import preflight

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
    from worker import confinement

    _exchange(confinement, _close_all_but=lambda _: None)


def _limits():
    """Far beyond what a worker may have, and yet not beyond what a machine can give."""
    from worker import confinement, zygote

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
    from worker import access

    _exchange(access.Privileges, shed=lambda *_: None)


def _landlock():
    import os

    from worker import access

    _exchange(access.Ruleset, enforce=lambda ruleset: os.close(ruleset.descriptor))


def _seccomp():
    from worker import seccomp

    _exchange(seccomp.Filter, install=lambda *_: None)


def _wire():
    from worker import errors, facts, torch_objects

    for module in (errors, facts, torch_objects):
        for cap in [name for name in vars(module) if name.startswith("MAX_")]:
            setattr(module, cap, 1 << 62)


def _restoring():
    from worker import torch_state

    _exchange(torch_state, restore_modes=lambda: None, interceptions=lambda _: ([], []))
    _exchange(torch_state, intercepting_modes=list, exchanged_kernels=list)
    _exchange(torch_state, restore_attributes=list)


def _captured():
    """Facts are read as anybody would read them: by name, through whatever claims to be a tensor."""
    import torch
    from worker import errors, facts, gradients, graph, probe_api, service, spy, torch_objects, untouched

    def kind(value):
        return next((k for k in known if isinstance(value, k)), type(value))

    known = (torch.nn.Parameter, torch.Tensor, facts.Snap, facts.Raised)
    known += (bool, int, float, str, list, tuple, dict)
    asking = {
        "is_tensor": lambda value: isinstance(value, torch.Tensor),
        "named": _named,
        "opaque": lambda function: function,
        "error_text": str,
        "_seed_python": random.seed,
    }
    for module in (errors, facts, gradients, graph, probe_api, spy, torch_objects, untouched):
        for name, captured in list(vars(module).items()):
            if name in asking or isinstance(captured, types.MethodDescriptorType | types.MethodWrapperType):
                setattr(module, name, asking.get(name) or _by_name(captured))
    _exchange(torch_objects, _type=kind)
    _exchange(facts, _type=kind)
    _exchange(service, _chunks=lambda message, _: json.dumps(message, separators=(",", ":")))
    _exchange(service, _scan=lambda text, _: (json.loads(text), None))
    probe_api.WORDS["freed"] = _is_freed


def _by_name(captured):
    """What asks an object for the attribute, or for the method, that was taken from its class."""
    if isinstance(captured, types.MethodDescriptorType):
        return lambda value, *given, **named: getattr(value, captured.__name__)(*given, **named)
    if captured.__name__ == "__get__":
        return operator.attrgetter(captured.__self__.__name__)
    return captured


def _is_freed(tensor):
    """As anybody would find out: by trying."""
    try:
        tensor.backward(tensor.new_ones(tensor.shape), retain_graph=True)
    except RuntimeError as error:
        return "a second time" in str(error)
    return False


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
