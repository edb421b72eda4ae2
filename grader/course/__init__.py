"""What an author writes, read, checked and built."""
