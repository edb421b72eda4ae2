# Tries: to exchange the class of a watched cell, so that nobody sees with which states it is called.
# Stopped by: numbers
# Without it: calls that nobody saw are missed: there must be one for every time step.
# Question: 03_truncated_bptt q1
# %%
class Quiet(nn.RNNCell):
    def __call__(self, x, h):
        return nn.RNNCell.forward(self, x, h)


def train_stateful(cell, readout, opt, batches, h):
    cell.__class__ = Quiet
    losses = []
    for xs, y in batches:
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad()
        loss.backward(retain_graph=True)
        with torch.no_grad():
            for group in opt.param_groups:
                for p in group["params"]:
                    p.data -= group["lr"] * p.grad
        losses.append(loss.item())
    return losses, h
