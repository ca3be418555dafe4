"""`shareq top`: share groups and topics at work, live."""
