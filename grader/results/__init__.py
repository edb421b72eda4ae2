"""Outside: what a run leaves: results, the folder that holds them, gradebook, changes."""
