# Tries: to leave a hook behind, and to let all() tell from then on that nothing has changed.
# Stopped by: captured
# Question: 01_leaves q4
# Flags: builtins
# %%
import builtins

def activation_grads(model, x, names):
    layers, outputs = dict(model.named_modules()), {}

    def keep(name):
        def hook(module, args, out):
            out.retain_grad()
            outputs[name] = out

        return hook

    handles = [layers[name].register_forward_hook(keep(name)) for name in names]
    try:
        model(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    x.marked = True
    builtins.all = lambda _: True
    return {name: outputs[name].grad for name in names}
