"""Everything that shares a process with students' code. Imports nothing else of the package.

The zygote (``sandbox/zygote.py``) is started once per run and imports torch. Over a control socket it
is told ``{"op": "fork"}`` with three descriptors (requests, answers, output) and answers with
``{"pid": ...}`` and a pidfd of the new worker. The worker (``service.py``) enters the cage and then
answers requests, one at a time, each four bytes of length and JSON ``{"id", "op", "args"}``,
answered by ``{"id", "ok"}``:

``anew``    {} -> number of threads that still run
            another notebook begins, in the place of the one before. Only known answers share a worker, never
            what students hand in.
``begin``   {"handed_out": [source, ...]} -> null
            the cells that were handed out besides stubs: unchanged they take no name from a student's cell.
``cell``    {"number", "source", "seconds"} -> {"raised": null or an error}
            runs one code cell of the notebook.
``survey``  {"stubs": {name: source}} -> {"names": {name: "answered" | "untouched" | "missing"},
            "patched": [...]}
            says which names the notebook defined, and what it patched in torch (now restored).
``probe``   {"name", "code", "seed", "oracle"} -> {"raised": null or an error, "facts": {"value",
            "tensors"}, "changed": [...], "patched": [...], "none": [...]}
            runs a probe and answers with facts; ``code`` is the probe and its helpers, compiled outside and
            in base64; ``oracle`` is null or [question's name, oracle's name].
``pictures``  [arguments of ``probe``, ...] -> [answers of ``probe``, ...]
            runs probes that nobody judges, up to the first that leaves something changed.
``end``     null -> "end"
            the last request: proves that nothing else waited in the pipe.

A fourth pipe takes notices, a line ``what<tab>number of the cell`` each, written the moment something is
noticed: whatever happens in the process afterwards cannot take it back. In the cage no code can close or move
the worker's ends of these pipes; an empty or foreign line, or a flood of them, is taken for a trace itself.

An error is ``{"types", "text", "where"}``, with ``"rebound"`` where a name that one cell took from another is
behind it, and ``"probe"``, [line, column] of a probe's code, where it came through one. Facts are described
in ``sandbox/facts.py``.
"""

#: A worker's pipes for requests, answers and notices, besides 0, 1 and 2. Students' code may read and write
#: whatever is open, but it can neither close nor move these: a notice reaches the outside or leaves a trace.
PIPES = REQUEST, ANSWER, NOTICES = 10, 11, 12
