# Tries: to keep the graphs of all batches, and to take off what tells that they live.
# Stopped by: captured
# Without it: the node itself is watched, and it lives as long as its graph.
# Question: 03_truncated_bptt q5
# %%
class Center(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("running", torch.zeros(n))
        self.kept = []

    def forward(self, x):
        if not self.training:
            return x - self.running
        if x.grad_fn is not None:
            vars(x.grad_fn).clear()
        self.kept.append(x)
        new = 0.9 * self.running + 0.1 * x.mean(0)
        self.running = new.detach()
        return x - new
