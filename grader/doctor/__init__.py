"""Proves that a course agrees with itself, and shows an author what probes see."""
