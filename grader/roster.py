"""The names by which workflows that instructors have copied read the roster; see ``grader.people``."""

from grader.people.roster import read_accounts, read_roster

__all__ = ["read_accounts", "read_roster"]
