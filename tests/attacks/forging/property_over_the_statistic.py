# Tries: to keep the history in the statistic, behind a property that cuts it when somebody looks.
# Stopped by: numbers
# Without it: graphs that live are counted by weak references to their nodes, whatever a class says.
# Question: 03_truncated_bptt q5
# %%
class Center(nn.Module):
    def __init__(self, n):
        super().__init__()
        self._buffers["running"] = torch.zeros(n)

    @property
    def running(self):
        return self._buffers["running"].detach()

    def forward(self, x):
        if not self.training:
            return x - self.running
        before = self.running
        new = 0.9 * self._buffers["running"] + 0.1 * x.mean(0)
        self._buffers["running"] = new
        return x - (0.9 * before + 0.1 * x.mean(0))
