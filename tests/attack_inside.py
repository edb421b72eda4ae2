"""Switches off one layer in the zygote, for the matrix of attacks only.

Imported by the zygote in the place of nothing else: the production code knows no switches. Every switch
is thrown after torch has warmed up, at the moment at which the zygote imports the rest itself.
"""

import json
import random
import resource

_MOST_MEMORY = 3 << 30  # without limits there is still this one, or the machine would have to serve for proof


def switch_off(layer):
    """Let the zygote run without a layer; a preflight would only report what is known."""
    from worker import warm_up

    really_warm_up = warm_up._warm_up

    def warm_up_and_patch(torch):
        from worker import preflight

        really_warm_up(torch)
        preflight.preflight = lambda *_, **__: preflight.Findings({}, {})
        SWITCHES[layer]()

    warm_up._warm_up = warm_up_and_patch


def _clean_start():
    from worker import confinement

    confinement._close_all_but = lambda _: None


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
    confinement._limits = lambda *given: tuple(
        (which, lifted.get(which, pair)) for which, pair in limits(*given)
    )


def _user():
    from worker import access

    access.Privileges.shed = lambda *_: None


def _landlock():
    import os

    from worker import access

    access.Ruleset.enforce = lambda ruleset: os.close(ruleset.descriptor)


def _seccomp():
    from worker import seccomp

    seccomp.Filter.install = lambda *_: None


def _wire():
    from worker import errors, facts, torch_objects

    for module in (errors, facts, torch_objects):
        for cap in [name for name in vars(module) if name.startswith("MAX_")]:
            setattr(module, cap, 1 << 62)


def _restoring():
    from worker import attributes, torch_state

    torch_state.restore_modes = lambda: None
    torch_state.intercepting_modes = list
    attributes.restore = lambda **_: []
    torch_state.interceptions = lambda _: ([], [])
    torch_state.changed_modes = lambda _: []


def _captured():
    """Facts are read as anybody would read them: through the attributes of whatever claims to be a tensor."""
    import torch
    from worker import errors, facts, nodes, probe_api, service, spy, torch_objects

    def attribute(name):
        return lambda value: getattr(value, name)

    def method(name):
        return lambda value, *arguments: getattr(value, name)(*arguments)

    def kind(value):
        known = (
            torch.nn.Parameter,
            torch.Tensor,
            facts.Snap,
            facts.Raised,
            bool,
            int,
            float,
            str,
            list,
            tuple,
            dict,
        )
        return next((k for k in known if isinstance(value, k)), type(value))

    public = {"requires_grad": "requires_grad", "numel": "numel"}
    for name in ("is_leaf", "requires_grad", "retains_grad", "grad_fn", "_version", "grad", "dtype", "shape"):
        setattr(torch_objects, public.get(name, f"_{name.lstrip('_')}"), attribute(name))
    torch_objects._layout = attribute("layout")
    names = ("detach", "reshape", "tolist", "numel", "is_complex", "is_inference")
    for name in names:
        setattr(torch_objects, public.get(name, f"_{name}"), method(name))
    torch_objects._storage = method("untyped_storage")
    torch_objects._type = facts._type = kind
    torch_objects.is_tensor = facts.is_tensor = lambda value: isinstance(value, torch.Tensor)
    errors.error_text = str
    service._chunks = lambda message, _: json.dumps(message)
    service._scan = lambda text, _: (json.loads(text), None)
    probe_api._seed_python = random.seed
    probe_api.WORDS["freed"] = _is_freed
    nodes._made_by, probe_api._storage, probe_api._detach = (
        attribute("grad_fn"),
        method("untyped_storage"),
        method("detach"),
    )
    spy.opaque = lambda function: function
    torch_objects.named = _named


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
