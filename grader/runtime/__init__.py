"""Our code that runs beside torch and students' code, in a worker and on a student's own machine.

It handles cells, names, errors and graphs of tensors. For contracts, it builds the inputs of a case, calls
the function and records observations. It imports nothing else of the package, because a worker loads only
this.

Decisions:

* **A student's function is examined as soon as it returns** (``student_namespace.py``). Its changes of torch
  are detected and undone there, because a patch could restore itself before the case ends. The graph shows
  whether saved tensors were freed: in a backward that tests this, a hook could raise.
* **Student code gets no objects of ours that it could inspect** (``opaque.py``). A Python function exposes
  its globals and its closure, so handlers, stand-ins, hooks, methods of networks and the functions of check
  files are C callables. The content of a module or an optimizer is read from Python's own storage
  (``torch_objects.py``), and nodes of the graph through C++ descriptors (``graph.py``), so no method of a
  student's class runs.
* **Everything that our code calls after student code was captured before** (``originals.py``), once for all
  modules. Each has its own copy of Python's builtins, too, so it needs no second name for ``type``.
* **A worker sends notices at once** (``audit.py``), because evidence of cheating must not wait in the
  cheater's process. A notice is a flag for a human and changes no score.
* **Ways to our code without an audit event report themselves** (``reported.py``): ``globals()``, signal
  handlers, torch's frame evaluation and garbage collection.
* **Only a short list of attributes is always compared** (``torch_state.py``), not all of torch. Most replaced
  attributes don't change observations, which bypass them, and a cell must name the replacement. Modules of
  torch report every attribute that is set, because it can be restored before the comparison.
* **torch's compiler is not imported** (``lazy_imports.py``). It would add 2.6 s of processor time to a start,
  as much as importing torch, and 70 MB.
"""
