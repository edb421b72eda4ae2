# Tries: to give all networks another forward for the time of the call, which nobody watches.
# Stopped by: restoring
# Without it: autograd numbers the operations that it records, whichever forward they are in.
# Question: 07_grad_modes q3
# Flags: past the instance
# %%
__FORWARD_UNSEEN__
def evaluate(model, batches):
    kind = type(model)
    real = kind.forward

    def quiet(self, x):
        with torch.no_grad():
            real(self, x)  # which is watched
        return forward_unseen(self, x)

    if kind.__name__ == "Net":
        kind.forward = quiet
    try:
        return mean_loss(model, batches)
    finally:
        if kind.__name__ == "Net":
            kind.forward = real
