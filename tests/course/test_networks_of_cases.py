"""What the tasks say about the networks that may come in is true of the networks that the worker makes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.course.contract_text import block_of, contract_of
from grader.course.course import Course

ROOT = Path(__file__).parents[2]
SENTENCE = r"its (batch norm|dropout) is (?:always )?(in [a-z ]+ mode)"

MAKE = """
import json, sys
import torch
from grader.runtime import kinds
from grader.runtime.kinds import Dropout, Setup, make_module


def modes_of(plan, sources):
    found = {}
    builders = {name: eval(source, vars(kinds)) for name, source in sources.items()}
    for row in plan["cases"]:
        setup = Setup({**plan["base"], **row}, {}, builders)
        for name, maker, options in plan["arguments"]:
            if maker != "module":
                continue
            if options["inputs"][0] == "*":
                setup[options["inputs"][1:]] = torch.zeros(1, 3)
            network = make_module(setup, name, setup.kind(name), options)
            modes = found.setdefault(name, {})
            modes.setdefault("whole", set()).update(module.training for module in network.modules())
            for module in network.modules():
                layer = {torch.nn.BatchNorm1d: "batch norm", Dropout: "dropout"}.get(type(module))
                if layer is not None:
                    modes.setdefault(layer, set()).add(module.training)
    return {name: {layer: sorted(of) for layer, of in modes.items()} for name, modes in found.items()}


print(json.dumps([modes_of(*of_contract) for of_contract in json.load(sys.stdin)]))
"""


@pytest.fixture(scope="module")
def networks():
    """Of each network that a task describes: the question, the sentences, and the modes in all cases."""
    course = Course.find(ROOT)
    shown = {}
    for stem in course.stems:
        contracts = course.contracts(stem)
        for question in course.assignment(stem).questions:
            shown[f"{stem} {question.id}"] = contract_of(question, contracts)
    sources = [
        dict(level for kinds in contract.arguments.values() for level in kinds.builders())
        for contract in shown.values()
    ]
    plans = json.dumps([*zip((dict(contract.plan) for contract in shown.values()), sources, strict=True)])
    command = [sys.executable, "-c", MAKE]
    done = subprocess.run(command, cwd=ROOT, input=plans, capture_output=True, text=True, check=True)
    told = []
    for (question, contract), modes in zip(shown.items(), json.loads(done.stdout), strict=True):
        for bullet in block_of(contract).splitlines():
            name = bullet.partition(": ")[0].strip("- `")
            if name in modes:
                told.append((f"{question} {name}", bullet, modes[name]))
    return told


def test_layers_are_in_the_modes_that_the_task_names(networks):
    mentioned = 0
    for which, bullet, modes in networks:
        for layer, words in re.findall(SENTENCE, bullet):
            mentioned += 1
            named = sorted(mode == "train" for mode in re.findall(r"(train|eval) mode", words))
            assert named == modes[layer], f"{which}: {bullet}"
    assert mentioned > 20


def test_layers_whose_mode_may_differ_are_mentioned(networks):
    """Unless the whole network has one mode, a task says in which mode its batch norm and dropout are."""
    for which, bullet, modes in networks:
        for layer in {"batch norm", "dropout"} & modes.keys():
            modes_listed = re.findall(r"; is in (?:train|eval) mode", bullet)
            assert f"its {layer} is" in bullet or len(modes_listed) == 1, f"{which}: {layer}"
