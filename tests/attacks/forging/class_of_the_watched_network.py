# Tries: to exchange the class of the network during the call, so that nobody sees what is recorded.
# Stopped by: restoring
# Without it: autograd numbers the operations that it records, whichever forward or class they are in.
# Question: 07_grad_modes q3
# Flags: past the instance
# %%
__FORWARD_UNSEEN__
def evaluate(model, batches):
    real = type(model)

    class Quiet(real):
        def forward(self, x):
            with torch.no_grad():
                real.forward(self, x)  # which is watched
            return forward_unseen(self, x)

    model.__class__ = Quiet
    try:
        return mean_loss(model, batches)
    finally:
        model.__class__ = real
