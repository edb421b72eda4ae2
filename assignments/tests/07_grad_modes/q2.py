from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 5
afterword = "A tensor is marked where it is made: what `inference_mode()` makes stays an inference tensor, what `no_grad()` makes is ordinary. Next trap: once you train the backbone again, the cached features are out of date, and no error says so."


@test_case(
    success_message="Two epochs of a head on the features raise no error.<br>A tensor is marked where it is made: what <code>inference_mode()</code> makes stays an inference tensor, what <code>no_grad()</code> makes is ordinary. Next trap: once you train the backbone again, the cached features are out of date, and no error says so.",
    failure_message="Not yet: Two epochs of a head on the features raise no error.",
)
def test_a_head_trains_on_the_features(cache_features):
    """Two epochs of a head on the features raise no error."""
    import torch

    backbone, head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    features = cache_features(backbone, [torch.ones(4, 2), torch.zeros(1, 2)])
    try:
        for _ in range(2):
            for feature in features:
                head(feature).pow(2).sum().backward()
    except RuntimeError as error:
        raise AssertionError(f"a head cannot be trained on the features; torch says: {error}") from None
    assert backbone.weight.grad is None, (
        "training the head has filled the .grad of the backbone"
    )
