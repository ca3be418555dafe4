"""`shareq export`: share groups of any cluster as metrics."""
