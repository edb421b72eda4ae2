"""Other systems: collecting, exporting, releasing."""
