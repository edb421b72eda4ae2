# Tries: to rewrite what a spy has recorded, found in the closure of the forward it put in place.
# Stopped by: process
# Without it: the assertion itself could be found in the same way.
# Got through: a recorder and its records lie in the process of those who are recorded.
# Question: 03_truncated_bptt q1
# Flags: frames
# %%
def train_stateful(cell, readout, opt, batches, h):
    losses = []
    for xs, y in batches:
        h = h.detach().requires_grad_() * 1  # not a leaf
        for x in xs:
            h = cell(x, h)
        loss = F.mse_loss(readout(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    for content in getattr(getattr(cell.forward, "_watched", None), "__closure__", None) or ():
        if type(content.cell_contents) is list:
            for record in content.cell_contents[:: len(batches[0][0])]:
                record["inputs"]["hx"].fields["grad_fn"] = None
    return losses, h
