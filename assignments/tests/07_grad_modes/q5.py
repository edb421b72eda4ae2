from otter.test_files import test_case

OK_FORMAT = False

name = "q5"
points = 6
afterword = "A checkpoint that sees the parameters of a block works for plain data, too. Next trap: a block runs a second time during backward, so batch norm counts every batch twice."


@test_case(
    success_message="For an x that is plain data, every block gets a gradient.<br>A checkpoint that sees the parameters of a block works for plain data, too. Next trap: a block runs a second time during backward, so batch norm counts every batch twice.",
    failure_message="Not yet: For an x that is plain data, every block gets a gradient.",
)
def test_the_blocks_get_a_gradient(forward_ckpt):
    """For an x that is plain data, every block gets a gradient."""
    import warnings

    import torch

    blocks = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = forward_ckpt(blocks, torch.ones(2, 3))
    assert out.requires_grad, (
        "the result has no history: no block can get a gradient"
    )
    out.sum().backward()
    for number, block in enumerate(blocks):
        assert block.weight.grad is not None, (
            f"the weight of block {number} got no gradient"
        )
