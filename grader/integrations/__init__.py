"""Outside: other systems: collecting, exporting, releasing."""
