from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q2"
points = 5
afterword = "The optimizer and a tied module hold the object, so write new values into the old object. Next trap: the optimizer still has the momentum that belongs to the old values."


def guarded(test):
    """Describe the returned value if the test cannot continue with it."""

    @wraps(test)
    def checked(reset_layer):
        if reset_layer is None:
            raise AssertionError("reset_layer is not defined: run the cell of q2 first.")
        returned = []

        @wraps(reset_layer)
        def watched(*arguments, **options):
            returned.clear()
            result = reset_layer(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(reset_layer if isinstance(reset_layer, type) else watched)  # it says:
        except AssertionError as error:
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("reset_layer()"):
                raise AssertionError(f"Keep the parameters of reset_layer: {error}") from None
            if returned:
                why = f"{why} (reset_layer returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="The optimizer still updates the layer's parameters.<br>The optimizer and a tied module hold the object, so write new values into the old object. Next trap: the optimizer still has the momentum that belongs to the old values.",
    failure_message="Not yet: The optimizer still updates the layer's parameters.",
)
@guarded
def test_the_optimizer_still_holds_the_parameters(reset_layer):
    """The optimizer still updates the layer's parameters."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    reset_layer(model, "1")
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    for name, parameter in model[1].named_parameters():
        assert id(parameter) in held, (
            f"The layer's {name} is a new object, but the optimizer still updates the old one."
        )
    weight, bias = model[1].weight.tolist(), model[1].bias.tolist()
    assert bias == [0.0], f"After the reset, the bias is {bias} instead of 0."
    model(torch.ones(2, 4)).sub(1).sum().backward()
    optimizer.step()
    assert model[1].bias.tolist() != bias, (
        "optimizer.step() did not change the bias, so it is not trained any more."
    )
    assert model[1].weight.tolist() != weight, (
        "optimizer.step() did not change the weight, so it is not trained any more."
    )
