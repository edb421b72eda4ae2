"""Outside: old names that workflows of released repositories call."""
