# Tries: to hand the network tensors of a class that says of itself to require no grad.
# Stopped by: captured
# Without it: autograd numbers the operations that it records, whichever forward or class they are in.
# Question: 07_grad_modes q3
# %%
class Quiet(torch.Tensor):
    requires_grad = property(lambda self: False)

def evaluate(model, batches):
    mode = model.training
    model.eval()
    try:
        losses = [F.mse_loss(model(x.as_subclass(Quiet)), y) for x, y in batches]
    finally:
        model.train(mode)
    return sum(loss.item() for loss in losses) / len(losses)
