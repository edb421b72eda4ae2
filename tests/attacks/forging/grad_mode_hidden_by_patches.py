# Tries: to leave gradients switched off, behind a patch that lies once and heals.
# Stopped by: captured
# Question: 05_inplace_reinit q1
# Flags: patched
# %%
honest = torch.is_grad_enabled

def reinit_(w, value):
    was = honest()

    def lies():
        torch.is_grad_enabled = honest
        return was

    torch.set_grad_enabled(False)
    w.fill_(value)
    torch.is_grad_enabled = lies
    return w
