"""Verifies that the files of a course agree with each other, and shows observations to an author.

* The doctor's cache stores a finding with a fingerprint of everything that it depends on (`grader.memory`,
  `needed_text` of `trials.py`): the answer, the texts of the question's checks and contracts with everything
  that they name, the reference, the seeds, the grader's code and torch. So a cached finding is never
  outdated. An uncertain outcome is not cached. A question is tried with the cells that it needs, so an edit
  of another question's answer changes nothing.
* Each known answer is observed in its own worker, like a student's notebook (`observers.py`).
* By default one seed is tried, because each takes a minute and a half for all eight assignments. The
  reference is observed with a second seed, which reveals inputs that don't depend on the seed. `--seeds 5`
  and `make test-all` try five.
* Random draws of an answer don't change inputs. A right answer may shuffle or seed a generator; an @inside
  function that draws after the call would then give it other inputs than the reference. So all generators are
  reset after each call, and the doctor tries the reference with a random draw after each of its calls.
* `-v` names redundant known-wrong answers so that all of them can be removed together. An author reads few
  answers, so each must show something that the others don't.
* Mutation testing edits the references (`mutants.py`). An edit that obviously changes nothing is not made
  (`places.py`), and a cut within a larger cut that survives is not shown (`mutation_testing.py`).
"""
