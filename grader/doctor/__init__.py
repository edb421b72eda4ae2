"""Proves that a course agrees with itself, and shows an author what is observed.

* The doctor's memory holds a finding under a fingerprint of all it depends on (`grader.memory`,
  `needed_text` of `trials.py`): the answer, the texts of the question's checks and contracts with everything
  they name, the reference, the seeds, the grader's code, torch. So nothing in it is ever out of date, and no
  rule says when to forget. An uncertain outcome is not kept. A question is tried with the cells it needs, so
  an edit of another question's answer changes nothing here.
* Each known answer is observed in a worker of its own, as a student's notebook is (`observers.py`).
* One seed is tried, because all eight assignments take a minute and a half with each. The reference is
  observed with another seed, too, which shows inputs that no seed changes. `--seeds 5`, and `make test-all`,
  try five.
* Random draws of an answer move no input. A right answer may shuffle or seed a generator; an @inside
  function that draws after the call would then show it other inputs than the reference. So all generators
  start again after each call, and the doctor tries the reference with a random draw after each of its calls.
* `-v` names redundant known-wrong answers so that all of them can be removed together. An author reads few
  answers, so each must show something that the others don't.
* Mutation testing edits the references (`mutants.py`). What the text alone shows to change nothing is no
  mutant (`places.py`), and a cut inside of what may be cut as a whole is not shown (`mutation_testing.py`).
"""
