"""What the worker makes of a contract: the same cases with every seed, things of the kind that is said."""

import pytest
from declaring import declared, facts

from grader import inputs, network, number, optimizer, pairs, target, tensor
from grader.inside import inside, nn, torch
from grader.sandbox.values import Raised

ORDINARY = "", ""
NOTHING = "def f(*things):\n    return None"
ONCE = {"returns": "nothing", "modes": ["on"], "sequences": ["first"], "dtypes": ["float32"], "cover": []}


@inside
def about_x(setup, _):
    """How a tensor is laid out, and where it is from."""
    x = setup["x"]
    return {
        "shape": tuple(x.shape),
        "contiguous": x.is_contiguous(),
        "offset": x.storage_offset(),
        "leaf": x.is_leaf,
        "requires_grad": x.requires_grad,
        "filled": x.is_leaf and x.grad is not None,
        "dtype": str(x.dtype),
        "zeros": not x.any(),
    }


def by_kind(found):
    """The facts of the ordinary case and of cases of a single unusual kind, by that kind."""
    return {next(iter(kinds.items()), ORDINARY): fact for kinds, fact in found if len(kinds) < 2}


def found(zygote, declaration, answer=NOTHING, **how):
    """What `use` found in each case, by its unusual kinds."""
    seen = facts(zygote, declaration, answer, **how)
    return [
        (dict(case.variations), fact["then"]) for case, fact in zip(declaration.declared, seen, strict=True)
    ]


@pytest.fixture(scope="module")
def tensors(zygote):
    """The tensors of every kind alone."""
    made = declared(
        "f", {"x": tensor("n k", "1 k", "0 k", "", values=["normal", "zeros"])}, then=about_x, **ONCE
    )
    return by_kind(found(zygote, made))


def test_an_ordinary_tensor_is_computed_and_contiguous(tensors):
    """No two of its sizes are equal."""
    ordinary = tensors[ORDINARY]
    assert 1 < min(ordinary["shape"]) < max(ordinary["shape"])
    assert ordinary["contiguous"]
    assert (ordinary["leaf"], ordinary["requires_grad"], ordinary["zeros"]) == (False, True, False)


TENSORS = {
    ("x.role", "leaf"): lambda x: x["leaf"],
    ("x.role", "plain"): lambda x: not x["requires_grad"],
    ("x.layout", "transposed"): lambda x: not x["contiguous"],
    ("x.layout", "gaps"): lambda x: not x["contiguous"],
    ("x.layout", "part"): lambda x: x["offset"] == 3,
    ("x.values", "zeros"): lambda x: x["zeros"],
    ("x.shape", ""): lambda x: x["shape"] == (),
    ("x.shape", "1 k"): lambda x: x["shape"][0] == 1,
    ("x.shape", "0 k"): lambda x: x["shape"][0] == 0,
}


@pytest.mark.parametrize("kind", TENSORS)
def test_a_tensor_is_of_the_kind_that_is_said(tensors, kind):
    """Each unusual kind is seen at the tensor that comes in, and not at the ordinary one."""
    assert TENSORS[kind](tensors[kind])
    assert not TENSORS[kind](tensors[ORDINARY])


def test_grad_is_filled_where_it_is_said(zygote):
    made = declared("f", {"x": tensor("n k")}, then=about_x, **ONCE)
    filled = [kinds for kinds, fact in found(zygote, made) if fact["filled"]]
    assert filled == [{"x.role": "leaf", "x.grad": "filled"}]


def test_dtype_and_sizes_are_those_of_the_case(zygote):
    """All sizes may be equal, two of them large, and all tensors float64."""
    made = declared(
        "f",
        {"x": tensor("n k")},
        then=about_x,
        **{**ONCE, "dtypes": ["float32", "float64"]},
        sizes=["differ", "equal", "large"],
    )
    alone = by_kind(found(zygote, made))
    assert alone["all.dtype", "float64"]["dtype"] == "torch.float64"
    assert len({*alone["all.sizes", "equal"]["shape"]}) == 1
    assert alone["all.sizes", "large"]["shape"] == (44, 46)


def test_cases_are_the_same_with_every_seed(zygote):
    """Another seed gives other sizes or numbers, and the same kinds in the same order."""
    made = declared("f", {"x": tensor("n k", "1 k")}, **{**ONCE, "returns": "result"})
    first, again, other = (facts(zygote, made, "def f(x): return x + 0", seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len(first) == len(other) == len(made.rows)


@inside
def about_the_network(setup, _):
    """The modes of a network and its parts, its parameters, and what it gives."""
    model = setup["model"]
    out = model(torch.ones(4, setup.size("in")).to(setup.dtype))
    return {
        "modes": sorted({m.training for m in model.modules()}),
        "own mode": model.training,
        "frozen": [not p.requires_grad for p in model.parameters()],
        "filled": [p.grad is not None for p in model.parameters()],
        "buffers": len(list(model.buffers())),
        "columns": out.shape[-1],
        "view": not out.is_contiguous(),
        "hooks": sum(len(m._forward_hooks) for m in model.modules()),
        "norm": any(isinstance(m, nn.BatchNorm1d) for m in model.modules()),
        "names": [name for name, _ in model.named_parameters()],
        "tied": len(dict(model.named_parameters(remove_duplicate=False))) - len([*model.parameters()]),
    }


@pytest.fixture(scope="module")
def networks(zygote):
    """The networks of every kind alone."""
    made = declared("f", {"model": network()}, then=about_the_network, **ONCE)
    return by_kind(found(zygote, made))


NETWORKS = {
    ("model.train", "eval"): lambda n: n["modes"] == [False],
    ("model.train", "part eval"): lambda n: n["modes"] == [False, True] and n["own mode"],
    ("model.train", "part train"): lambda n: n["modes"] == [False, True] and not n["own mode"],
    ("model.frozen", "one frozen"): lambda n: sum(n["frozen"]) == 1,
    ("model.frozen", "all frozen"): lambda n: all(n["frozen"]),
    ("model.tied", "tied"): lambda n: n["tied"] == 1,
    ("model.buffers", "buffers"): lambda n: n["buffers"] > 0,
    ("model.width", "one column"): lambda n: n["columns"] == 1,
    ("model.gives", "view"): lambda n: n["view"],
    ("model.grads", "filled"): lambda n: all(n["filled"]),
    ("model.grads", "some"): lambda n: any(n["filled"]) and not all(n["filled"]),
    ("model.hooks", "hooked"): lambda n: n["hooks"] > 0,
    ("model.nest", "own"): lambda n: "scale" in n["names"],
    ("model.nest", "deep"): lambda n: max(name.count(".") for name in n["names"]) > 1,
}


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_network_is_of_the_kind_that_is_said(networks, kind):
    """Each unusual kind is seen at the network that comes in, and not at the ordinary one."""
    assert NETWORKS[kind](networks[kind])
    assert not NETWORKS[kind](networks[ORDINARY])


@inside
def about_the_optimizer(setup, _):
    """An optimizer's class, groups, state, and how much it holds."""
    opt = setup["opt"]
    held = [p for group in opt.param_groups for p in group["params"]]
    return {
        "class": type(opt).__name__,
        "rates": [group["lr"] for group in opt.param_groups],
        "state": len(opt.state),
        "held": len(held),
        "of": len(list(setup["model"].parameters())),
    }


def test_an_optimizer_is_of_the_kind_that_is_said(zygote):
    """Its class, its groups and their rates, and whether it has made steps."""
    things = {"model": network(), "opt": optimizer("model")}
    made = declared("f", things, then=about_the_optimizer, **ONCE, given=["opt"])
    alone = by_kind(found(zygote, made))
    assert alone["opt.rule", "adam"]["class"] == "AdamW"
    assert alone["opt.groups", "two groups"]["rates"] == [0.1, 0.03]
    assert alone["opt.groups", "two alike"]["rates"] == [0.1, 0.1]
    assert alone[ORDINARY]["held"] == alone[ORDINARY]["of"]


@inside
def about_the_lists(setup, _):
    """The sizes of batches, and whether entries are the same or share memory."""
    xs, batches = setup["xs"], setup["batches"]
    return {
        "rows": [len(x) for x in xs],
        "same": len({id(x) for x in xs}) < len(xs),
        "shared": len({x.untyped_storage().data_ptr() for x in xs}) < len(xs),
        "dims": [x.dim() for x in xs],
        "batches": [len(x) for x, _ in batches],
        "fit": all(setup["model"](x).shape == y.shape for x, y in batches),
        "target": setup["model"](setup["x"]).shape == setup["y"].shape,
    }


def test_lists_are_of_the_kind_that_is_said(zygote):
    """Lists are empty, hold a thing twice, or views of one memory; batches and targets fit the network."""
    things = {"model": network(), "xs": inputs(), "batches": pairs(of="model")}
    things |= {"x": tensor("n in"), "y": target("x", "model")}
    alone = by_kind(found(zygote, declared("f", things, then=about_the_lists, **ONCE)))
    assert all(fact["fit"] and fact["target"] for fact in alone.values())
    assert alone["xs.list", "empty"]["rows"] == []
    assert alone["xs.list", "single"]["rows"] == [1]
    assert alone["xs.list", "twice"]["same"]
    assert not alone[ORDINARY]["shared"]
    assert alone["xs.list", "views"]["shared"]
    assert alone["xs.list", "3 dims"]["dims"] == [3, 3, 3]
    assert len({*alone["xs.list", "alike"]["rows"]}) == 1
    assert len(alone["batches.list", "single"]["batches"]) == 1


def test_what_is_as_mostly_is_left_out(zygote):
    """A case whose call changes nothing and raises nothing tells its result and its gradients alone."""
    made = declared("f", {"x": tensor("n")}, **{**ONCE, "returns": "result"})
    ordinary, *_ = facts(zygote, made, "def f(x): return 2 * x")
    assert ordinary.keys() == {"result", "gradients"}
    wrong, *_ = facts(zygote, made, "def f(x):\n    x.data.zero_()\n    return x.view_as(x)")
    assert {"side_effects", "storage"} <= wrong.keys()


def test_an_error_belongs_to_its_case(zygote):
    """What one case raises is a fact of this case, also SystemExit; the others have theirs."""
    made = declared("f", {"x": tensor("n k", "1 k")}, **{**ONCE, "returns": "result"})
    seen = facts(
        zygote, made, "def f(x):\n    if len(x) == 1:\n        raise SystemExit(3)\n    return x + 0"
    )
    raised = [fact.get("raised") for fact in seen]
    ones = [case.variations.get("x.shape") == "1 k" for case in made.declared]
    assert [isinstance(error, Raised) for error in raised] == ones


def test_a_mode_that_is_left_reaches_no_other_case(zygote):
    """What comes in next is made where gradients are recorded, whatever the call before has switched."""
    x = tensor("n k", "1 k", roles=["computed"])
    made = declared("f", {"x": x}, **{**ONCE, "returns": "result", "modes": ["on", "off"]})
    leaves = "def f(x):\n    y = x + 0\n    torch.set_grad_enabled(not torch.is_grad_enabled())\n    return y"
    recorded = [fact["result"].requires_grad for fact in facts(zygote, made, leaves)]
    assert recorded == [case.variations.get("call.mode") != "off" for case in made.declared]
    assert {*recorded} == {True, False}


@inside
def about_n(setup, _):
    """A number, and how many entries of x are none."""
    return {"n": setup["n"], "none": (~setup["x"].isfinite()).sum().item()}


def test_a_number_is_drawn_between_bounds(zygote):
    """Of two bounds it lies between them, and is another with another seed; one number is what it is."""
    things = {"n": number((2.0, 3.0), 1.0), "x": tensor("n k", values=["diverged"], roles=["plain"])}
    made = declared("f", things, then=about_n, **ONCE)
    first, again = (by_kind(found(zygote, made, seed=seed)) for seed in (1, 2))
    assert 2 <= first[ORDINARY]["n"] <= 3
    assert first[ORDINARY]["n"] != again[ORDINARY]["n"]
    assert first["n.value", 1.0]["n"] == 1.0
    assert first[ORDINARY]["none"] == 2
