"""Old names that workflows of released repositories call."""
