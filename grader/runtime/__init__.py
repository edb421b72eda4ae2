"""Our code that runs beside torch and students' code, in a worker and on a student's own machine.

Cells, names, errors, graphs of tensors, and the inside of contracts, which builds the inputs of a case, calls
the function and records what happened. It imports nothing else of the package: a worker loads it alone.

Decisions:

* **A student's function is looked at as it returns** (``student_namespace.py``). What it did to torch is
  compared and undone there, because a patch could put itself back before the case ends. Whether
  saved tensors are gone is read from the graph: in a backward that is run to find out, a hook could raise.
* **Student code holds nothing of ours that can be looked into** (``opaque.py``). A Python function shows its
  globals and its closure, so handlers, stand-ins, hooks, methods of networks and the functions of check files
  are callables of C. What a module or an optimizer holds is read from where Python keeps it
  (``torch_objects.py``), nodes of the graph through C++'s own descriptors (``graph.py``): no class of a
  student's is asked.
* **What our code calls after a student's code ran was captured before.** A module with its own copy of
  Python's builtins (``__builtins__``) needs no second name for ``type``; other private names stand for
  functions of torch or of a library. Few of these are needed in two modules, so each module lists its own.
* **What a worker notices leaves it at once** (``audit.py``): evidence of cheating must not wait in the
  cheater's process. A notice is a flag for a human; it touches no score.
* **What raises no audit event is made to report** (``reported.py``). ``globals()``, signal handlers, torch's
  frame evaluation and the collector's garbage lead to our code, too.
* **A short list is compared always** (``torch_state.py``), not all that torch holds: of attacks by a replaced
  attribute, most don't change observations, which bypass the attribute, and a cell must name the attack's
  replacement. Modules of torch report every attribute that is set, because it can be restored before the
  comparison.
* **The compiler is not imported to be kept away** (``lazy_imports.py``). Otherwise a start takes 2.6 s more
  processor time, as much as importing torch, and 70 MB more.
"""

from collections.abc import Callable

#: A number of its own for each object that lives, its address, as ``id`` gives it. But ``id`` raises an audit
#: event, at each of which our own listener is called (``audit.py``).
identity: Callable[[object], int] = object.__hash__
