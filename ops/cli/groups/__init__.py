"""`shareq groups`, and what it has in common with `shareq share`."""
