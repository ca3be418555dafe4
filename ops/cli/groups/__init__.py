"""`shareq groups`, and its common parts with `shareq share`."""
