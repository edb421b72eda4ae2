"""A confined process that runs students' code (``grader/runtime``). Of the package it imports only that.

The zygote (``sandbox/zygote.py``) is started once per run, imports torch and compiles, without running them,
the cells of the course that students got: nothing else of the course is ever in it. Over a control socket it
gets ``{"op": "fork"}`` with three descriptors (requests, answers, output) and answers with
``{"pid": ...}`` and a pidfd of the new worker. The worker (``service.py``) enters the sandbox and then
answers requests, one at a time, each four bytes of length and JSON ``{"id", "op", "args"}``,
answered by ``{"id", "ok"}``:

``begin``   {"handed_out": [source, ...]} -> null
            the cells that were handed out besides stubs: unchanged they take no name from a student's cell.
``cell``    {"number", "source", "seconds"} -> {"raised": null or an error}
            runs one code cell of the notebook.
``survey``  {"stubs": {name: source}} -> {"names": {name: "answered" | "untouched" | "missing"},
            "cells": {name: number or null}, "patched": [...]}
            says which names the notebook defined, the cells that gave them their values, and what it patched
            in torch (now restored).
``observe`` {"name", "code", "seed", "perturbed"} -> {"raised": null or an error,
            "facts": {"value", "tensors"},
            "changed": [...], "patched": [...], "none": [...]}
            observes a function in all cases of a contract, or runs a picture, and answers with facts;
            ``code`` is what the check file sends, compiled outside and in base64; ``none`` has a record for
            each function that returned None in all calls (``ReturnedNone`` in ``sandbox/facts.py``);
            ``perturbed`` is 0 or the seed by which results are perturbed.
``end``     null -> "end"
            proves that nothing else waited in the pipe; only pictures follow.

A fourth pipe takes notices, a line ``what<tab>number of the cell`` each, written the moment something is
noticed: whatever happens in the process afterwards cannot take it back. In the sandbox no code can close or
move the worker's ends of these pipes; an empty or foreign line, or a flood of them, is taken for a trace
itself.

An error is ``{"types", "text", "where"}``, with ``"rebound"`` where a name that a cell took from another cell
is the cause, and ``"inside"``, the line of the code that was sent, if it came through that. How facts are
encoded stands in ``runtime/facts.py``, and what they mean in ``sandbox/facts.py``.
"""

#: A worker's pipes for requests, answers and notices, besides 0, 1 and 2. Students' code may read and write
#: whatever is open, but it can neither close nor move these: a notice reaches the outside or leaves a trace.
PIPES = REQUEST, ANSWER, NOTICES = 10, 11, 12
