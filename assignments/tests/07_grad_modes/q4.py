from functools import wraps

from otter.test_files import test_case

OK_FORMAT = False

name = "q4"
points = 5
afterword = "`requires_grad` decides which parameters get a gradient, and `param_groups` decides which ones a step updates. Next trap, when you freeze a layer again: the optimizer updates it as long as its `.grad` is not `None`."


def guarded(test):
    """Describe the returned value if the test cannot continue with it."""

    @wraps(test)
    def checked(unfreeze):
        if unfreeze is None:
            raise AssertionError("unfreeze is not defined: run the cell of q4 first.")
        returned = []

        @wraps(unfreeze)
        def watched(*arguments, **options):
            returned.clear()
            result = unfreeze(*arguments, **options)
            shape = f" and shape {tuple(result.shape)}" if hasattr(result, "shape") else ""
            returned.append(type(result).__name__ + shape)
            return result

        try:
            test(unfreeze if isinstance(unfreeze, type) else watched)  # it says:
        except AssertionError as error:
            raise
        except Exception as error:
            trace = error.__traceback__
            while trace is not None:
                if trace.tb_frame.f_globals.get("__name__") == "__main__":
                    raise  # it comes out of a cell
                trace = trace.tb_next
            why = f"{type(error).__name__}: {error}"
            if str(error).startswith("unfreeze()"):
                raise AssertionError(f"Keep the parameters of unfreeze: {error}") from None
            if returned:
                why = f"{why} (unfreeze returned something of type {returned[0]})"
            raise AssertionError(f"The check cannot go on: {why}") from error

    return checked


@test_case(
    success_message="`opt` holds the layer once and updates it.<br><code>requires_grad</code> decides which parameters get a gradient, and <code>param_groups</code> decides which ones a step updates. Next trap, when you freeze a layer again: the optimizer updates it as long as its <code>.grad</code> is not <code>None</code>.",
    failure_message="Not yet: `opt` holds the layer once and updates it.",
)
@guarded
def test_the_layer_moves(unfreeze):
    """`opt` holds the layer once and updates it."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    layer = model[0].requires_grad_(False)
    opt = torch.optim.SGD(model[1].parameters(), lr=0.1, momentum=0.9)
    try:
        unfreeze(layer, opt, 0.01)
        unfreeze(layer, opt, 0.01)
    except ValueError as error:
        raise AssertionError(f"unfreeze raised an error: {error}") from None
    before = {name: parameter.tolist() for name, parameter in layer.named_parameters()}
    model(torch.ones(1, 2)).sum().backward()
    opt.step()
    held = [id(parameter) for group in opt.param_groups for parameter in group["params"]]
    for name, parameter in layer.named_parameters():
        assert parameter.tolist() != before[name], (
            f"opt.step() did not change the {name} of the layer:\ncheck that opt holds it, and that it gets "
            "a gradient."
        )
        number = held.count(id(parameter))
        assert number == 1, (
            f"After two calls, opt holds the {name} of the layer {number} times instead of once."
        )
