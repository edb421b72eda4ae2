"""The plugin's name in Gradescope zips and Otter configurations made before it moved."""

from grader.integrations.otter_plugin import CagedGrader, set_aside

__all__ = ["CagedGrader", "set_aside"]
