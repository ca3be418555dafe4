"""`shareq top`: a live view of share groups and topics."""
