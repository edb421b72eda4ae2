"""The names by which workflows that instructors have copied read the roster; see ``grader.term``."""

from grader.term.roster import read_accounts, read_roster

__all__ = ["read_accounts", "read_roster"]
