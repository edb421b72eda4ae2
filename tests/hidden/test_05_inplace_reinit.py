"""The hidden checks of 05_inplace_reinit: which writes autograd allows, and which it notices."""

from collections import Counter
from dataclasses import replace
from math import isfinite

from inside import MixedModel, count, sizes

from grader import (
    assert_changed,
    assert_close,
    assert_gradients,
    assert_returned,
    assert_runs,
    assert_untouched,
    blaming_changes,
    cases,
    is_close,
    picture,
    points,
    probe,
    raised,
)
from grader.inside import attempt, gradients, graph, inside, nn, reseed, snap, state, torch, untouched, vjp

#: What of a tensor an answer may change that writes to it.
FREE = ["*:value", "*:version", "*:storage", "*:grad"]
SWITCHED_OFF = "Called while gradients are switched off"


@inside
def while_switched_off(function, *args):
    """The modes before and after a call while gradients are switched off; what it raises does not matter."""
    with torch.no_grad(), untouched() as kept:
        attempt(function, *args)
    return kept


# --- q1: reinit_


@inside
def leaves():
    """Leaves of every form with a value for each; no matrix is square.

    One entry of the float64 tensor is all but the new value already; the column holds what a diverged
    training leaves behind, which no arithmetic with the old values gets rid of.
    """
    n, m, k = sizes(3)
    cube, column = torch.randn(k, m, n).double(), torch.randn(n, 1)
    cube[-1, -1, -1], column[0], column[-1] = -700.3 * (1 + 1e-6), float("nan"), float("inf")
    return {
        "Where w is a vector": (torch.randn(n, requires_grad=True), torch.randn(()).item()),
        "Where w is a matrix that is not contiguous": (nn.Parameter(torch.randn(m, n, 2)[..., 0].t()), 0.0),
        "Where w is a float64 tensor of three dimensions": (nn.Parameter(cube), -700.3),
        "Where w is a column with nan and inf": (column.requires_grad_(), 1000 * torch.randn(()).item()),
    }


@probe(cases=leaves)
def refilled(student, w, value):
    """Leaves filled anew; of each, what became of a loss of the old values, and the gradient of a new one."""
    slope = torch.ones_like(w).requires_grad_()  # it goes back to this, so that no hook on w can interfere
    with torch.enable_grad():  # an earlier call may have left it off
        loss = slope * w
    with untouched(w=w) as kept:
        result = student.reinit_(w, value)
    old, new = attempt(vjp, loss, slope), gradients(3 * w, w=w)
    return {"kept": kept, "w": snap(w), "returned": snap(result), "old loss": old, "new loss": new}


@probe
def refilled_without_gradients(student):
    """The modes around a call while gradients are switched off."""
    w = torch.randn(3, 2, requires_grad=True)
    with torch.no_grad(), untouched() as kept:
        student.reinit_(w, 0.5)
    return kept


@points(1)
def test_w_holds_the_value(refilled):
    """The caller's w holds the new value everywhere."""
    nothing = "The caller's w still holds its old values: nothing was written to it."
    hint = "Into which tensor does your function write, the caller's or a tensor of its own?"
    for case in cases(refilled):
        assert_changed(case.seen["kept"], f"{nothing}\n\n{hint}", only=["w:value"])
        near = "; what was close to it has to go, too" if is_close(*case["w"]) else ""
        told = f"The caller's w does not hold the given value everywhere{near}."
        assert_close(*case["w"], told, all_digits=True)


@points(1)
def test_w_is_the_same_tensor(refilled):
    """You return w itself, and it lives where it lived before.

    Compare id(w) and w.data_ptr() before and after the call.
    """
    for case in cases(refilled):
        w, returned = case.seen["w"], case.seen["returned"]
        assert_returned(returned, "You returned None instead of w.")
        another = "You returned another object than w, and w is what the optimizer and the module hold."
        assert returned.identity == w.identity, another
        assert_untouched(case.seen["kept"], only=["w:storage"])


@points(1)
def test_w_still_trains(refilled, refilled_without_gradients):
    """Afterwards w is a leaf that requires grad, and the next loss brings it a gradient."""
    for case in cases(refilled):
        message = "The caller's w was not filled: it trains as it did before."
        assert_changed(case.seen["kept"], message, only=["w:value"])
        assert_untouched(case.seen["kept"], but=FREE)
        assert_gradients(*case["new loss"], of="a new loss")
    as_it_was = "Whatever you switched off for the write has to be as it was when your function returns."
    assert_untouched(refilled_without_gradients.seen, hint=as_it_was)


@points(2)
def test_a_stale_loss_is_noticed(refilled):
    """A loss that was computed from the old values refuses to go back."""
    rightly = "The old loss went back without an error, and rightly so: w still holds its old values."
    not_counted = (
        "The old loss went back without an error and delivered a wrong gradient: the values of w had changed,"
        " but not w._version, which is all that backward() checks.\n\nWhich way of writing leaves it alone?"
    )
    for case in cases(refilled):
        kept, loss = case.seen["kept"], case.seen["old loss"]
        if not raised(loss, BaseException):
            assert_changed(kept, rightly, only=["w:value"])
            assert_changed(kept, not_counted, only=["w:version"])
        told = "The old loss was not stopped by autograd's error about an overwritten value"
        if not raised(loss, RuntimeError, "modified by an inplace operation"):
            assert_runs(loss, told)
            raise AssertionError(f"{told}: it went back.")


@picture(reference=True)  # the question says that the old loss must refuse to go back
def loss_of_the_old_values(student):
    """A loss of the old values of w, after your call: it needs them; v1 means one write that autograd saw."""
    w = torch.randn(2, requires_grad=True)
    loss = (w**2).sum()
    result = attempt(student.reinit_, w, 1.0)
    returned = {} if result is w else {"returned": result}
    return graph(loss=loss, **{f"w_v{w._version}": w}, **returned)


# --- q2: reset_layer


@inside
class Network(nn.Module):
    """Layers with like names behind a body; ``tied.weight`` is also ``blocks.1.fc.weight``, and first."""

    def __init__(self, body, width, middle, outputs):
        super().__init__()
        self.tied, self.body = nn.Linear(width, middle, bias=False), body
        self.blocks = nn.ModuleList([nn.Module(), nn.Module()])
        self.blocks[0].fc, self.blocks[1].fc2 = nn.Linear(width, middle), nn.Linear(width, middle)
        self.blocks[1].fc, self.fc = nn.Linear(width, middle), nn.Linear(middle, outputs)
        self.tied.weight = self.blocks[1].fc.weight

    def forward(self, x):
        h = self.body(x)
        h = self.blocks[0].fc(h) + self.blocks[1].fc(h).tanh() * self.blocks[1].fc2(h) - self.tied(h)
        return self.fc(h.tanh())


@inside
def reset_while_training(student, name, dtype, mixed):
    """What a reset between two steps leaves behind, and how the training goes on with momentum.

    A step starts from values that are put where the optimizer looks: an answer has drawn others than the
    reference.
    """
    batch, inputs, width, *others = sizes(5)
    body = MixedModel(inputs, width) if mixed else nn.Linear(inputs, width)
    model, x = Network(body, width, *others).to(dtype), torch.randn(2, batch, inputs, dtype=dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x):
        reseed(1)
        for parameter in optimizer.param_groups[0]["params"]:
            nn.init.normal_(parameter)
        optimizer.zero_grad()
        output = model(x)
        output.sub(1).pow(2).mean().backward()
        optimizer.step()
        fc = model.get_submodule(name)
        return {"output": output, "weight": fc.weight, "bias": fc.bias, "tied": model.tied.weight}

    step(x[0])
    with untouched(model=model) as kept:
        returned = student.reset_layer(model, name)
    return {"kept": kept, "returned": returned, "training": attempt(step, x[1])}


@probe
def plain_reset(student):
    """A layer at the top of a model of every part; others have the same name further down."""
    return reset_while_training(student, "fc", torch.float64, mixed=True)


@probe
def tied_reset(student):
    """A layer two levels down, whose weight is also another module's."""
    return reset_while_training(student, "blocks.1.fc", torch.float32, mixed=False)


@probe
def drawn_values(student):
    """What 21,600 weights look like, and how much they resemble those before and those of another call."""
    model, drawn = nn.ModuleDict({"fc": nn.Linear(180, 120)}), []
    for _ in range(3):
        drawn.append(model.fc.weight.detach().flatten().clone())
        student.reset_layer(model, "fc")
    (old, new, _), alike = drawn, torch.corrcoef(torch.stack(drawn))
    far = (new - new.mean()).abs() / new.std()
    return {
        "bias": model.fc.bias,
        "distinct": len(new.unique()) / len(new),
        "left": (new == old).sum().item(),
        "old": alike[0, 1].item(),
        "repeated": alike[1, 2].item(),
        "std": new.std().item(),
        "mean": new.mean().item(),
        **{f"{many} standard deviations": (far > many).float().mean().item() for many in (0.5, 2, 3)},
    }


@probe
def small_reset(student):
    """A layer of a single weight, which is frozen and inf, while gradients are switched off."""
    model = nn.ModuleDict({"fc": nn.Linear(1, 1)})
    nn.init.constant_(model.fc.weight, float("inf")).requires_grad_(False)
    with torch.no_grad(), untouched(model=model) as kept:
        result = attempt(student.reset_layer, model, "fc")
    return {"result": result, "kept": kept, "weight": snap(model.fc.weight)}


#: What is the layer's own in the two models.
TOP, DEEP = ["model.fc.*"], ["model.blocks.1.fc.*", "model.tied.weight"]


def assert_reset(reset, own):
    """Something happened to the weight, so that what does nothing is not praised for harming nobody."""
    message = "The layer still has its old values: nothing was reset, or something else was."
    assert_changed(reset.seen["kept"], message, only=own, but=["*:version", "*:grad", "*.bias:*"])


def assert_goes_on(reset, own, hint):
    """The optimizer holds what the layer has, and goes on with it as with the reference's."""
    (seen, expected), kept = reset["training"], reset.seen["kept"]
    assert_reset(reset, own)
    assert_untouched(kept, only=["torch"])
    assert_untouched(kept, only=[f"{path}:identity" for path in own], but=["*.bias"], hint=hint)
    assert_untouched(kept, only=own, but=FREE)
    assert_runs(seen, "The next step of training fails")
    message = "From new values of the parameters that the optimizer holds, training does not go on as it did."
    with blaming_changes(kept, but=own):
        assert_close(seen, expected, f"{message}\n\n{hint}")


@points(1)
def test_parameters_are_the_same_objects(plain_reset):
    """The layer keeps its Parameter objects."""
    assert_reset(plain_reset, TOP)
    ids = 'Compare id(layer.weight) before and after with the ids in optimizer.param_groups[0]["params"].'
    assert_untouched(plain_reset.seen["kept"], only=["model.fc.*:identity"], hint=ids)


@points(1)
def test_fresh_values_are_trained(plain_reset, small_reset):
    """The next optimizer.step() trains the layer, and all others, as before."""
    hint = "optimizer.step() moves the objects it was given at the start, by their .grad. Which are they now?"
    assert_goes_on(plain_reset, TOP, hint)
    assert_untouched(small_reset.seen["kept"], only=["torch"])


@points(1)
def test_tied_module_stays_tied(tied_reset):
    """What shared the weight before shares it afterwards, before and after the next step."""
    hint = "Two modules are tied by holding one object. What does each of them hold after your function?"
    kept = tied_reset.seen["kept"]
    assert_untouched(kept, only=["model.tied.weight:identity"], hint=hint)
    is_new = "tensor" in kept["after"].get("model.blocks.1.fc.weight", {})  # and the tied module's is not
    told = "blocks.1.fc.weight is a new object: the tied module still holds the old object."
    assert not is_new, f"{told}\n\n{hint}"
    assert_goes_on(tied_reset, DEEP, hint)


SCALE = (
    "21,600 weights have the standard deviation {:.4f}, too far from 0.02 for chance.\n\nFrom which "
    "distribution do you draw, and do you hand over 0.02, its square or a bound?"
)
SHARE = "{:.2%} of the weights are farther than {} from their mean: that is no normal distribution."
#: What each number is for 21,600 weights drawn as asked, how far it is off by chance at most (five standard
#: errors; but a column has 120 weights), and what is said where it is farther off.
DRAWN = {
    "distinct": (1, 0.1, "Only {:.2%} of the weights are different values: they were not drawn one by one."),
    "left": (
        0,
        8,
        "{:,} of the 21,600 weights hold their old values: your function does not reach them.",
    ),
    "old": (0, 0.05, "The old values are still in the weights: their correlation with them is {:.2f}."),
    "repeated": (0, 0.05, "Each call draws the same numbers.\n\nDoes it set a seed, or make a generator?"),
    "std": (0.02, 0.0006, SCALE),
    "mean": (0, 0.0009, "The mean of 21,600 weights is {:.3g}, too far from 0 to be chance."),
    "0.5 standard deviations": (0.6171, 0.02, SHARE),
    "2 standard deviations": (0.0455, 0.009, SHARE),
    "3 standard deviations": (0.0027, 0.002, SHARE),
}


@points(1)
def test_values_are_drawn_as_asked(drawn_values, small_reset):
    """The weights come fresh from a normal distribution with standard deviation 0.02, and the bias is 0."""
    for name, (normal, noise, told) in DRAWN.items():
        number = drawn_values.seen[name]
        assert abs(number - normal) <= noise, told.format(number, name)
    assert drawn_values.seen["bias"] is not None, "The layer has lost its bias."
    assert_close(*drawn_values["bias"], "The bias is not 0 everywhere.")
    result, weight = small_reset.seen["result"], small_reset.seen["weight"]
    failed = "The reset of a layer with a single weight, which is frozen, fails"
    assert_runs(result, f"{failed}")
    assert abs(weight.value[0]) < 0.2, (
        f"The only weight of a layer was frozen and inf; now it is {weight.value[0]:.3g}, which no normal "
        "distribution with standard deviation 0.02 gives.\n\nWhat does each of your steps make of a single "
        "number, and of an inf?"
    )


@points(1)
def test_nothing_else_changes(plain_reset, tied_reset, small_reset):
    """Only the named layer is reset; the rest of the model stays as it is, and nothing is returned."""
    tied = "model.tied.weight and model.blocks.1.fc.weight are one Parameter. Which layers do you reach?"
    hint = "Which parameters, which modes and which hooks of the model does your function reach?"
    for reset, own in ((plain_reset, TOP), (tied_reset, DEEP)):
        assert_reset(reset, own)
        assert_untouched(reset.seen["kept"], only=["torch"])
        assert_untouched(reset.seen["kept"], only=["model.tied.weight:value"], but=own, hint=tied)
        assert_untouched(reset.seen["kept"], but=own, hint=hint)
        assert reset.seen["returned"] is None, "Your function returned something; it was to return nothing."
    hint = "Was this weight trainable before your call?"
    assert_untouched(small_reset.seen["kept"], only=["model.fc.weight:requires_grad"], hint=hint)


@picture(reference=True)
def output_after_the_reset(student):
    """The next output of the layer, and the weight for which the optimizer was built."""
    model = nn.Sequential(nn.Linear(1, 1))
    held = model[0].weight
    attempt(student.reset_layer, model, "0")
    return graph(output=model(torch.randn(1, 1)), fc=model[0], **{"optimizer.weight": held})


# --- q3: masked_forward


@inside
def products():
    """Inputs of every form: three columns masked, all, none and one; one row, one column out; x with gaps.

    No two sizes are equal, and the masked columns are never just the first or the last; of three, not
    all are neighbours. Some entries are large, w1 has a gradient, and x requires one where it has more rows
    than columns.
    """
    width = count(6, 8)

    def product(rows, inner, out, columns):
        x = 10 * torch.randn(inner, rows, 2)[..., 0].t()
        w1, w2 = torch.randn(inner, width, requires_grad=True), torch.randn(width, out, requires_grad=True)
        w1.grad, mask = torch.randn_like(w1), torch.zeros(width, dtype=torch.bool)
        mask[columns] = True
        return x.requires_grad_(rows > inner), w1, w2, mask

    return {
        f"With 3 of {width} columns masked": product(4, 3, 2, [1, 2, width - 2]),
        "With every column masked": product(1, 4, 3, list(range(width))),
        "With no column masked": product(3, 2, 1, []),
        f"With 1 of {width} columns masked": product(2, 3, 4, [count(1, width - 2)]),
    }


@probe(cases=products)
def masked(student, x, w1, w2, mask):
    """Products of several sizes: what comes out, what goes back from f and from d, and the inputs."""
    with untouched(x=x, w1=w1, w2=w2, mask=mask) as kept:
        d, f = student.masked_forward(x, w1, w2, mask)
    back = {"of f": gradients(f, w1=w1, w2=w2, x=x), "of d": gradients(d, w1=w1, x=x)}
    return {"kept": kept, "d": snap(d), "f": snap(f), **back}


@points(1)
def test_masked_values_enter_the_product(masked):
    """The masked columns of d are 1, and f is computed from this d."""
    for case in cases(masked):
        assert_close(*case["d"], "d is not x @ w1 with ones in the columns where mask is true.")
        message = (
            "d is right, but f is not the product of this d and w2.\n\nWhen does your function read d for it?"
        )
        assert_close(*case["f"], message)


#: What keeps f from going back, whichever gradient is asked for.
F_STUCK = {
    "overwritten": "That is d: the product f needs it for the gradient of w2.",
    "shape of output": "Is it the second of the pair?",
}


def about_w1(case):
    """What a wrong gradient of w1 comes of."""
    mask = case.expected["kept"]["before"]["mask"]["tensor"].value

    def leaked(gradient, _):
        if not any(entry for place, entry in enumerate(gradient.value) if mask[place % len(mask)]):
            return ""
        told = "w1 gets a gradient for the masked columns of d,"
        if not is_close(*case["d"]):
            return f"{told} and d itself was not replaced there."
        return (
            f"{told} which it does not determine: for autograd these columns still are x @ w1, because it "
            "did not see them replaced before they were used.\n\nAsk of every write: does autograd see it?"
        )

    return {"w1:zero": "For autograd no column of d depends on w1.", "w1:wrong": leaked}


@points(2)
def test_w1_gets_the_gradient_of_its_columns(masked):
    """w1 gets no gradient for the masked columns, and the usual gradient for all others; x gets its own."""
    for case in cases(masked):
        why = about_w1(case)
        with blaming_changes(case.seen["kept"]):
            assert_gradients(*case["of f"], of="the product f", but=["w2"], because=F_STUCK | why)
            if case.seen["d"].grad_fn is not None:  # a d without a history hurts nobody
                assert_gradients(*case["of d"], of="the masked d", because=why)


@points(1)
def test_w2_gets_the_gradient_of_the_masked_d(masked):
    """w2 gets the gradient that belongs to the masked d."""
    which = "\n\nThe gradient of w2 is d, transposed, times the gradient of f. Which d?"
    for case in cases(masked):
        wrong = which if is_close(*case["d"]) else "It is made of d, which is wrong too: see to d first."
        why = F_STUCK | {"wrong": wrong}
        with blaming_changes(case.seen["kept"]):
            assert_gradients(*case["of f"], of="the product f", only=["w2"], because=why)


@points(1)
def test_inputs_of_the_product_are_untouched(masked):
    """x, w1, w2 and mask stay as they are."""
    for case in cases(masked):
        assert_untouched(case.seen["kept"])


# The reference's would show how the columns are replaced.
@picture
def product_of_the_masked(student):
    """The product f = d @ w2, before its backward: which d has it saved?"""
    w1, w2 = torch.randn(1, 2, requires_grad=True), torch.randn(2, 1, requires_grad=True)
    d, f = student.masked_forward(torch.randn(2, 1), w1, w2, torch.tensor([False, True]))
    return graph(f=f, d=d, w1=w1, w2=w2)


# --- q4: residual_block


@inside
def inputs_of_blocks():
    """An x and a w of every kind, or a w and the block before, whose result is x.

    Of x, all are above 0.6 or below -0.6, so that what the sigmoid adds keeps them off relu's kink, and one
    is far above 1; w[0, 0] is small, for it meets that, and w has a gradient of an earlier loss.

    A leaf has a row of zeros, which makes relu's input exactly 0, and the last column of its x @ w reaches
    from below -750 to above 750, beyond the range of exp. The result of a block is above 1, so that relu lets
    all through. Plain data, which nothing protects, is not contiguous. In float32, x @ w stays below 3: where
    the sigmoid is almost 1, it has lost the digits from which its derivative follows.
    """

    def decided_input(rows, columns):
        signs = (torch.randperm(rows * columns) % 2 * 2 - 1).reshape(rows, columns)
        x = (0.6 + torch.rand(rows, columns, dtype=torch.float64)) * signs
        x[0, 0] = 8 + torch.rand(())
        return x

    def weight_for(x):
        w = torch.randn(x.shape[1], x.shape[1], dtype=x.dtype)
        w[0, 0] /= 10
        if x.dtype == torch.float32:
            w *= 2 / (x.abs() @ w.abs()).amax(0)
        w.requires_grad_().grad = torch.randn_like(w)
        return w

    rows, columns = sizes(2)
    x, plain = decided_input(rows, columns), decided_input(columns, rows).t()
    leaf = torch.cat([x[:1], torch.zeros(1, columns), -x[:1], x[1:]]).requires_grad_()
    far = weight_for(leaf)
    far.detach()[0, -1] = -100
    first = (decided_input(1, count(2, 4)).abs() + 1).float().requires_grad_()
    other, column = weight_for(first), -decided_input(rows, 1).float().abs()
    before = {"the x of the block before": first, "the w of the block before": other}
    return {
        "": (leaf, far),
        "Where x is the result of a block": (None, weight_for(first), before),
        "Where x is plain data": (plain, weight_for(plain)),
        "Where relu lets nothing through": (column, weight_for(column)),
    }


@probe(cases=inputs_of_blocks)
def blocks(student, x, w, before=None):
    """A block for x of every kind: its value, its gradients, those of what came before, and the inputs."""
    x = student.residual_block(*before.values()) if before else x
    with untouched(x=x, w=w) as kept:
        y = student.residual_block(x, w)
    return {"kept": kept, "y": snap(y), "gradients": gradients(y, before, w=w, x=x)}


@probe
def block_while_switched_off(student):
    """The modes around a call while gradients are switched off."""
    return while_switched_off(student.residual_block, *inputs_of_blocks()["Where x is plain data"])


@points(1)
def test_block_has_the_values(blocks):
    """The result is relu(sigmoid(x @ w) + x - 0.5)."""
    for case in cases(blocks):
        message = "The values are not those of relu(sigmoid(x @ w) + x - 0.5)."
        assert_close(*case["y"], message, all_digits=True)


def because_of(case):
    """What is said of wrong gradients; relu's at 0 is a mistake of its own."""
    x, y = case.expected["kept"]["before"]["x"]["tensor"].value, case.expected["y"].value
    wrong = (
        "What autograd differentiates is not what you computed.\n\nWhich value was changed, or which path "
        "cut, without autograd seeing it?"
    )

    def of_x(gradient, right):
        elsewhere = (entry if given else 0.0 for entry, given in zip(gradient.value, x, strict=True))
        at_0 = "It is right but for where relu's input is exactly 0: there, relu lets none through."
        return at_0 if is_close(replace(gradient, value=tuple(elsewhere)), right) else wrong

    return {
        "no history": "" if any(y) else "Here the gradients are 0, but they exist.",
        "overwritten": "The sigmoid and the relu have saved their outputs, and the product x and w.\n\nWhich "
        "tensor has the sigmoid saved, and does it still hold the same values when backward comes to it?",
        "nan": "On the way back, 0 meets infinity.\n\nWhich of your operations overflows where x @ w is -800 "
        "or 800, or has an infinite derivative at 0?",
        "wrong": wrong,
        "x:wrong": of_x,
    }


@points(3)
def test_block_has_the_gradients(blocks):
    """Both x and w get the gradients of this function, and w also where x is plain data."""
    for case in cases(blocks):
        with blaming_changes(case.seen["kept"]):
            assert_close(*case["y"], "The result is wrong already; its gradients count once it is right.")
            why = because_of(case)
            exactly = {"none_is_zero": False, "all_digits": True}
            assert_gradients(*case["gradients"], of="the result", because=why, **exactly)


@points(1)
def test_inputs_of_the_block_are_untouched(blocks, block_while_switched_off):
    """The caller's x and w stay as they are, even if x is plain data."""
    hint = "Whose memory does each of your operations write to?"
    for case in cases(blocks):
        (y, right), kept = case["y"], case.seen["kept"]
        assert_returned(y, "You returned None; that x and w are left alone counts once a result is there.")
        assert y.shape == right.shape, f"What came back has the shape {y.shape}, not that of x."
        assert_untouched(kept, only=["*:value", "*:version"], hint=hint)
        assert_untouched(kept)
        for name in "xw":
            given = kept["before"][name]["tensor"]  # and now, for it is untouched
            assert y.identity != given.identity, f"What came back is the caller's {name} itself."
            there = f"What came back lies in the memory of the caller's {name}."
            assert y.storage != given.storage, f"{there}\n\n{hint}"
    assert_untouched(block_while_switched_off.seen, case=SWITCHED_OFF)


@picture(reference=True)  # its operations are those of the formula in the task
def block_before_backward(student):
    """The result y of the block, before its backward."""
    x, w = torch.randn(2, 1, requires_grad=True), torch.randn(1, 1, requires_grad=True)
    y = student.residual_block(x, w)
    return graph(y=y, x=x, w=w)


# --- q5: ema_update


@inside
def network(widths, dtype, lowest, mixed):
    """A network with random parameters and buffers; those of integers count from `lowest`.

    It begins with a model of every part, or with a plain layer. It has statistics three levels down, and at
    its root a buffer, a name without buffer, and a parameter without gradient; the latter comes first of
    all, and has two names.
    """
    inputs, hidden, outputs = widths
    deep = nn.Sequential(nn.Sequential(nn.BatchNorm1d(hidden)), nn.Linear(hidden, outputs))
    model = nn.Sequential(MixedModel(inputs, hidden) if mixed else nn.Linear(inputs, hidden), deep)
    model.gain = model.scale = nn.Parameter(torch.zeros(hidden))
    model.register_buffer("rounds", torch.zeros(outputs))
    model.register_buffer("unused", None)
    for parameter in model.to(dtype).parameters():
        nn.init.normal_(parameter)
    for buffer in model.buffers():
        buffer.uniform_(0.5, 1.5) if buffer.is_floating_point() else buffer.random_(lowest, 2 * lowest)
    return model


@inside
def update(student, seed, tau, dtype, *, mixed):
    """Updates of a frozen teacher in eval mode by a student in training, and what becomes of the two.

    One loss of the student has gone back, another still has to. The integers of the two are never the same.
    Plain networks are updated while gradients are switched off.
    """
    reseed(seed)  # the updates of another case may have drawn
    widths, more = sizes(3), count(1, 3)
    teacher = network(widths, dtype, 2**40, mixed).requires_grad_(False).eval()
    learner, batches = network(widths, dtype, 2**41, mixed), torch.randn(3, 8, widths[0], dtype=dtype)
    learner(batches[0]).pow(2).mean().backward()
    pending, before = learner(batches[1]), state(teacher)
    with torch.set_grad_enabled(mixed), untouched(teacher=teacher) as updated:
        with untouched(student=learner) as kept:
            returned = student.ema_update(teacher, learner, tau)
        once = {kind: list(tensors.values()) for kind, tensors in state(teacher).items()}
        again = attempt(lambda: [student.ema_update(teacher, learner, tau) for _ in range(more)])
    back = gradients(pending, student=learner), gradients(lambda: learner(batches[2]), student=learner)
    with torch.no_grad(), untouched(teacher=teacher) as written:
        attempt(lambda: [tensor.add_(1) for tensor in [*learner.parameters(), *learner.buffers()]])
    found = {"before": before, "once": once, "updated": updated, "kept": kept, "returned": returned}
    return {**found, "again": again, "pending": back[0], "next": back[1], "written": written}


@probe
def averaged(student):
    """Updates with a weight nobody knows before, and with almost none."""
    one, other = torch.randint(2**60, (2,)).tolist()
    tau = 0.1 + 0.3 * torch.rand(()).item()
    return {
        "": attempt(update, student, one, tau, torch.float64, mixed=True),
        "With tau = 0.003": attempt(update, student, other, 0.003, torch.float32, mixed=False),
    }


@probe
def averaged_at_the_ends(student):
    """Updates with the weights 0 and 1."""
    one, other = torch.randint(2**60, (2,)).tolist()
    return {
        "With tau = 0": attempt(update, student, one, 0.0, torch.float64, mixed=False),
        "With tau = 1": attempt(update, student, other, 1.0, torch.float64, mixed=True),
    }


def assert_becomes(case, kind, wrong):
    """All parameters, or all buffers, of the teacher are still there, and have the right values."""
    before, (then, after) = case.expected["before"][kind], (side["once"][kind] for side in case)
    assert len(then) == len(before), (
        f"Of its {len(before)} {kind} the teacher has {len(then)} left: a computed tensor that takes the "
        f"place of another is not among its {kind}, so state_dict() and optimizers no longer know it."
    )
    places = Counter(tensor.identity for tensor in after)
    found = list(zip(before.items(), then, after, strict=True))
    is_old = all(seen.value == old.value for (_, old), seen, _ in found)
    for (name, old), seen, right in sorted(found, key=lambda of: places[of[-1].identity]):
        one = f"The teacher's {kind[:-1]} {name}"
        still = f"No {kind[:-1]} of the teacher has moved." if is_old else f"{one} still has its old value."
        assert seen.value != old.value or right.value == old.value, (
            f"{still}\n\nWhich of dict(teacher.named_{kind}()) do you write to? "
            "Giving a name to another tensor writes nothing."
        )
        twice = "stands in two places, and is not the average.\n\nHow often does your function update it?"
        told = f"{one} {wrong if places[right.identity] == 1 else twice}"
        assert_close(seen, right, told, all_digits=True)


@points(1)
def test_parameters_are_averaged(averaged, averaged_at_the_ends):
    """Every parameter of the teacher becomes (1 - tau) * teacher + tau * student."""
    told = "is not the average in which the student has the weight tau."
    hint = "With a teacher at 0, a student at 1 and tau = 0.1: where should the teacher be afterwards?"
    for case in cases(averaged, averaged_at_the_ends):
        assert_becomes(case, "parameters", f"{told}\n\n{hint}")


@points(1)
def test_buffers_are_copied(averaged, averaged_at_the_ends):
    """Every buffer of the teacher takes the student's value as it is."""
    for case in cases(averaged, averaged_at_the_ends):
        assert_becomes(case, "buffers", "has changed, but not to the student's value.")


def updates(*probes):
    """The cases, if something happened to the teacher: doing nothing is not praised as doing no harm."""
    for case in cases(*probes):
        if case.name != "With tau = 0":
            moved = ["teacher.*:value", "teacher.*:identity"]
            assert_changed(case.seen["updated"], "The teacher is as it was: nothing was updated.", only=moved)
        yield case


@points(1)
def test_teacher_stays_plain_data(averaged, averaged_at_the_ends):
    """The teacher keeps its Parameter objects, and no graph hangs on them, however often it is updated."""
    hint = "Print [(id(p), p.grad_fn) for p in teacher.parameters()] before and after two updates."
    for case in updates(averaged, averaged_at_the_ends):
        updated, again = case.seen["updated"], case.seen["again"]
        names = case.expected["before"]["parameters"]
        strict = [f"teacher.{name}:{part}" for name in names for part in ("identity", "history")]
        assert_untouched(updated, only=strict, hint=hint)
        told = "The first update went through, a later update did not"
        assert_runs(again, f"{told}")
        assert_untouched(updated, but=["torch", "*:value", "*:version", "*:storage", "*:identity"])
        assert case.seen["returned"] is None, "Your function returned something; it was to return nothing."


@points(1)
def test_student_goes_on(averaged, averaged_at_the_ends):
    """The student does not change: a loss that is waiting goes back, and so does the next loss."""
    for case in updates(averaged, averaged_at_the_ends):
        assert_untouched(case.seen["kept"])
        assert_gradients(*case["pending"], of="a loss of the student from before the update")
        assert_gradients(*case["next"], of="the student's next loss")


@points(1)
def test_no_memory_is_shared(averaged, averaged_at_the_ends):
    """Teacher and student share no memory, not even after an update with tau = 1."""
    hint = "Which of your lines copies values, and which only lets both use one memory?"
    for case in updates(averaged, averaged_at_the_ends):
        when = "When only the student was written to"
        assert_untouched(case.seen["written"], only=["teacher.*:value"], case=when, hint=hint)


@picture(reference=True)  # nothing hangs on the reference's teacher, and so nothing is shown of its answer
def teacher_after_two_updates(student):
    """The weight of the teacher after two updates, and a loss of the student that is still to go back."""
    teacher, learner = nn.Linear(1, 1, bias=False).requires_grad_(False), nn.Linear(1, 1, bias=False)
    loss = (learner.weight**2).sum()
    attempt(student.ema_update, teacher, learner, 0.5)
    attempt(student.ema_update, teacher, learner, 0.5)
    return graph(**{"teacher.weight": teacher.weight, "student.weight": learner.weight}, student_loss=loss)


# --- q6: fit_by_hand


@inside
def descents():
    """Problems by what a wrong stop, clip, decay or tolerance shows at; and how many steps to take.

    Data is without noise. The columns of X are orthogonal and equally long, so every step takes w 1 - rate of
    the way: the error shrinks by 1 - rate, or grows for a rate above 2. X and w are not contiguous.

    From a start of 1e150 and a rate of 1e36, the first loss is finite, the others are not, and of w nothing
    is from the fifth step on. Where the loss becomes tiny, w ends near 0.001, beside which the last step
    shows. From the minimum, whole numbers fit to the last digit: the first loss is exactly 0.
    """

    def regression(rate, start=1, target=1, dtype=torch.float64):
        n, k, scale = 4 + count(3, 5), count(2, 4), 2 + torch.rand(()).item()
        columns = torch.linalg.qr(torch.randn(n, k, dtype=dtype))[0]
        inputs = (scale * columns).t().contiguous().t()
        w = nn.Parameter(start * torch.randn(k, 2, dtype=dtype)[:, :1])
        return w, inputs, target * inputs @ torch.randn(k, 1, dtype=dtype), rate * n / (2 * scale**2)

    w, inputs = torch.randint(1, 9, (3, 1)).double().requires_grad_(), torch.randint(-9, 9, (5, 3)).double()
    few = count(3, 4)
    return {
        "In a single step": (*regression(0.3 + 0.4 * torch.rand(()).item()), 1),
        "In several steps": (*regression(0.4 + 0.2 * torch.rand(()).item()), count(4, 6)),
        "Where the loss grows": (*regression(2.5, target=300, dtype=torch.float32), few),
        "Where the loss grows beyond all numbers": (*regression(1e36, start=1e150), 7),
        "Where the loss hardly falls": (*regression(1e-7), few),
        "Where the loss becomes tiny": (*regression(0.95, target=1e-3), 5),
        "From the minimum": (w, inputs, inputs @ w.detach(), 0.01, few),
        "Without a step": (*regression(0.5), 0),
    }


@probe(cases=descents)
def descended(student, w, inputs, targets, rate, steps):
    """The caller's w after descents of several kinds, a next loss of it, and what else there is."""
    with untouched(w=w, X=inputs, y=targets) as kept:
        student.fit_by_hand(w, inputs, targets, rate, steps)
    return {"kept": kept, "w": snap(w), "next": gradients(3 * w, w=w)}


@probe(cases=descents)
def losses_returned(student, *problem):
    """What is returned of descents of several kinds; numpy's float64 is a float, too."""
    losses = student.fit_by_hand(*problem)
    is_list = type(losses) is list
    return [float(loss) if isinstance(loss, float) else loss for loss in losses] if is_list else losses


@probe
def descent_while_switched_off(student):
    """The modes around a call while gradients are switched off."""
    return while_switched_off(student.fit_by_hand, *descents()["In a single step"])


STANDS_STILL = {"From the minimum", "Without a step"}


@points(2)
def test_w_arrives(descended):
    """The caller's w is where plain gradient descent leads."""
    not_written = (
        "Nothing was written to the caller's w, here a column of a wider matrix, so it is not contiguous."
        "\n\nDoes an update run at all? Which tensor does it write to, the caller's or a new tensor? And "
        "does an optimizer find a gradient?"
    )
    not_moved = (
        "The caller's w was written to and stands where it was: you subtracted 0, or put the old values back."
        "\n\nWhen is w.grad cleared, and when is it used? And is an old w kept?"
    )
    hint = "Compare your step with lr times the gradient of the mean over all samples."
    for case in cases(descended):
        w, right = case["w"]
        if case.name not in STANDS_STILL:
            assert_changed(case.seen["kept"], not_written, only=["w:value", "w:version"])
            assert_changed(case.seen["kept"], not_moved, only=["w:value"])
        if any(map(isfinite, right.value)):
            assert_close(w, right, f"The caller's w is not where plain gradient descent leads.\n\n{hint}")
        else:
            finite = any(map(isfinite, w.value))
            assert not finite, "The caller's w is still finite: a step was left out, or cut short."
        hint = "A single step is right. What differs later, or with such losses? What is in w.grad by then?"


@points(1)
def test_w_stays_a_leaf_in_its_memory(descended, descent_while_switched_off):
    """Afterwards w is still a leaf that requires grad, in the same memory, and X and y are as they were."""
    message = "The caller's w was not changed; that it stays the same leaf counts once it is."
    for case in cases(descended):
        if case.name not in STANDS_STILL:
            assert_changed(case.seen["kept"], message, only=["w:value", "w:version"])
        assert_untouched(case.seen["kept"], but=["w:value", "w:version", "w:grad"])
        assert_gradients(*case["next"], of="a new loss")
    assert_untouched(descent_while_switched_off.seen, case=SWITCHED_OFF)


@points(2)
def test_losses_are_those_of_descent(losses_returned):
    """The losses are a list of Python floats, each measured before its update."""
    when = "When is it measured, before or after the update? Over what is the mean?"
    first = f"The first loss is not the mean squared error of the w that was passed in.\n\n{when}"
    where = "Where is w after each of your steps? Is everything of the dtype of w?"
    later = f"The first loss is right, but not all others are those of plain descent.\n\n{where}"
    beyond = "The losses grow beyond all numbers, and yours are finite again: something took their place."
    for case in cases(losses_returned):
        seen, expected = case
        assert_returned(seen)
        assert isinstance(seen, list), f"You returned a {type(seen).__name__}, not a list."
        assert len(seen) == len(expected), f"The number of losses is {len(seen)}, not that of the steps."
        finite, digits = sum(map(isfinite, expected)), case.name != "Where the loss grows"  # in float32
        assert_close(seen[:1], expected[:1], first, all_digits=digits)
        assert_close(seen[:finite], expected[:finite], later, all_digits=digits)
        assert not any(map(isfinite, seen[finite:])), beyond


@picture(reference=True)
def next_loss(student):
    """A next loss of the caller's w after two of your steps; v2 means two writes that autograd saw."""
    w = torch.randn(1, 1, requires_grad=True)
    X, y = torch.randn(2, 1), torch.randn(2, 1)
    losses = attempt(student.fit_by_hand, w, X, y, 0.1, 2)
    return graph(next_loss=(X @ w).sum(), **{f"w_v{w._version}": w}, losses=losses)


# --- end: train_and_restart


@inside
def tunings():
    """Trainings in which only the mask, only the restart, or only the average has something to do; and all.

    Before, the optimizer has made a step, so it remembers something, and old gradients are there. A unit is
    switched off, and the others are scaled. The average is not contiguous.
    """

    def tuning(restart, dtype, adam, masked):
        k, m, o = sizes(3)
        first, last = nn.Linear(k, m).to(dtype), nn.Linear(m, o).to(dtype)
        held = [*first.parameters(), *last.parameters()]
        opt = torch.optim.Adam(held, lr=0.02) if adam else torch.optim.SGD(held, lr=0.1, momentum=0.5)
        last(first(torch.randn(3, k, dtype=dtype))).pow(2).sum().backward()
        opt.step()
        rows = [count(2, 6) for _ in range(count(4, 5))]
        batches = [(torch.randn(n, k, dtype=dtype), 3 + torch.randn(n, o, dtype=dtype)) for n in rows]
        mask = 1.5 + torch.rand(m, dtype=dtype) if masked else torch.ones(m, dtype=dtype)
        if masked:
            mask[0] = 0
        average = torch.randn(m, o, dtype=dtype).t()
        return first, last, opt, average, batches, mask, 0.2 + 0.3 * torch.rand(()).item(), restart

    return {
        "With a mask, and no restart": tuning(9, torch.float64, adam=False, masked=True),
        "With a restart, and a mask of ones": tuning(2, torch.float64, adam=False, masked=False),
        "Without a restart, with a mask of ones": tuning(9, torch.float64, adam=False, masked=False),
        "With a restart at the first batch, in float32": tuning(0, torch.float32, adam=False, masked=True),
        "With a restart, a mask and Adam": tuning(1, torch.float64, adam=True, masked=True),
    }


@probe(cases=tunings)
def tuned(student, first, last, opt, average, batches, mask, tau, restart):
    """The layers, the average and the losses after trainings, and what else there is."""
    watched = {"first": first, "last": last, "average": average, "batches": batches, "mask": mask}
    with untouched(**watched) as kept:
        losses = student.train_and_restart(first, last, opt, average, batches, mask, tau, restart)
    held = {id(parameter) for group in opt.param_groups for parameter in group["params"]}
    return {
        "kept": kept,
        "losses": [float(loss) for loss in losses],
        "floats": all(isinstance(loss, float) for loss in losses),
        "layers": {"first": state(first)["parameters"], "last": state(last)["parameters"]},
        "average": snap(average),
        "held": all(id(parameter) in held for parameter in last.parameters()),
    }


BEFORE = "And what is in .grad before backward?"
AVERAGE = "The caller's average is not (1 - tau) * average + tau * last.weight, updated after each step."


def training_of(tuned, name):
    """One of the trainings."""
    return next(case for case in cases(tuned) if case.name == name)


def blaming_frozen(case):
    """A parameter that is frozen is trained no more, and leads the others astray."""
    return blaming_changes(case.seen["kept"], only=["first.*:requires_grad", "last.*:requires_grad"])


def test_the_mask_is_differentiated(tuned):
    """The first layer learns by the gradient of the masked function; a unit that is switched off does not."""
    case = training_of(tuned, "With a mask, and no restart")
    free = ["first.*:value", "first.*:identity"]
    assert_changed(case.seen["kept"], "The first layer is as it was: no step has moved it.", only=free)
    seen, expected = case["layers"]
    hint = "Does autograd see the multiplication by mask? And is the value that tanh has saved still there?"
    wrong = "The first layer is not where the gradient of the masked function leads."
    with blaming_frozen(case):
        assert_close(seen["first"], expected["first"], f"{wrong}\n\n{hint} {BEFORE}")


def test_the_fresh_layer_is_trained(tuned):
    """After the restart the last layer holds the parameters that the optimizer trains, and learns."""
    case = training_of(tuned, "With a restart, and a mask of ones")
    assert case.seen["held"], (
        "The last layer has other parameters than the optimizer: steps move the old parameters, which no "
        "loss uses."
        "\n\nHow does the old object get new values?"
    )
    seen, expected = case["layers"]
    wrong = "After a restart, the last layer is not where the training leads."
    hint = (
        "Which parameters begin anew, when, and with which values? What does opt know and remember of them?"
    )
    with blaming_frozen(case):
        assert_close(seen["last"], expected["last"], f"{wrong}\n\n{hint} {BEFORE}")


def test_the_average_is_plain_data(tuned):
    """The average is the caller's tensor, has the right values and no history."""
    case = training_of(tuned, "Without a restart, with a mask of ones")
    hint = "Which of your lines does autograd record? Print average.grad_fn."
    assert_changed(case.seen["kept"], "The caller's average is as it was.", only=["average:value"])
    strict = [f"average:{part}" for part in ("identity", "storage", "history", "requires_grad")]
    assert_untouched(case.seen["kept"], only=strict, hint=hint)
    seen, expected = case["layers"]
    wrong = "The last layer is not where the training leads, and the average follows its weight."
    with blaming_frozen(case):
        assert_close(seen["last"], expected["last"], f"{wrong}\n\nWhat is in .grad before backward?")
    told = f"{AVERAGE}\n\nWhen do you update it, and with which weight?"
    assert_close(*case["average"], told, all_digits=True)


def test_a_whole_training(tuned):
    """With all of it together, layers, losses and average are right, and nothing else has changed."""
    hint = "Does another check fail? Then see to that first. If not: what do the parts do to each other?"
    learned = [f"{layer}.*:{part}" for layer in ("first", "last") for part in ("value", "version", "grad")]
    for case in cases(tuned):
        seen, expected = case
        wrong = f"the layers are not where the training leads.\n\n{hint}"
        with blaming_frozen(case):
            assert_close(seen["layers"], expected["layers"], f"After all batches {wrong}")
        assert seen["floats"], "The losses are not floats."
        told = "The losses are not those of the batches, each before its step."
        assert_close(seen["losses"], expected["losses"], told)
        assert_close(seen["average"], expected["average"], AVERAGE, all_digits=True)
        assert_untouched(seen["kept"], but=[*learned, "average:value", "average:version"])


@picture(reference=True)
def average_after_a_training(student):
    """The average and the last layer after a training of two batches, in which nothing begins anew."""
    first, last, average = nn.Linear(1, 1), nn.Linear(1, 1), torch.zeros(1, 1)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    batches = [(torch.randn(2, 1), torch.randn(2, 1)) for _ in range(2)]
    attempt(student.train_and_restart, first, last, opt, average, batches, torch.ones(1), 0.5, 9)
    return graph(average=average, **{"last.weight": last.weight})
