"""The words of hidden checks: comparisons, and sentences about what was seen."""
