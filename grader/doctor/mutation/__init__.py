"""Mutation testing of right answers: mistakes that no hidden check finds.

What the text alone shows to change nothing (`equivalence.py`) is no mutant, and a cut inside of what may be
cut as a whole is not shown: 912 survivors of `05_inplace_reinit` became 522, in 246 places.
"""
