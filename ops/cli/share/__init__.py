"""`shareq share`: share groups, and the state of each record in them."""
