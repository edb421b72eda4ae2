"""The old name of ``grader.grading.roster``, which workflows that instructors have copied call."""

from grader.grading.roster import read_roster

__all__ = ["read_roster"]
