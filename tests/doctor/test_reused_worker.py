"""Known answers share a worker, and each is observed as if its worker were new."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
from observing import QUICK, request

from grader.doctor import reused_worker
from grader.doctor.reused_worker import ObserverPool, ReusedWorker
from grader.notebooks.reader import cells_of
from grader.sandbox import wire
from grader.sandbox.observer import observe
from grader.sandbox.plan import ObservationPlan

# What it drew, what modes it found and what names it sees; and a backward, which others may have replaced.
INNOCENT = """
import gc, os, sys, threading, time
import torch
drawn = torch.randn(3)

def work(x):
    x.sum().backward()
    modes = torch.is_grad_enabled(), torch.get_default_dtype(), threading.active_count()
    return drawn, torch.randn(2), x.grad, str(modes), sorted(n for n in globals() if not n.startswith("_"))
"""
ASKED = ObservationPlan(
    {"work": "def work():\n    ..."},
    {"work": (request("seen", "student.work(torch.randn(3, requires_grad=True))", seconds=0.5),)},
)
HARM = {
    "names": "leftover = 1",
    "random numbers": "torch.manual_seed(7); torch.randn(5)",
    "modes": "torch.set_grad_enabled(False); torch.set_default_dtype(torch.float64)",
    "a method of torch": "torch.Tensor.backward = lambda *_: None",
    "a thread": "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "the process's end": "os._exit(0)",
    "an error": "raise ValueError",
    "time": "time.sleep(60)",
}
PLACES = {"in a cell": "{}\n" + INNOCENT, "in a call": INNOCENT.replace("    x.sum()", "    {}\n    x.sum()")}


def known(evidence):
    return replace(evidence, size=0).to_json()


def forks(zygote, monkeypatch):
    """Counts the workers that are forked from now on."""
    counted, fork = [], zygote.worker
    monkeypatch.setattr(zygote, "worker", lambda: counted.append(1) or fork())
    return counted


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("harm", HARM)
def test_what_an_answer_leaves_behind_reaches_no_other(zygote, place, harm):
    """The one that does harm and the one behind it are seen as in workers of their own."""
    limits = replace(QUICK, cell=0.3)
    harmful = cells_of(["import os, sys, threading, time, torch", PLACES[place].format(HARM[harm])])
    notebooks = [harmful, cells_of([INNOCENT])]
    worker = ReusedWorker(zygote)
    shared = [worker.observe(cells, ASKED, limits) for cells in notebooks]
    worker.close()
    assert [*map(known, shared)] == [known(observe(zygote, cells, ASKED, limits)) for cells in notebooks]


def test_what_does_no_harm_shares_a_worker(zygote, monkeypatch):
    """Ten notebooks are observed in one."""
    worker, counted = ReusedWorker(zygote), forks(zygote, monkeypatch)
    for _ in range(10):
        worker.observe(cells_of([INNOCENT]), ASKED, QUICK)
    worker.close()
    assert len(counted) == 1


def test_a_worker_that_has_answered_much_is_exchanged(zygote, monkeypatch):
    """No answer is refused because those before it were long."""
    size = observe(zygote, cells_of([INNOCENT]), ASKED, QUICK).size
    for module in (wire, reused_worker):
        monkeypatch.setattr(module, "MAX_TOTAL", 4 * size)
    worker, counted = ReusedWorker(zygote), forks(zygote, monkeypatch)
    evidence = [worker.observe(cells_of([INNOCENT]), ASKED, QUICK) for _ in range(12)]
    worker.close()
    assert all(one.requests["seen"].failure is None for one in evidence)
    assert 3 <= len(counted) <= 6


def test_a_look_alone_has_a_worker_of_its_own(zygote, monkeypatch):
    """Even where one would be at hand."""
    counted = forks(zygote, monkeypatch)
    with ObserverPool(lambda: nullcontext(zygote), jobs=1) as observers:
        for alone in (False, True, False):
            observers.submit(cells_of([INNOCENT]), ASKED, QUICK, alone=alone).result()
    assert len(counted) == 2
