"""Outside: what an author writes, read, checked and built."""
