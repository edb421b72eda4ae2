# Tries: to let states enter that are no leaves, in calls past the spy, and to show it decoys that are.
# Stopped by: numbers
# Without it: the gradient does not go back through the calls that were shown.
# Question: 03_truncated_bptt q1
# Flags: past the instance
# %%
def train_stateful(cell, readout, opt, batches, h):
    losses = []
    for xs, y in batches:
        shown = h.detach()
        h = h.detach().requires_grad_() * 1  # not a leaf
        for x in xs:
            h, shown = type(cell).forward(cell, x, h), cell(x, shown)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, h
