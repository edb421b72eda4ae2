"""The hidden checks of 07_grad_modes: who gets a gradient, who is moved, and which switch is left where."""

from inside import MixedModel, count, fill_grads, sizes

from grader import (
    assert_changed,
    assert_close,
    assert_gradients,
    assert_runs,
    assert_untouched,
    blaming_changes,
    cases,
    picture,
    points,
    probe,
    raised,
)
from grader.inside import F, attempt, gradients, graph, inside, nn, reseed, saved, snap, torch, untouched

# --- q1: prompt_step


@inside
def tunings():
    """Backbones of every part, and three or four rounds of data for a prompt.

    One is trainable and has gradients of an earlier loss, all but one; the other is frozen as a whole, and
    has gradients, too. Targets are far, so that a clipped gradient shows.
    """

    def tuning(dtype, frozen):
        batch, features, outputs = sizes(3)
        backbone = MixedModel(features, outputs).to(dtype)
        fill_grads(backbone.parameters())
        prompt = torch.randn(features, dtype=dtype, requires_grad=True)
        rounds = [
            (torch.randn(batch, features, dtype=dtype), 20 * torch.randn(batch, outputs, dtype=dtype))
            for _ in range(count(3, 4))
        ]
        return (
            backbone.requires_grad_(False) if frozen else backbone,
            prompt,
            rounds,
            0.02 + 0.1 * torch.rand(()).item(),
        )

    return {"": tuning(torch.float64, False), "Where the backbone is frozen": tuning(torch.float32, True)}


@inside
def step_of_a_function(backbone, prompt, x, y, lr):
    """The same by torch.func, of which the prompt is the only argument; the rule is written out."""
    tensors = {name: tensor.detach() for name, tensor in backbone.named_parameters()}

    def loss(vector):
        out = torch.func.functional_call(backbone, tensors, (x + vector,))
        return ((out - y) ** 2).sum() / out.numel()

    gradient = torch.func.grad(loss)(prompt.detach())
    with torch.no_grad():
        prompt.add_(gradient, alpha=-lr)


@probe(cases=tunings, oracle=step_of_a_function)
def tuned(student, backbone, prompt, rounds, lr):
    """Some steps: what each raised, where the prompt is after it, and what else has changed."""
    with untouched(backbone=backbone, prompt=prompt, rounds=rounds) as kept:
        made = []
        for x, y in rounds:
            error = attempt(lambda x=x, y=y: (student.prompt_step(backbone, prompt, x, y, lr), None)[1])
            made.append({"error": error, "prompt": snap(prompt)})
    return {"kept": kept, "made": made, "next": gradients(3 * prompt, prompt=prompt)}


def assert_steps_run(case):
    """No step stops with an error."""
    for number, step in enumerate(case.seen["made"], start=1):
        assert_runs(step["error"], f"Step {number} is not made")


@points(2)
def test_prompt_follows_its_gradient(tuned):
    """After each step, the prompt is where its gradient leads."""
    hint = "Does a gradient come to prompt? In which tensor do the new values stand?"
    for case in cases(tuned):
        assert_steps_run(case)
        nothing = f"The prompt has the values it had at the start: no step moved it.\n\n{hint}"
        assert_changed(case.seen["kept"], nothing, only=["prompt:value"])
        seen, expected = ([step["prompt"] for step in side["made"]] for side in case)
        told = "After the first step the prompt is not where its gradient leads."
        hint = "Is your loss that of the task, and is the step -lr times its gradient?"
        assert_close(seen[0], expected[0], f"{told}\n\n{hint}", all_digits=True)
        with blaming_changes(case.seen["kept"], only=["backbone.*:value"]):
            for number, (one, right) in enumerate(zip(seen, expected, strict=True), start=1):
                later = f"The first step is right, and step {number} is not."
                hint = "What is in prompt.grad when your function begins?"
                assert_close(one, right, f"{later}\n\n{hint}", all_digits=True)


@points(1)
def test_prompt_stays_the_same_leaf(tuned):
    """The prompt is the same tensor in the same memory, a leaf that requires grad."""
    for case in cases(tuned):
        message = "The prompt was not moved; that it stays the same leaf counts once it is."
        assert_changed(case.seen["kept"], message, only=["prompt:value"])
        assert_untouched(
            case.seen["kept"], only=["prompt"], but=["prompt:value", "prompt:version", "prompt:grad"]
        )
        assert_gradients(*case["next"], of="a new loss")


#: The parameters of a backbone that are trainable in the first case.
TRAINABLE = [
    f"backbone.{name}:requires_grad" for name in ("embed.weight", "norm.weight", "norm.bias", "head.*")
]


@points(2)
def test_backbone_is_only_used(tuned):
    """The backbone is not trained, collects no gradient, and stays in its modes."""
    for case in cases(tuned):
        message = "The prompt was not moved; that the backbone stays as it is counts once it is."
        assert_changed(case.seen["kept"], message, only=["prompt:value"])
        hint = "For which tensors does your call of backward compute gradients?"
        assert_untouched(case.seen["kept"], only=["backbone.*:value"])
        assert_untouched(case.seen["kept"], only=["backbone.*:grad"], hint=hint)
        open_to_all = ["prompt", "backbone.*:version", *(TRAINABLE if not case.name else [])]
        assert_untouched(case.seen["kept"], but=open_to_all)


@picture
def path_to_the_prompt(student):
    """A step by your function: what leads from the loss back to the prompt."""
    backbone, prompt = nn.Linear(2, 1, bias=False), torch.zeros(2, requires_grad=True)
    x, y = torch.randn(3, 2), torch.randn(3, 1)
    out = []
    backbone.register_forward_hook(lambda module, args, result: out.append(result))
    attempt(student.prompt_step, backbone, prompt, x, y, 0.1)
    return graph(output=out[0], prompt=prompt, weight=backbone.weight)


# --- q2: cache_features


@inside
def backbones():
    """Backbones with lists of inputs, of several lengths, with one input twice, in both dtypes."""

    def with_inputs(dtype, number):
        features, outputs, *batches = sizes(2 + number)
        backbone = MixedModel(features, outputs).to(dtype)
        fill_grads(backbone.parameters())
        xs = [torch.randn(batch, features, dtype=dtype) for batch in batches]
        return backbone, [*xs, xs[0]], outputs

    return {
        "": with_inputs(torch.float64, count(2, 3)),
        "In float32": with_inputs(torch.float32, 2),
    }


@probe(cases=backbones)
def cached(student, backbone, xs, outputs):
    """The features, those of a call after the backbone has changed, what they are, and what stays."""
    with untouched(backbone=backbone, xs=xs) as kept:
        features = student.cache_features(backbone, xs)
    first = [snap(feature) for feature in features]
    marked = [attempt(torch.is_inference, feature) for feature in features]
    with torch.no_grad():
        for parameter in backbone.parameters():
            parameter.mul_(1.5)
    again = student.cache_features(backbone, xs)
    later = [snap(feature) for feature in features]
    return {"kept": kept, "first": first, "marked": marked, "again": again, "later": later}


@probe
def nothing_cached(student):
    """What comes back for an empty list, for a backbone of any size."""
    return student.cache_features(nn.Linear(*sizes(2)), [])


@probe
def sequences_cached(student):
    """The features of sequences of several lengths, which cannot be joined to one batch."""
    channels, outputs, *rows = sizes(4)
    backbone = nn.Sequential(nn.Conv1d(channels, outputs, 2), nn.AdaptiveAvgPool1d(1), nn.Flatten())
    shapes = zip(rows, sizes(2), strict=True)
    xs = [torch.randn(number, channels, length) for number, length in shapes]
    return [snap(feature) for feature in student.cache_features(backbone, xs)]


@inside
def head_trained(head, features):
    """What two epochs of a head on the features make of it."""
    optimizer, places = torch.optim.SGD(head.parameters(), lr=0.05), []
    for _ in range(2):
        for feature in features:
            optimizer.zero_grad()
            head(feature).sub(1).pow(2).mean().backward()
            optimizer.step()
        places.append([snap(parameter) for parameter in head.parameters()])
    return places


@probe(cases=backbones)
def head_training(student, backbone, xs, outputs):
    """Two epochs of a head on the features, and what becomes of the backbone meanwhile."""
    head = nn.Linear(outputs, 1, dtype=xs[0].dtype)
    with untouched() as called:
        features = student.cache_features(backbone, xs)
    with untouched(backbone=backbone) as kept:
        places = attempt(head_trained, head, features)
    return {"kept": kept, "places": places, "called": called}


@probe
def cached_while_switched_off(student):
    """What a call changes while gradients are switched off."""
    backbone, x = nn.Linear(3, 2), torch.randn(4, 3)
    with torch.no_grad(), untouched(backbone=backbone) as kept:
        student.cache_features(backbone, [x])
    return kept


@points(1)
def test_features_are_those_of_the_backbone(cached, nothing_cached, sequences_cached):
    """The features are what the backbone gives for each tensor, at the time of the call."""
    for case in cases(cached):
        (seen, expected), (again, right) = case["first"], case["again"]
        number = f"The list has {len(seen)} entries, and xs has {len(expected)}."
        assert len(seen) == len(expected), number
        assert_close(
            seen,
            expected,
            "The features are not what the backbone gives for the tensors in xs.",
            all_digits=True,
        )
        told = "After the backbone has changed, a second call does not give the features it gives now."
        assert_close(
            again, right, f"{told}\n\nWhat does your function keep from call to call?", all_digits=True
        )
        stays = "After a second call, the features of the first call hold other values."
        assert_close(case.seen["later"], expected, stays, all_digits=True)
    told = "The features of sequences of several lengths are not what the backbone gives for each."
    assert_close(sequences_cached.seen, sequences_cached.expected, told)
    number = len(nothing_cached.seen)
    assert number == 0, f"For an empty list the number of features is {number}."


@points(1)
def test_features_are_ordinary(cached):
    """Each feature is an ordinary tensor without a history, and does not require grad."""
    for case in cases(cached):
        for place, (feature, marked) in enumerate(zip(case.seen["first"], case.seen["marked"], strict=True)):
            assert marked is False, (
                f"Feature {place} is an inference tensor: its memory was made under inference_mode().\n\n"
                "Which line made this memory, inside the block or outside? (An alias makes none.)"
            )
            assert feature.grad_fn is None, (
                f"Feature {place} has a history: its grad_fn is {feature.grad_fn}.\n\n"
                "What does the cache keep alive with it?"
            )
            assert not feature.requires_grad, f"Feature {place} requires grad: each backward fills its .grad."


@points(2)
def test_head_trains_for_two_epochs(head_training):
    """Two epochs of a head on the features run, and move the head, not the backbone."""
    for case in cases(head_training):
        places, right = case["places"]
        with blaming_changes(case.seen["called"]):
            assert_runs(places, "The training of a head stops")
        assert_untouched(case.seen["kept"], case="While only the head was trained")
        told = "The head does not learn what it learns from the backbone's features."
        hint = "Does the list hold the feature of each tensor in xs, in their order?"
        assert_close(places, right, f"{told}\n\n{hint}")


@points(1)
def test_backbone_stays_as_it_is(cached, cached_while_switched_off):
    """The backbone keeps its values, gradients, flags and modes, and torch its modes."""
    for case in cases(cached):
        assert_untouched(case.seen["kept"], but=["backbone.*:version"])
    assert_untouched(cached_while_switched_off.seen, case="Called while gradients are switched off")


@picture
def head_on_a_feature(student):
    """A loss of a head on your feature: what can its backward reach?"""
    backbone, head = nn.Linear(2, 2), nn.Linear(2, 1, bias=False)
    (feature,) = student.cache_features(backbone, [torch.randn(3, 2)])
    loss = attempt(lambda: head(feature).pow(2).sum())
    return graph(loss=loss, feature=feature, head=head.weight, backbone=backbone.weight)


# --- q3: evaluate


@inside
def evaluations():
    """Models of every part in one mode, with batches of several sizes.

    The model in train() mode has dropout and batch norm that would change the loss; the first batch is the
    largest and has the smallest loss, so that a mean over samples is another one.
    """

    def evaluation(dtype, training):
        inputs, outputs, *batches = sizes(2 + count(3, 4))
        model = MixedModel(inputs, outputs).to(dtype).train(training)
        fill_grads(model.parameters())
        number = max(batches)
        pairs = [
            (torch.randn(rows, inputs, dtype=dtype), (2 + place) * torch.randn(rows, outputs, dtype=dtype))
            for place, rows in enumerate([number, *(rows for rows in batches if rows != number)])
        ]
        return model, pairs

    return {
        "With a model in train() mode": evaluation(torch.float64, True),  # IN_FLOAT64
        "With a model in eval() mode": evaluation(torch.float32, False),
    }


@probe(cases=evaluations)
def evaluated(student, model, batches):
    """How many bytes were saved for a backward, and what has changed."""
    with torch.enable_grad(), untouched(model=model, batches=batches) as kept:
        measured = saved(student.evaluate, model, batches)
    return {"kept": kept, "bytes": measured["bytes"]}


@probe(cases=evaluations)
def mean_loss(student, model, batches):
    """What comes back."""
    return student.evaluate(model, batches)


@probe(cases=evaluations)
def evaluated_while_switched_off(student, model, batches):
    """What a call changes while gradients are switched off."""
    with torch.no_grad(), untouched(model=model) as kept:
        student.evaluate(model, batches)
    return kept


@inside
def broken_evaluations():
    """The same models; the last batch but one is too wide."""
    broken = {}
    for name, (model, batches) in evaluations().items():
        x, y = batches[-2]
        broken[name] = (model, [*batches[:-2], (torch.cat([x, x], 1), y), batches[-1]])
    return broken


@probe(cases=broken_evaluations)
def evaluated_with_an_error(student, model, batches):
    """What comes of a batch that raises, while gradients are recorded and while they are not."""
    with torch.enable_grad(), untouched(model=model) as on:
        error = attempt(student.evaluate, model, batches)
    with torch.no_grad(), untouched(model=model) as off:
        attempt(student.evaluate, model, batches)
    return {"error": error, "on": on, "off": off}


#: In the other case a mean may be computed in float32.
IN_FLOAT64 = "With a model in train() mode"
OFF = "Called while gradients are switched off"


@points(1)
def test_mean_of_the_losses(mean_loss, evaluated):
    """The result is the mean of the losses of all batches, of a model in use."""
    told = "The result is not the mean of the batches' losses."
    hint = "Is dropout still on? Does every batch count the same?"
    kept = {case.name: case.seen["kept"] for case in cases(evaluated)}
    for case in cases(mean_loss):
        with blaming_changes(kept[case.name], only=["model.norm.*:value"]):
            assert_close(*case, f"{told}\n\n{hint}", all_digits=case.name == IN_FLOAT64)


@points(1)
def test_nothing_is_recorded(evaluated):
    """Autograd records nothing while the batches are computed.

    Which of your switches is about autograd, and is it in the right position when model(x) is called?
    """
    for case in cases(evaluated):
        number = case.seen["bytes"]
        assert number == 0, (
            f"Autograd was recording: {number} bytes were saved for a backward that never comes."
        )


@points(1)
def test_modes_are_what_they_were(evaluated, evaluated_while_switched_off):
    """After the call, the grad mode and the mode of the model are what they were."""
    for case in cases(evaluated):
        assert_untouched(case.seen["kept"], only=["torch", "*:training"])
    for case in cases(evaluated_while_switched_off):
        assert_untouched(case.seen, only=["torch", "*:training"], case=OFF)


@points(1)
def test_an_error_leaves_no_trace(evaluated_with_an_error):
    """When a batch raises, the caller gets the error, and the modes are what they were."""
    for case in cases(evaluated_with_an_error):
        error = case.seen["error"]
        assert raised(error, BaseException), (
            "A batch raised an error, and the caller never heard of it: your function returned."
        )
        hint = "What of your function runs when an error leaves it in the middle?"
        when = "After a batch that raised"
        assert_untouched(case.seen["on"], only=["torch", "*:training"], case=when, hint=hint)
        assert_untouched(
            case.seen["off"], only=["torch", "*:training"], case=f"{OFF}, after a batch that raised"
        )


@points(1)
def test_model_keeps_all_it_has(evaluated, evaluated_with_an_error):
    """Parameters, buffers, gradients and flags of the model stay, and so do the batches."""
    for case in cases(evaluated):
        assert_untouched(case.seen["kept"], but=["torch", "*:training", "model.*:version"])
    for case in cases(evaluated_with_an_error):
        open_to_all = ["torch", "*:training", "model.*:version"]
        assert_untouched(case.seen["on"], but=open_to_all, case="After a batch that raised")


@picture
def loss_after_the_evaluation(student):
    """A loss of the model in the line after your call: does its graph reach the weight?"""
    model, x, y = nn.Linear(2, 1), torch.randn(3, 2), torch.randn(3, 1)
    attempt(student.evaluate, model, [(x, y)])
    return graph(next_loss=F.mse_loss(model(x), y), weight=model.weight, bias=model.bias)


# --- q4: unfreeze


@inside
def thawings():
    """Trainings in which a part of a model is frozen, each with the layer that thaws.

    The layer has every part: tied, deep, in eval mode. In one case all of it is frozen. In another its last
    part is in training, with a rate and a group of its own. In a third the optimizer holds all of it already.
    """

    def training(kind, dtype, held):
        batch, inputs, middle, hidden, outputs = sizes(5)
        layer = nn.Sequential(nn.Linear(inputs, middle), MixedModel(middle, hidden))
        model = nn.Sequential()
        for name, part in {"layer": layer, "tanh": nn.Tanh(), "last": nn.Linear(hidden, outputs)}.items():
            model.add_module(name, part)
        model.to(dtype).requires_grad_(False)
        model.last.requires_grad_(True)
        groups = [{"params": list(model.last.parameters())}]
        if held == "part":  # the first group, so that all groups have to be looked at
            groups.insert(0, {"params": list(layer[1].head.requires_grad_(True).parameters()), "lr": 0.03})
        if held == "all":
            groups.append({"params": list(layer.parameters()), "lr": 0.03})
        options = {"lr": 0.1, "weight_decay": 0.2}
        if kind == "SGD":
            opt = torch.optim.SGD(groups, momentum=0.8, **options)
        else:
            opt = torch.optim.Adam(groups, betas=(0.7, 0.9), **options)
        data = torch.randn(count(4, 5), batch, inputs, dtype=dtype)
        for x in data[:2]:
            opt.zero_grad()
            model(x).sub(1).pow(2).mean().backward()
            opt.step()
        return model, opt, data[2:], 0.02 + 0.02 * torch.rand(()).item()

    return {
        "": training("SGD", torch.float64, "none"),
        "With Adam": training("Adam", torch.float32, "none"),
        "Where a part of the layer is in training already": training("SGD", torch.float64, "part"),
        "Where opt holds the frozen layer already": training("SGD", torch.float32, "all"),
    }


@inside
def thawed_by_hand(layer, opt, lr):
    """The same without a word of the optimizer's: a group is a dict in a list."""
    held = [parameter for group in opt.param_groups for parameter in group["params"]]
    for parameter in dict.fromkeys(layer.parameters()):
        parameter.requires_grad = True
        if not any(parameter is other for other in held):
            opt.param_groups.append({**opt.defaults, "params": [parameter], "lr": lr})


@inside
def options_of(opt, model):
    """The options of each group that holds a parameter, by the name of the parameter."""
    return {
        name: [
            {key: value for key, value in group.items() if key != "params"}
            for group in opt.param_groups
            for held in group["params"]
            if held is parameter
        ]
        for name, parameter in model.named_parameters()
    }


@inside
def remembered_of(opt, parameters):
    """The tensors that the optimizer remembers of some parameters."""
    return [[snap(value) for value in opt.state.get(one, {}).values()] for one in parameters]


@probe(cases=thawings, oracle=thawed_by_hand)
def thawed(student, model, opt, data, lr):
    """The layer is thawed: what changes, what opt holds and remembers, and how the training goes on."""
    held = [parameter for group in opt.param_groups for parameter in group["params"]]
    options, memory = options_of(opt, model), remembered_of(opt, held)
    with untouched(model=model) as kept:
        error = attempt(lambda: (student.unfreeze(model.layer, opt, lr), None)[1])
    before = {"options": options, "memory": memory}
    after = {"options": options_of(opt, model), "memory": remembered_of(opt, held)}
    flags = {name: parameter.requires_grad for name, parameter in model.named_parameters()}

    def go_on():
        places = []
        for x in data:
            opt.zero_grad()
            model(x).sub(1).pow(2).mean().backward()
            given = {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}
            opt.step()
            values = {name: snap(parameter) for name, parameter in model.named_parameters()}
            places.append({"gradients": given, "values": values})
        return places

    start = {name: snap(parameter) for name, parameter in model.named_parameters()}
    told = {"kept": kept, "error": error, "flags": flags, "before": before, "after": after, "start": start}
    return {**told, "training": attempt(go_on)}


@probe(cases=thawings, oracle=thawed_by_hand)
def thawed_twice(student, model, opt, data, lr):
    """Two calls, as of a schedule that forgets what it has done; the second with another learning rate."""
    errors, options = [], []
    for rate in (lr, 3 * lr):
        errors.append(attempt(lambda rate=rate: (student.unfreeze(model.layer, opt, rate), None)[1]))
        options.append(options_of(opt, model.layer))
    return {"errors": errors, "options": options}


def training_of(case):
    """The steps after the call, of both sides; the call raised no error, nor did they."""
    error, (seen, right) = case.seen["error"], case["training"]
    assert_runs(error, "The layer is not thawed")
    assert_runs(seen, "The next step of training fails")
    return seen, right


#: A mode that changed may be the cause of wrong numbers.
MODES = ["*:training"]


@points(1)
def test_layer_gets_gradients(thawed):
    """Every parameter of the layer requires grad, and gets a gradient."""
    hint = (
        "What does your function change, the layer or its parameters? And does it reach those of submodules?"
    )
    for case in cases(thawed):
        frozen = [name for name, flag in case.seen["flags"].items() if not flag]
        assert not frozen, f"{frozen[0]} has requires_grad=False.\n\n{hint}"
        (seen, right), kept = case["training"], case.seen["kept"]
        assert_runs(seen, "The next step of training fails")
        with blaming_changes(kept, only=MODES):
            assert_gradients(
                seen[0]["gradients"], right[0]["gradients"], of="the next loss", only=["layer.*"]
            )


@points(2)
def test_layer_is_moved_with_its_rate(thawed):
    """The optimizer moves every parameter of the layer, with the learning rate that belongs to it."""
    for case in cases(thawed):
        seen, right = training_of(case)
        never = [name for name, groups in case.seen["after"]["options"].items() if not groups]
        assert not never, (
            f"{never[0]} is in no group of opt, so opt.step() never moves it.\n\n"
            "Compare the ids of the layer's parameters with those in opt.param_groups."
        )
        hint = "Which learning rate and which options has its group?"
        found, wanted = (side["after"]["options"] for side in case)
        for name, (options, *_) in wanted.items():
            for key, value in options.items() if name.startswith("layer.") else ():
                now = found[name][0].get(key)
                assert now == value, (
                    f"The option {key!r} of opt for {name} is {now}, and should not be.\n\n{hint}"
                )
        hint = "Is its gradient right, and does opt remember of it what it remembered?"
        for name, start in case.expected["start"].items():
            if name.startswith("layer."):
                value, wanted = seen[0]["values"][name], right[0]["values"][name]
                still = f"opt holds {name}, and the next step does not move it."
                assert value.value != start.value, f"{still}\n\nDoes it get a gradient?"
                with blaming_changes(case.seen["kept"], only=MODES):
                    told = f"The next step does not move {name} as far as it should."
                    assert_close(value, wanted, f"{told}\n\n{hint}")


@points(1)
def test_the_others_go_on(thawed):
    """For all others the training goes on: groups, options, memory and values."""
    for case in cases(thawed):
        before, after = case.seen["before"], case.seen["after"]
        assert any(flag for name, flag in case.seen["flags"].items() if name.startswith("layer.")), (
            "Nothing of the layer is trainable: nothing was thawed."
        )
        assert_untouched(case.seen["kept"], but=["model.layer.*:requires_grad"])
        for name, groups in before["options"].items():
            now = after["options"][name]
            if groups:
                assert now, f"opt held {name}, and does not hold it any more."
                for key, value in groups[0].items():
                    told = f"The option {key!r} of opt for {name} was {value}, and is {now[0].get(key)} now."
                    assert now[0].get(key) == value, told
        told = "opt does not remember what it did of the parameters that it held, such as their momentum."
        assert_close(after["memory"], before["memory"], told)
        seen, right = case["training"]
        assert_runs(seen, "The next step of training fails")
        one, other = ({n: v for n, v in side[0]["values"].items() if "last." in n} for side in (seen, right))
        assert_close(one, other, "The next step does not move the last layer as it did.")


@points(1)
def test_a_second_call_adds_nothing(thawed_twice):
    """After two calls, the optimizer holds every parameter of the layer exactly once, as after the first."""
    for case in cases(thawed_twice):
        (first, second), (once, twice) = case.seen["errors"], case.seen["options"]
        assert_runs(first, "The first call fails")
        assert_runs(second, "The second call fails")
        for name, groups in twice.items():
            assert groups, f"After two calls layer.{name} is in no group of opt."
            assert len(groups) == 1, f"After two calls opt holds layer.{name} {len(groups)} times."
            for key, value in once[name][0].items() if once[name] else ():
                now = groups[0].get(key)
                change = f"from {value} to {now}"
                told = f"The second call changes the option {key!r} of opt for layer.{name} {change}."
                assert now == value, told


@picture
def loss_after_thawing(student):
    """A loss after your call: to which weights does it go back?"""
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False))
    model[0].requires_grad_(False)
    opt = torch.optim.SGD(model[1].parameters(), lr=0.1)
    attempt(student.unfreeze, model[0], opt, 0.01)
    return graph(loss=model(torch.randn(3, 2)).sum(), layer=model[0].weight, head=model[1].weight)


# --- q5: forward_ckpt


@inside
def columns():
    """Columns of four to six blocks, with an input of each kind.

    Blocks differ in width but for one column, in which a block may be taken for another and nothing stops;
    its first block is frozen as a whole. Some are in eval mode, one has a frozen part, and one parameter has
    a gradient of an earlier loss.
    """

    def block(inputs, outputs, wide):
        return nn.Sequential(nn.Linear(inputs, wide), nn.Tanh(), nn.Dropout(0.3), nn.Linear(wide, outputs))

    def column(dtype, widths, batch):
        blocks = nn.ModuleList(
            block(widths[place], widths[place + 1], 40 + 8 * (place if len(set(widths)) > 1 else 1))
            for place in range(len(widths) - 1)
        ).to(dtype)
        blocks[1].eval()
        blocks[2][0].weight.requires_grad_(False)
        blocks[0][0].bias.grad = torch.randn_like(blocks[0][0].bias)
        return blocks, torch.randn(batch, widths[0], dtype=dtype)

    def behind_another(widths, batch):
        blocks, _ = column(torch.float32, widths, batch)
        return blocks, torch.randn(batch, 8), nn.Linear(8, widths[0])

    def behind_a_frozen_block():
        blocks, x = column(torch.float32, [5] * (count(4, 6) + 1), 29)
        blocks[0].requires_grad_(False)
        return blocks, x, None

    number = count(4, 6)
    blocks, leaf = column(torch.float64, [3 + place for place in torch.randperm(number + 1).tolist()], 31)
    leaf.requires_grad_().grad = torch.randn_like(leaf)
    return {
        "Where x is plain data": (*behind_a_frozen_block(), count(0, 2**40)),
        "Where x is a leaf that requires grad": (blocks, leaf, None, count(0, 2**40)),
        "Where x is the result of another module": (*behind_another([6, 4, 7, 5, 3], 37), count(0, 2**40)),
    }


@inside
def plain_loop(blocks, x):
    """Without a checkpoint."""
    for block in blocks:
        x = block(x)
    return x


@probe(cases=columns, oracle=plain_loop)
def sent_through(student, blocks, x, before, seed):
    """What comes out, what goes back, and what has changed; dropout draws from a start of its own."""
    entered = x if before is None else before(x)
    reseed(seed)  # a recomputation in another case may have drawn
    with untouched(blocks=blocks, x=entered) as kept:
        out = student.forward_ckpt(blocks, entered)
    named = {} if before is None else {"the module before": before}
    back = gradients(out, named, by="backward", blocks=blocks, x=x)
    return {"kept": kept, "out": snap(out), "back": back}


@probe(cases=columns, oracle=plain_loop)
def saved_on_the_way(student, blocks, x, before, _):
    """The bytes that are saved while the blocks run, and whether anything can go back."""
    entered = x if before is None else before(x)
    measured = saved(student.forward_ckpt, blocks, entered)
    return {"peak": measured["peak"], "history": measured["value"].requires_grad}


@points(1)
def test_values_of_the_plain_loop(sent_through):
    """What comes out has the values of the plain loop."""
    for case in cases(sent_through):
        told = "What comes out does not have the values of the plain loop with the same random numbers."
        hint = "Does each block run once, in its place?"
        with blaming_changes(case.seen["kept"], only=MODES):
            assert_close(*case["out"], f"{told}\n\n{hint}", all_digits=True)


@points(2)
def test_gradients_of_the_plain_loop(sent_through):
    """Parameters and x get the gradients of the plain loop."""
    why = {
        "raised": "\n\nIn backward each block is called again. "
        "Is it the same block then, and has its result a history?",
        "no history": "\n\nDoes autograd record here? Of a checkpoint, which inputs require grad?",
        "wrong": "\n\nEach block is computed again in backward. Is it the same block then, "
        "with the same mask of dropout?",
    }
    for case in cases(sent_through):
        with blaming_changes(case.seen["kept"], only=MODES):
            assert_gradients(*case["back"], of="the result", because=why)


@points(2)
def test_less_than_half_is_saved(saved_on_the_way):
    """Less than half of the bytes of the plain loop are saved between forward and backward."""
    for case in cases(saved_on_the_way):
        assert case.seen["history"], (
            "The result has no history. To record nothing saves memory, but then nothing can go back."
        )
        number, plain = case.seen["peak"], case.expected["peak"]
        assert number < plain / 2, f"{number} bytes are saved for backward; the plain loop saves {plain}."


@points(1)
def test_the_caller_s_things_stay(sent_through):
    """The caller's x and the blocks are after the forward pass what they were before."""
    for case in cases(sent_through):
        assert case.seen["out"].requires_grad, "The result has no history; what stays counts once it has."
        assert_untouched(case.seen["kept"])


@picture
def result_of_two_blocks(student):
    """What comes out of two blocks, for an x that is plain data."""
    blocks = nn.ModuleList([nn.Linear(2, 3, bias=False), nn.Linear(3, 1, bias=False)])
    x = torch.randn(4, 2)
    out = student.forward_ckpt(blocks, x)
    return graph(out=out, x=x, first=blocks[0].weight, second=blocks[1].weight)


# --- end: fine_tune


@inside
class Louder(nn.Module):
    """Works otherwise in train() mode, as dropout does, and draws no random number."""

    def forward(self, x):
        return 2 * x if self.training else x


@inside
def fine_tunings(*, louder):
    """Backbones and heads with pairs of both lists, no two of which have the same number of rows."""

    def fine_tuning(dtype):
        inputs, features, hidden, outputs, *rows = sizes(9)
        backbone = nn.Sequential(nn.Linear(inputs, features), nn.Tanh())
        middle = Louder() if louder else nn.Identity()
        head = nn.Sequential(nn.Linear(features, hidden), middle, nn.Linear(hidden, outputs))
        pairs = [
            (torch.randn(n, inputs, dtype=dtype), 2 * torch.randn(n, outputs, dtype=dtype)) for n in rows
        ]
        number = count(2, 3)
        lr = 0.05 + 0.1 * torch.rand(()).item()
        return backbone.to(dtype), head.to(dtype), pairs[:number], pairs[number:], count(2, 3), lr

    return {"": fine_tuning(torch.float64), "In float32": fine_tuning(torch.float32)}


@inside
def plain_fine_tunings():
    """Heads that do not look at their mode."""
    return fine_tunings(louder=False)


@inside
def louder_fine_tunings():
    """Heads that work otherwise in train() mode."""
    return fine_tunings(louder=True)


@inside
def two_stages_by_hand(backbone, head, train, held_out, epochs, lr):
    """Without an optimizer: each parameter has its rate and what it remembers in a table."""
    memory, history = {}, []

    def learn(loss, rates):
        for parameter, gradient in zip(rates, torch.autograd.grad(loss, list(rates)), strict=True):
            memory[parameter] = 0.9 * memory.get(parameter, 0) + gradient
        with torch.no_grad():
            for parameter, rate in rates.items():
                parameter.sub_(rate * memory[parameter])

    slow = dict.fromkeys(backbone.parameters(), lr / 10)
    fast = dict.fromkeys(head.parameters(), lr)
    features = [backbone(x).detach() for x, _ in train]
    for epoch in range(2 * epochs):
        for feature, (x, y) in zip(features, train, strict=True):
            if epoch < epochs:
                learn(F.mse_loss(head(feature), y), fast)
            else:
                learn(F.mse_loss(head(backbone(x)), y), fast | slow)
        in_use = nn.Sequential(backbone, head).eval()
        history.append(sum(F.mse_loss(in_use(x), y).item() for x, y in held_out) / len(held_out))
        in_use.train()
    return history


@inside
def observed_training(fine_tune, backbone, head, train, held_out, epochs, lr):
    """What each step found, how often the backbone was asked for train, what comes back and what changes."""
    rows, asked, steps = {len(x) for x, _ in train}, [], []
    model = nn.ModuleDict({"backbone": backbone, "head": head})

    def note_question(_, args):
        if len(args[0]) in rows:
            asked.append(len(args[0]))

    def note_step(_, args):
        if len(args[0]) in rows:
            collects = any(parameter.grad is not None for parameter in backbone.parameters())
            places = {name: snap(parameter) for name, parameter in model.named_parameters()}
            modes = {"head": head.training, "backbone": backbone.training}
            steps.append({"training": modes, "collects": collects, "places": places})

    backbone.register_forward_pre_hook(note_question)
    head.register_forward_pre_hook(note_step)
    start = {name: snap(parameter) for name, parameter in model.named_parameters()}
    with untouched(train=train, held_out=held_out) as kept:
        history = attempt(fine_tune, backbone, head, train, held_out, epochs, lr)
    return {
        "kept": kept,
        "history": history,
        "first stage": epochs * len(train),
        "asked": len(asked),
        "may be asked": (1 + epochs) * len(train),
        "steps": steps,
        "start": start,
        "end": {name: snap(parameter) for name, parameter in model.named_parameters()},
    }


@probe(cases=plain_fine_tunings, oracle=two_stages_by_hand)
def fine_tuned(student, backbone, head, train, held_out, epochs, lr):
    """Both stages, with a head that does not look at its mode."""
    return observed_training(student.fine_tune, backbone, head, train, held_out, epochs, lr)


@probe(cases=louder_fine_tunings, oracle=two_stages_by_hand)
def fine_tuned_louder(student, backbone, head, train, held_out, epochs, lr):
    """Both stages, with a head that works otherwise in train() mode."""
    return observed_training(student.fine_tune, backbone, head, train, held_out, epochs, lr)


def losses_of(case):
    """The losses on held_out after each epoch of the first stage, of both sides; the training ran."""
    seen, right = case["history"]
    assert_runs(seen, "The training stops")
    number = len(seen) if isinstance(seen, list) else f"a {type(seen).__name__}, no list"
    assert number == len(right), f"The losses that come back are {number}; the epochs are {len(right)}."
    return seen[: len(right) // 2], right[: len(right) // 2]


def test_head_learns_from_the_features(fine_tuned):
    """In the first stage the head learns from the features, and after each epoch its loss is measured."""
    for case in cases(fine_tuned):
        seen, right = losses_of(case)
        assert_close(seen, right, "In the first stage the losses on held_out are not what they should be.")


def test_head_learns_in_train_mode(fine_tuned_louder):
    """Head and backbone learn in train() mode, and the loss is measured in eval() mode."""
    which = "Which line switched the mode, and which line switches it back?"
    for case in cases(fine_tuned_louder):
        seen, right = losses_of(case)
        for number, step in enumerate(case.seen["steps"], start=1):
            assert step["training"]["head"], (
                f"In step {number} the head learns in eval() mode: dropout drops nothing.\n\n{which}"
            )
            assert step["training"]["backbone"] or number <= case.seen["first stage"], (
                f"In step {number}, in the second stage, the backbone learns in eval() mode.\n\n{which}"
            )
        told = "The losses on held_out are not those of a model in eval() mode."
        assert_close(seen, right, f"{told}\n\nIn which mode is the model when they are measured?")


def places_of(part, places):
    """The values of the parameters of the head, or of the backbone."""
    return {name: value for name, value in places.items() if name.startswith(part)}


#: What to ask where a part does not learn as it should.
LEARNS = {
    "head": "Does the momentum of the first stage live on?",
    "backbone": "With which learning rate does it learn, and from which epoch on?",
}


def test_backbone_learns_in_the_second_stage(fine_tuned):
    """The second stage moves the backbone with its own rate, and the head as before."""
    for case in cases(fine_tuned):
        losses_of(case)
        start, (end, right) = case.seen["start"], case["end"]
        for name, value in start.items():
            assert end[name].value != value.value, (
                f"{name} ends with the values it came with: no step moved it.\n\n"
                "Which parameters does the optimizer hold in the second stage?"
            )
        steps, expected = case["steps"]
        if len(steps) == len(expected):  # the first step of the second stage tells the two parts apart
            later = case.seen["first stage"] + 1
            for part, hint in LEARNS.items():
                told = f"The first step of the second stage does not move the {part} as far as it should."
                one, other = (places_of(part, side[later]["places"]) for side in (steps, expected))
                assert_close(one, other, f"{told}\n\n{hint}")
        for part, hint in LEARNS.items():
            told = f"The {part} does not end where the two stages lead."
            assert_close(places_of(part, end), places_of(part, right), f"{told}\n\n{hint}")


def test_the_rest_of_the_training_stays(fine_tuned):
    """The features are computed once, the frozen backbone collects nothing, and the pairs and modes stay."""
    for case in cases(fine_tuned):
        losses_of(case)
        number, most = case.seen["asked"], case.seen["may be asked"]
        asked = f"The backbone is called {number} times with an x of train; {most} calls are enough."
        assert number <= most, f"{asked}\n\nHow often are the features of the first stage computed?"
        collecting = [step["collects"] for step in case.seen["steps"][: case.seen["first stage"]]]
        assert not any(collecting), (
            f"Before step {collecting.index(True) + 1}, in stage one, the backbone has collected a .grad."
        )
        frozen = [name for name, parameter in case.seen["end"].items() if not parameter.requires_grad]
        assert not frozen, f"{frozen[0]} does not require grad in the end."
        assert_untouched(case.seen["kept"])
