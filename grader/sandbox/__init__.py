"""Outside: runs a student's notebook confined, and brings back evidence; ``worker`` is the inside."""
