"""Mutation testing of references: mistakes that no hidden check finds.

What the text alone shows to change nothing (`places.py`) is no mutant, and a cut inside of what may be cut
as a whole is not shown.
"""
