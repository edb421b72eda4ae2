"""Outside: notebooks read as data; nothing of them is run."""
