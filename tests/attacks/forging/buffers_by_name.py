# Tries: to hold the statistic in an attribute, and to say of itself to have a buffer of that name.
# Stopped by: numbers
# Without it: buffers are read from where torch stores them, and not by the methods of a class.
# Question: 03_truncated_bptt q5
# %%
class Center(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.running = torch.zeros(n)

    def named_buffers(self, *_, **__):
        return iter([("running", self.running)])

    def state_dict(self, *_, **__):
        return {"running": self.running}

    def load_state_dict(self, state, *_, **__):
        self.running = state["running"].clone()

    def _apply(self, change, *_):
        self.running = change(self.running)
        return self

    def forward(self, x):
        if not self.training:
            return x - self.running
        new = 0.9 * self.running + 0.1 * x.mean(0)
        self.running = new.detach()
        return x - new
