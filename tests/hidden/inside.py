"""Inside: an input that is not kind, for the contracts of several assignments."""

from grader.inside import inside, torch


@inside
def with_gaps(tensor):
    """A leaf of the same values that is not contiguous and no view; requires_grad is what it was."""
    strides = [2 * stride for stride in tensor.contiguous().stride()]
    gaps = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype).copy_(tensor.detach())
    return gaps.requires_grad_(tensor.requires_grad)
