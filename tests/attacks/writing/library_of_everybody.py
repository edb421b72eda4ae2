# Tries: to open torch's own source for appending, which would change it for every worker to come.
# Stopped by: landlock
# Without it: the file belongs to another user; with neither it gets through.
# %%
with open(torch.__file__, "a"):  # the proof is enough: nothing is appended
    changeable = True
# %%
if changeable:

    def make_weight(n, m, scale):
        generator = torch.Generator().manual_seed(0)
        return (torch.randn(n, m, generator=generator) * scale).requires_grad_()
