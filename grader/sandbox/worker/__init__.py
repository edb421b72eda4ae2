"""Everything that shares a process with students' code. Imports nothing else of the package.

The zygote (``sandbox/zygote.py``) is started once per run, imports torch and compiles, without running them,
the cells of the course that students got: nothing else of the course is ever in it. Over a control socket it
gets ``{"op": "fork"}`` with three descriptors (requests, answers, output) and answers with
``{"pid": ...}`` and a pidfd of the new worker. The worker (``service.py``) enters the cage and then
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
noticed: whatever happens in the process afterwards cannot take it back. In the cage no code can close or move
the worker's ends of these pipes; an empty or foreign line, or a flood of them, is taken for a trace itself.

An error is ``{"types", "text", "where"}``, with ``"rebound"`` where a name that a cell took from another cell
is the cause, and ``"inside"``, the line of the code that was sent, if it came through that. How facts are
encoded stands in ``facts.py``, and what they mean in ``sandbox/facts.py``.

Decisions:

* **A student's function is looked at as it returns** (``student_namespace.py``). What it did to torch is
  compared and undone there, because a patch could put itself back before the case ends. Whether
  saved tensors are gone is read from the graph: in a backward that is run to find out, a hook could raise.
* **Student code holds nothing of ours that can be looked into** (``opaque.py``). A Python function shows its
  globals and its closure, so handlers, stand-ins, hooks, methods of networks and the functions of check files
  are callables of C. What a module or an optimizer holds is read from where Python keeps it
  (``torch_objects.py``), nodes of the graph through C++'s own descriptors (``graph.py``): no class of a
  student's is asked.
* **What a worker notices leaves it at once** (``audit.py``): evidence of cheating must not wait in the
  cheater's process. A notice is a flag for a human; it touches no score.
* **What raises no audit event is made to report** (``reported.py``). ``globals()``, signal handlers, torch's
  frame evaluation and the collector's garbage lead to our code, too.
* **A short list is compared always** (``torch_state.py``), not all that torch holds: of attacks by a replaced
  attribute, most change no fact that is read past it, and what replaces must be named in a cell. Modules of
  torch report an attribute that is set, because it can be restored before anything is compared.
* **The compiler is not imported to be kept away** (``lazy_imports.py``, 1.5 s of a start).
"""

from collections.abc import Callable

#: A number of its own for each object that lives, its address, as ``id`` gives it. But ``id`` raises an audit
#: event, at each of which our own listener is called (``audit.py``).
identity: Callable[[object], int] = object.__hash__

#: A worker's pipes for requests, answers and notices, besides 0, 1 and 2. Students' code may read and write
#: whatever is open, but it can neither close nor move these: a notice reaches the outside or leaves a trace.
PIPES = REQUEST, ANSWER, NOTICES = 10, 11, 12
