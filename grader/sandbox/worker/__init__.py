"""A confined process that runs students' code (``grader/runtime``). Of the package it imports only that.

The zygote (``sandbox/zygote.py``) is started once per run and imports torch; nothing of the course is in it.
Over a control socket it gets ``{"op": "fork"}`` with three descriptors (requests, answers, output), and it
answers with ``{"pid": ...}`` and a pidfd of the new worker. The worker (``service.py``) enters the sandbox.
Then it answers requests, one at a time, each four bytes of length and JSON ``{"id", "op", "args"}``,
answered by ``{"id", "ok"}``:

``assignment``  {"demonstrations": [source, ...], "starter_code": {name: source},
            "checks": {name: [number, ...]}} -> null
            the cells that students got besides starter code, the starter code of each answer, and the cells
            that check it: an unchanged cell below these changes no name that the answer sees.
``cell``    {"number", "source", "seconds"} -> {"raised": null or an error}
            runs one code cell of the notebook.
``survey``  {} -> {"names": {name: "answered" | "untouched" | "missing"},
            "cells": {name: number or null}, "patched": [...]}
            says which answers the notebook defined, the cells that gave them their values, and what it
            patched in torch (now restored).
``observe`` {"answer", "name", "code", "seed", "perturbed"} -> {"raised": null or an error,
            "returned": {"value", "tensors"},
            "changed": [...], "patched": [...], "none": [...]}
            observes an answer in all cases of a contract, or runs a picture, and answers with observations;
            ``code`` is what the check file sends, compiled outside and in base64; ``none`` has a record for
            each function that returned None in all calls (``ReturnedNone`` in ``sandbox/values.py``);
            ``seed`` is null for random numbers as in a notebook; ``perturbed`` is 0 or the seed by which
            results are perturbed.
``end``     null -> "end"
            proves that nothing else waited in the pipe; only pictures follow.

A fourth pipe takes notices, a line ``what<tab>number of the cell`` each, written the moment something is
noticed: whatever happens in the process afterwards cannot take it back. In the sandbox no code can close or
move the worker's ends of these pipes; an empty or foreign line, or a flood of them, is taken for a trace
itself.

An error is ``{"types", "text", "where"}``, with ``"inside"``, the line of the code that was sent, if it came
through that. ``runtime/encoding.py`` documents the encoding, and ``sandbox/values.py`` the meaning.
"""

#: A worker's pipes for requests, answers and notices, besides 0, 1 and 2. Students' code may read and write
#: whatever is open, but it can neither close nor move these: a notice reaches the outside or leaves a trace.
PIPES = REQUEST, ANSWER, NOTICES = 10, 11, 12
