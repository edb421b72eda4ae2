"""Outside: everything an appeal needs, from what a run has stored; nobody's code is run for it."""
