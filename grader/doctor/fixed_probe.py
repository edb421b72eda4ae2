"""Outside: probes that look at the same in every run, so that an answer can foresee what they look at."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from grader.course.probes import Probe
from grader.sandbox.evidence import Evidence, NoFacts, ProbeRaised

#: What draws random numbers, by the last part of its name: functions of torch, methods, words.
_RANDOM = {
    *(
        "rand",
        "randn",
        "randint",
        "randperm",
        "rand_like",
        "randn_like",
        "randint_like",
        "normal",
        "bernoulli",
    ),
    *("multinomial", "poisson", "binomial", "random", "dropout", "vjp", "gradients"),
    *("normal_", "uniform_", "bernoulli_", "random_", "exponential_", "geometric_", "cauchy_", "log_normal_"),
}


def unchanging_probes(one: Evidence, other: Evidence) -> list[str]:
    """The names of the probes that have the same facts in two runs.

    Args:
        one: of a notebook, with one seed.
        other: of the same notebook, with another seed.
    """
    outcomes = {name: (one.outcome(name), other.outcome(name)) for name in one.probes if name in other.probes}
    return [
        name
        for name, (first, second) in outcomes.items()
        if first == second and not isinstance(first, ProbeRaised | NoFacts)
    ]


def fixed_probes(probes: Mapping[str, Probe], one: Evidence, other: Evidence) -> Iterator[str]:
    """One sentence for each probe that draws nothing at random.

    A probe that counts may have the same facts in every run. So it is told only if, besides, nothing in it or
    in its helpers could draw a random number, and if its author did not say that this is meant.

    Args:
        probes: of a rubric, by name.
        one: of the reference, with one seed.
        other: of the reference, with another seed.
    """
    for name in unchanging_probes(one, other):
        probe = probes.get(name)
        if probe is not None and not probe.fixed and not _draws(probe):
            yield (
                f"{probe.source.path}, line {probe.source.tree.lineno}: probe {name} draws nothing at random,"
                " so an answer can foresee its facts: draw its inputs, or say with @probe(fixed=True) that"
                " this is meant"
            )


def _draws(probe: Probe) -> bool:
    """Whether anything in it may draw a random number; a layer draws its parameters."""
    for part in probe.parts():
        for node in ast.walk(part.tree):
            match node:
                case ast.Attribute(ast.Name("nn"), name) if name[:1].isupper():
                    return True
                case ast.Attribute(_, name) | ast.Name(name) if name in _RANDOM:
                    return True
    return False
