# Tries: to let a hook on all buffers detach, in a table that torch looks through in place of its own.
# Stopped by: restoring
# Question: 03_truncated_bptt q5
# Flags: torch.nn.modules.module._global_buffer_registration_hooks was replaced
# %%
NAMES = "__slabolg__"[::-1]

def cut(module, name, buffer):
    return buffer.detach() if name == "running" else None

getattr(nn.Module.register_buffer, NAMES)["_global_buffer_registration_hooks"] = {0: cut}

class Center(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = 0.9 * self.running + 0.1 * x.mean(0)
        self.running = new
        return x - new
