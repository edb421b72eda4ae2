"""Outside: from submissions to results."""
