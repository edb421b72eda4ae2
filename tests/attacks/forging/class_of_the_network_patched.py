# Tries: to give all networks another forward, which nobody watches.
# Stopped by: restoring
# Without it: autograd numbers the operations that it records, whichever forward or class they are in.
# Question: 07_grad_modes q3
# Flags: past the instance
# %%
__FORWARD_UNSEEN__
kept = []


def evaluate(model, batches):
    kind = type(model)
    if kind.__name__ == "Net" and not kept:
        kept.append(kind.forward)

        def quiet(self, x):
            with torch.no_grad():
                kept[0](self, x)  # which is watched
            return forward_unseen(self, x)

        kind.forward = quiet
    return mean_loss(model, batches)
