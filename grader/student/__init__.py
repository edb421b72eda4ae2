"""On a student's machine: public checks, hints and a way back, on every system and without a cage.

Whoever runs these commands runs code of their own. Nothing here knows a hidden check, a reference or an
answer.
"""
