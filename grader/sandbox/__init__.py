"""Runs a student's notebook confined, and brings back evidence; ``worker`` is the inside.

An executor observes notebooks on this machine or on the machines of a Dask scheduler, by the same
``observer.observe``; evidence, seeds, judging and writing stay with the caller. Evidence depends on the plan
and on the environment. Packages are known by the names of their folders, which takes 1 ms;
``importlib.metadata`` reads a file of every package for the same and takes 100 ms.

Decisions about Dask:

* Its processes are ours. It unpickles between them whatever is forbidden, so it is no border: students'
  code stays below each worker's zygote, without sockets, and what it said travels as bytes of JSON.
* Workers must be alike: all packages, Python, the grader's code, the protection. The plugin that holds a
  worker's zygote knows what has to be installed, so a worker that joins late and differs runs no
  notebook. pip, setuptools and wheel may differ.
* The plugin is named by the zygote's settings and by what is installed. Graders of one course share it,
  and it stays when a grader is killed; its zygote ends after a minute without work.
* A plan is the result of a task, not scattered data: Dask computes it again where it was lost with a worker,
  while scattered data is gone with the last worker that held it.
* An address is checked before Dask sees it, and connecting has a deadline of ours: Dask hangs over a port
  beyond 65535, and for ever over a port that is no scheduler.
"""
