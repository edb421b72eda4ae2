"""Inside: inputs that are not kind, for the probes of all assignments.

No two sizes are equal, counts are drawn at random, and a model has every part that an answer may forget.
"""

from grader.inside import inside, nn, torch


@inside
def count(low, high):
    """A whole number from low to high, both included."""
    return torch.randint(low, high + 1, ()).item()


@inside
def sizes(number, low=2):
    """So many sizes, no two of them equal and none below low, in any order."""
    return [low + place for place in torch.randperm(number + 2)[:number].tolist()]


@inside
def with_gaps(tensor):
    """A leaf of the same values that is not contiguous and no view; requires_grad is what it was."""
    strides = [2 * stride for stride in tensor.contiguous().stride()]
    gaps = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype).copy_(tensor.detach())
    return gaps.requires_grad_(tensor.requires_grad)


@inside
class MixedModel(nn.Module):
    """A model of every part: tied, frozen and in eval mode, with all kinds of buffers.

    ``embed.weight`` is also ``echo.weight``; ``embed.bias`` is frozen; ``norm`` and ``drop`` are in eval
    mode; ``shift`` is a buffer that the state_dict leaves out, and ``seen`` one of integers. Takes
    (batch, inputs) and returns (batch, outputs).
    """

    def __init__(self, inputs, outputs):
        super().__init__()
        hidden = inputs + outputs + 1
        self.embed = nn.Linear(inputs, hidden)
        self.echo = nn.Linear(inputs, hidden, bias=False)
        self.echo.weight = self.embed.weight
        self.embed.bias.requires_grad_(False)
        self.norm, self.drop = nn.BatchNorm1d(hidden).eval(), nn.Dropout(0.5).eval()
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 1.5)
        self.head = nn.Linear(hidden, outputs)
        self.register_buffer("shift", torch.randn(outputs), persistent=False)
        self.register_buffer("seen", torch.randint(1, 9, ()))

    def forward(self, x):
        h = self.drop(self.norm(torch.tanh(self.embed(x) - 2 * self.echo(x))))
        return self.head(h) + self.shift


@inside
def fill_grads(parameters):
    """Give parameters a ``.grad``, all but the last that require one; returns that last, whose is None."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    for parameter in trained[:-1]:
        parameter.grad = torch.randn_like(parameter)
    return trained[-1]
