"""The name by which workflows that instructors have copied read the roster; see ``grader.term``."""

from grader.term.roster import read_roster

__all__ = ["read_roster"]
